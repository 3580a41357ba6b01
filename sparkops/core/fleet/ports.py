"""The ports of a fleet's deployments: each keeps those that it has, whatever comes beside it."""

from collections.abc import Iterable, Mapping

from sparkops.core.facts.reading import grouped
from sparkops.core.revise import Ports

Place = tuple[str, int]
"""A node and a port on it."""

Listening = tuple[str, str, int | None]
"""A node, the role of a member there and its port."""


def ports_for(name: str, held: Mapping[str, Iterable[Listening]], before: Iterable[Listening]) -> Ports:
    """What the others hold on each node, and the ports that this deployment had `before`.

    `held` has the members of all deployments by name. A server behind a proxy also holds the port before its own, so
    that a proxy has its place there, too.
    """
    others = [[*found] for other, found in held.items() if other != name]
    used = [(node, port) for found in others for node, _, port in found if port is not None]
    first = [place for found in others for place in first_ports(found).items()]
    return Ports(_by_node([*used, *first]), _by_node(used), first_ports(before))


def _by_node(places: Iterable[Place]) -> dict[str, frozenset[int]]:
    return {node: frozenset(ports) for node, ports in grouped(places).items()}


def first_ports(members: Iterable[Listening]) -> dict[str, int]:
    """By node, the port that clients or a proxy use; a server behind a proxy listens on the port after it."""
    found = [*members]
    behind = 1 if any(role == "proxy" for _, role, _ in found) else 0
    servers = {node: port - behind for node, role, port in found if port is not None and role != "proxy"}
    return servers | {node: port for node, role, port in found if port is not None and role == "proxy"}
