"""The ports of a fleet's deployments: each keeps those that it has, whatever comes beside it."""

from collections.abc import Iterable, Mapping

from sparkops.core.facts.reading import grouped
from sparkops.core.revise import Ports
from sparkops.core.stored import Stored

Place = tuple[str, int]
"""A node and a port on it."""


def places(stored: Stored, nodes: Iterable[str]) -> frozenset[Place]:
    """The ports of a deployment on these nodes."""
    there = frozenset(nodes)
    return frozenset((node, port) for node, _, port in stored.places if port is not None and node in there)


def ports_for(name: str, held: Mapping[str, Iterable[Place]], before: Stored | None) -> Ports:
    """What the others hold on each node, and the ports that this deployment had as `before`.

    `held` has the ports of all deployments by name.
    """
    taken = grouped(place for other, found in held.items() if other != name for place in found)
    return Ports({node: frozenset(ports) for node, ports in taken.items()}, first_ports(before) if before else {})


def first_ports(stored: Stored) -> dict[str, int]:
    """By node, the port that clients or a proxy use; a server behind a proxy listens on the port after it."""
    behind = 1 if any(role == "proxy" for _, role, _ in stored.places) else 0
    servers = {node: port - behind for node, role, port in stored.places if port is not None and role != "proxy"}
    return servers | {node: port for node, role, port in stored.places if port is not None and role == "proxy"}
