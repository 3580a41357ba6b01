"""The whole fleet at one moment, as every screen shows it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sparkops.core.stored import Stored
from sparkops.core.watch.alerts import Alert, of_deployment, of_node
from sparkops.core.watch.deployment import WatchedDeployment, watched
from sparkops.core.watch.node import WatchedNode


@dataclass(frozen=True)
class Picture:
    """Nodes in the order of the inventory, deployments by name, what is wrong with the worst first.

    `now` is the time of the viewer's clock, in seconds.
    """

    now: float = 0.0
    nodes: Mapping[str, WatchedNode] = field(default_factory=dict)
    deployments: Sequence[WatchedDeployment] = ()
    alerts: Sequence[Alert] = ()


def picture(
    now: float, nodes: Mapping[str, WatchedNode], revisions: Iterable[Stored], found: Iterable[Alert]
) -> Picture:
    """`found` are alerts that others found."""
    deployments = sorted((watched(stored, nodes) for stored in revisions), key=lambda one: one.name)
    alerts = [
        *(alert for node in nodes.values() for alert in of_node(node, now)),
        *(alert for one in deployments for alert in of_deployment(one)),
        *found,
    ]
    by_key = {alert.key: alert for alert in reversed(alerts)}
    worst_first = sorted(by_key.values(), key=lambda one: (not one.grave, one.id, one.node))
    return Picture(now, nodes, deployments, worst_first)
