"""The netplan files of a node, as far as they are about the fabric: one line for each interface, as sparkops writes it."""

import os
import re

from sparklab import files
from sparklab.layout import Node
from sparklab.tree import network

LINE = re.compile(r"    (\S+): \{.*?mtu: (\d+)(?:, addresses: \[([\d.]+)/(\d+)\])?\}")


def apply(node: Node) -> None:
    """Note what the files say, for `Node.applied`, and make the node known by its new addresses."""
    before = {one["address"] for one in node.applied.values() if "address" in one}
    found: dict[str, dict[str, str | int]] = {}
    for text in _texts(node).values():
        for name, mtu, address, prefix in LINE.findall(text):
            known = found.setdefault(name, {})
            known |= {"mtu": int(mtu)} | ({"address": address, "prefix": int(prefix)} if address else {})
    files.write_json(node.path("netplan.json"), found)
    now = {str(one["address"]) for one in found.values() if "address" in one}
    own = {address for port in node.record.get("ports", {}).values() for address in port["addresses"]}
    before, now = before - own, now - own
    at = os.path.join(node.lab_directory, "at")
    for address in before - now:
        files.clear(os.path.join(at, address))
    for address in now - before:
        os.symlink(f"../nodes/{node.name}", os.path.join(at, address))
    network.name_sockets(node)


def _texts(node: Node) -> dict[str, str]:
    """By name, in order; a file in /run stands for that of its name in /etc."""
    found: dict[str, str] = {}
    for folder in ("etc", "run"):
        place = node.root(folder, "netplan")
        names = os.listdir(place) if os.path.isdir(place) else []
        found |= {name: files.read(os.path.join(place, name)) for name in names if name.endswith(".yaml")}
    return dict(sorted(found.items()))
