"""A metric of the picture, named by Prometheus' conventions: base units, and every label from a bounded set."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from sparkops.core.printable import printable
from sparkops.core.watch.picture import Picture

MOST = 64
"""Deployments, alerts, and of one node links, disks and holders of memory that become labels: a node may name more."""

Value = tuple[tuple[str, ...], float | None]
"""The values of the labels, in the order of the metric; a value of None is left out."""


@dataclass(frozen=True)
class Exported:
    """`text` is what Prometheus shows as its help."""

    name: str
    text: str
    labels: tuple[str, ...]
    values: Callable[[Picture], Iterable[Value]]
    kind: Literal["gauge", "counter"] = "gauge"

    def found(self, shown: Picture) -> Iterable[tuple[tuple[str, ...], float]]:
        """One value for each set of labels: Prometheus refuses all where one comes twice."""
        known = ((labels, value) for labels, value in self.values(shown) if value is not None)
        return {tuple(map(printable, labels)): value for labels, value in known}.items()
