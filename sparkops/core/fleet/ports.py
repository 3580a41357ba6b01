"""The ports of a fleet's deployments: each keeps those that it has, whatever comes beside it."""

from collections.abc import Iterable, Mapping

from sparkops.core.facts.reading import grouped
from sparkops.core.revise import Ports

Place = tuple[str, int]
"""A node and a port on it."""

Listening = tuple[str, str, int | None]
"""A node, the role of a member there and its port."""


def places(members: Iterable[Listening]) -> frozenset[Place]:
    """The ports that a deployment needs: a server behind a proxy also the one before, as if its proxy was there."""
    found = [*members]
    held = {(node, port) for node, _, port in found if port is not None}
    return frozenset(held | set(first_ports(found).items()))


def ports_for(name: str, held: Mapping[str, Iterable[Place]], before: Iterable[Listening]) -> Ports:
    """What the others hold on each node, and the ports that this deployment had `before`.

    `held` has the ports of all deployments by name.
    """
    taken = grouped(place for other, found in held.items() if other != name for place in found)
    return Ports({node: frozenset(ports) for node, ports in taken.items()}, first_ports(before))


def first_ports(members: Iterable[Listening]) -> dict[str, int]:
    """By node, the port that clients or a proxy use; a server behind a proxy listens on the port after it."""
    found = [*members]
    behind = 1 if any(role == "proxy" for _, role, _ in found) else 0
    servers = {node: port - behind for node, role, port in found if port is not None and role != "proxy"}
    return servers | {node: port for node, role, port in found if port is not None and role == "proxy"}
