"""The last hour of each value that the page draws, in memory; a day where it is kept."""

import math
import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sparkops.core.facts import GpuLoad
from sparkops.core.watch.deployment import WatchedDeployment
from sparkops.core.watch.node import WatchedNode
from sparkops.core.watch.picture import Picture
from sparkops.files.kept_day import KeptDay

HOUR = 3600
SPANS = ("900", "3600", "86400")
"""Seconds that a chart may show."""

SEVERED = {900: 75.0, 3600: 75.0, 86_400: 180.0}
"""Seconds without a value after which a line is interrupted, by span: more than twice the longest time between two."""

MOST_DRAWN = 400
"""Points of a chart: more than a screen has pixels for one."""

Points = Iterable[tuple[float, Mapping[str, float]]]


@dataclass
class ChartedValues:
    """Values by time, the oldest first; what is not known is NaN."""

    times: "array[float]" = field(default_factory=lambda: array("d"))
    values: "dict[str, array[float]]" = field(default_factory=dict)

    def add(self, time: float, values: Mapping[str, float]) -> None:
        """Begins anew when the clock was set back: a chart needs its times in order."""
        if self.times and time <= self.times[-1]:
            self.times, self.values = array("d"), {}
        for name in values.keys() - self.values.keys():
            self.values[name] = array("f", [math.nan] * len(self.times))
        self.times.append(time)
        for name, series in self.values.items():
            series.append(values.get(name, math.nan))
        if self.times[0] < time - HOUR * 5 / 4:
            self._forget(time - HOUR)

    def _forget(self, before: float) -> None:
        old = sum(1 for time in self.times if time < before)
        del self.times[:old]
        for series in self.values.values():
            del series[:old]

    def points(self, since: float) -> Points:
        """Not more than can be drawn, with the newest."""
        first = next((at for at, time in enumerate(self.times) if time >= since), len(self.times))
        step = max(1, math.ceil((len(self.times) - first) / MOST_DRAWN))
        for at in reversed(range(len(self.times) - 1, first - 1, -step)):
            yield self.times[at], {name: series[at] for name, series in self.values.items()}


def drawn(points: Points, severed: float) -> dict[str, object]:
    """For JSON: a list of times, and one of values for each name. What is not known is None, also between two points
    that are more than `severed` seconds apart."""
    rows: list[tuple[float, Mapping[str, float]]] = []
    for time, values in points:
        if rows and time - rows[-1][0] > severed:
            rows.append(((rows[-1][0] + time) / 2, {}))
        rows.append((time, values))
    names = sorted({name for _, values in rows for name in values})
    return {
        "times": [time for time, _ in rows],
        "values": {name: [_known(values.get(name, math.nan)) for _, values in rows] for name in names},
    }


class PageHistory:
    """By node, and by deployment as `deployment/HASH`."""

    def __init__(self, kept: KeptDay | None = None) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._series: dict[str, ChartedValues] = {}
        self._last: dict[str, float] = {}

    @property
    def keeps(self) -> bool:
        return self._kept is not None

    def add(self, shown: Picture, clock: float) -> None:
        for name, node in shown.nodes.items():
            self._add(name, node.at, clock, _of_node(node))
        for one in shown.deployments:
            at = max((rank.node.at for rank in one.engines if rank.node.at is not None), default=None)
            self._add(f"deployment/{one.stored.hash}", at, clock, _of_deployment(one))
        there = {*shown.nodes, *(f"deployment/{one.stored.hash}" for one in shown.deployments)}
        with self._lock:
            self._series = {name: one for name, one in self._series.items() if name in there}

    def _add(self, key: str, at: float | None, clock: float, values: Iterable[tuple[str, float]]) -> None:
        if at is None or at == self._last.get(key):
            return
        self._last[key], found = at, dict(values)
        with self._lock:
            self._series.setdefault(key, ChartedValues()).add(clock, found)
        if self._kept:
            self._kept.add(key, clock, found)

    def of(self, key: str, span: int, clock: float) -> dict[str, object]:
        """What to draw of the last `span` seconds: what is kept, then what is finer."""
        with self._lock:
            fine = [*(self._series.get(key) or ChartedValues()).points(clock - min(span, HOUR))]
        until = fine[0][0] if fine and span <= HOUR else clock
        kept = self._kept.points(key, clock - span, until) if self._kept else []
        return drawn(kept if span > HOUR and self._kept else [*kept, *fine], SEVERED[span])


def _of_node(node: WatchedNode) -> Iterator[tuple[str, float]]:
    frame = node.frame
    if frame is None:
        return
    if total := frame.memory.total_kib:
        yield "memory", 100 * (1 - frame.memory.available_kib / total)
        yield "cache", 100 * frame.memory.page_cache_kib / total
    if isinstance(frame.gpu_load, GpuLoad):
        yield "gpu", float(frame.gpu_load.utilization_percent or 0)
        yield "watts", frame.gpu_load.power_watts or 0.0
        yield "celsius", float(frame.gpu_load.temperature_celsius or 0)
    if node.traffic:
        yield "received", node.traffic.received / 1e9
        yield "sent", node.traffic.sent / 1e9


def _of_deployment(one: WatchedDeployment) -> Iterator[tuple[str, float]]:
    for name in ("written", "read"):
        if (rate := one.rate(name)) is not None:
            yield name, rate
    yield "running", one.sum("num_requests_running")
    yield "waiting", one.sum("num_requests_waiting")
    yield "kv", 100 * one.kv_use


def _known(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None
