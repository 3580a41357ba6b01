"""Which deployments cannot run at once on the nodes that they share."""

from collections.abc import Iterable, Mapping, Sequence

from sparkops.core.utilization import WHOLE
from sparkops.phases.parts import DeployedRevision


def in_the_way(one: DeployedRevision, others: Iterable[DeployedRevision]) -> list[DeployedRevision]:
    """Those that one cannot run beside: one replaced the other, they need one port, or memory of a node."""
    others = [other for other in others if other != one]
    clashing = [other for other in others if _replaced(one, other) or _ports(one) & _ports(other)]
    return [*clashing, *_crowding(one, [other for other in others if other not in clashing])]


def _crowding(one: DeployedRevision, others: Sequence[DeployedRevision]) -> list[DeployedRevision]:
    """Those on nodes that have too little memory for one beside all of them."""
    full = {
        node
        for node, share in shares(one).items()
        if share + sum(shares(other).get(node, 0.0) for other in others) > WHOLE
    }
    return [other for other in others if full & shares(other).keys()]


def startable(stopped: Iterable[DeployedRevision], running: Sequence[DeployedRevision]) -> list[DeployedRevision]:
    """What served last: the newest stopped revisions that can run beside each other and beside what runs."""
    found: list[DeployedRevision] = []
    for one in sorted(stopped, key=lambda one: one.served_until, reverse=True):
        if not in_the_way(one, (*running, *found)):
            found.append(one)
    return found


def fitting(stopped: Iterable[DeployedRevision]) -> list[DeployedRevision]:
    """The newest that have ports and memory beside each other, also if one had replaced another."""
    found: list[DeployedRevision] = []
    for one in sorted(stopped, key=lambda one: one.served_until, reverse=True):
        if not any(_ports(one) & _ports(other) for other in found) and not _crowding(one, found):
            found.append(one)
    return found


def half_replaced(one: DeployedRevision, other: DeployedRevision) -> bool:
    """Whether a deploy replaces this one by the other, copy after copy; it is under way or was cut off.

    The proxies come last, so those of the old one still run.
    """
    if one.stored.deployment != other.stored.deployment or one.stored.places != other.stored.places:
        return False
    mine, others = ({container.role for _, container in it.running} for it in (one, other))
    return "proxy" in mine and bool(others) and ("proxy" not in others or mine == {"proxy"}) and one != other


def shares(one: DeployedRevision) -> Mapping[str, float]:
    """By node, the share of its memory that the engine asks for."""
    return {member.name: one.stored.share for member in one.stored.engines}


def _ports(one: DeployedRevision) -> set[tuple[str, str]]:
    return {(member.name, str(member.port)) for member in one.stored.members if member.port is not None}


def _replaced(one: DeployedRevision, other: DeployedRevision) -> bool:
    return one.stored.hash in other.replaced or other.stored.hash in one.replaced
