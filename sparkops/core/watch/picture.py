"""The whole fleet at one moment, as every screen shows it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sparkops.core.stored import Stored
from sparkops.core.watch.alerts import AWAY, NODE_AWAY, Alert, AlertKey, of_deployment, of_node
from sparkops.core.watch.deployment import WatchedDeployment, watched
from sparkops.core.watch.node import WatchedNode


@dataclass(frozen=True)
class Picture:
    """Nodes in the order of the inventory, deployments by name, what is wrong with the worst first.

    `now` is the time of the viewer's clock, in seconds; `found` is all that looks wrong, `since` when it began.
    """

    now: float = 0.0
    nodes: Mapping[str, WatchedNode] = field(default_factory=dict)
    deployments: Sequence[WatchedDeployment] = ()
    found: Sequence[Alert] = ()
    since: Mapping[AlertKey, float] = field(default_factory=dict)

    @property
    def alerts(self) -> Sequence[Alert]:
        """What has been wrong for long enough."""
        return [one for one in self.found if self.now - self.since.get(one.key, 0.0) >= one.after]

    def tells(self, name: str) -> bool:
        """Whether what a node told last is of now."""
        node = self.nodes.get(name)
        return (
            node is not None
            and not node.problem
            and not any(one.id == NODE_AWAY and one.node == name for one in self.found)
        )


def picture(
    now: float,
    nodes: Mapping[str, WatchedNode],
    revisions: Iterable[Stored],
    found: Iterable[Alert] = (),
    before: Picture | None = None,
    patience: float = AWAY,
) -> Picture:
    """`found` are alerts that others found; `before` is the last picture; `patience` as in `of_node`."""
    deployments = sorted((watched(stored, nodes) for stored in revisions), key=lambda one: one.name)
    alerts = [
        *(alert for node in nodes.values() for alert in of_node(node, now, patience)),
        *(alert for one in deployments for alert in of_deployment(one)),
        *found,
    ]
    by_key = {alert.key: alert for alert in reversed(alerts)}
    since = {key: before.since.get(key, now) if before else now for key in by_key}
    worst_first = sorted(by_key.values(), key=lambda one: (not one.grave, one.id, one.node))
    return Picture(now, nodes, deployments, worst_first, since)
