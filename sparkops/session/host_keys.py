"""The pinned host keys of nodes, for what one node is told of another."""

from pathlib import Path

from sparkops.errors import Refused
from sparkops.remote.trust import KnownHosts, known_hosts_file
from sparkops.session.session import Session


def host_key(session: Session, name: str) -> str:
    """The node's key as a known_hosts line has it behind the name; raises Refused if none is pinned."""
    node = session.nodes[name]
    pins = KnownHosts((known_hosts_file(session.inventory.source), Path.home() / ".ssh" / "known_hosts"))
    for key in pins.keys(node.address, node.port):
        return f"{key.get_name()} {key.get_base64()}"
    raise Refused(f"{name}: no host key is pinned, so other nodes cannot trust it", node=name, hint="sparkops trust")
