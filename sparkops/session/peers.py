"""What the nodes find of each other: who is at each cable, and who answers pings."""

from collections.abc import Iterable, Mapping

from sparkops.core.facts import Facts, Peers, Unread
from sparkops.core.facts.peers import peers
from sparkops.core.inventory import Node
from sparkops.core.plan import Command, NodeLost
from sparkops.node_commands import scripts
from sparkops.session.session import Session


def ask_peers(session: Session, asked: Mapping[str, Command]) -> dict[str, Peers | Unread]:
    """The answers by node, or why there is none."""
    found: dict[str, Peers | Unread] = {}
    for name, result in session.ask(asked).items():
        if isinstance(result, NodeLost):
            found[name] = Unread(result.reason)
            continue
        found[name] = peers(result.stdout)
        if not result.ok and isinstance(found[name], Unread):
            found[name] = Unread(result.stderr.strip()[-200:] or f"exit code {result.code}")
    return found


def hears(facts: Mapping[str, Facts], nodes: Iterable[Node]) -> dict[str, Command]:
    """The question of each node with a link to all others: who is at the other end of the cable?"""
    among = link_locals(facts)
    linked = {node.name: interfaces(facts[node.name]) for node in nodes if node.name in facts}
    return {name: scripts.peers(hear, among, (), None, sudo=False) for name, hear in linked.items() if hear}


def interfaces(facts: Facts) -> tuple[str, ...]:
    """The CX7 interfaces on which a node can ask who is at the other end."""
    return tuple(one.name for port in facts.ports for one in port.interfaces if one.up and one.link_local)


def link_locals(facts: Mapping[str, Facts]) -> list[str]:
    """The addresses by which the nodes know each other at their cables."""
    every = (one for known in facts.values() for one in known.interfaces)
    return [one.link_local for one in every if one.port and one.link_local]
