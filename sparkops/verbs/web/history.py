"""The last hour of each value that the page draws, in memory; a day where it is kept."""

import math
import threading
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sparkops.core.facts import GpuLoad
from sparkops.core.watch.deployment import WatchedDeployment
from sparkops.core.watch.node import WatchedNode
from sparkops.core.watch.picture import Picture
from sparkops.files.kept_day import KeptDay

POINTS = 1800
"""An hour of frames each two seconds."""

SHOWN = 400
"""Points of a chart: more than a screen has pixels for one."""


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
        if len(self.times) > POINTS * 5 // 4:
            del self.times[:-POINTS]
            for series in self.values.values():
                del series[:-POINTS]

    def shown(self) -> dict[str, object]:
        """Every so many points, for JSON."""
        step = max(1, math.ceil(len(self.times) / SHOWN))
        told = {name: [_known(one) for one in series[::step]] for name, series in self.values.items()}
        return {"times": list(self.times[::step]), "values": told}


class PageHistory:
    """By node, and by deployment as `deployment/NAME`."""

    def __init__(self, kept: KeptDay | None = None) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._series: dict[str, ChartedValues] = {}
        self._last: dict[str, float] = {}

    def add(self, shown: Picture, clock: float) -> None:
        for name, node in shown.nodes.items():
            if node.at is not None and node.at != self._last.get(name):
                self._last[name] = node.at
                self._add(name, clock, dict(_of_node(node)))
        for one in shown.deployments:
            at = max((rank.node.at or 0.0 for rank in one.engines), default=0.0)
            key = f"deployment/{one.name}"
            if at != self._last.get(key):
                self._last[key] = at
                self._add(key, clock, dict(_of_deployment(one)))
        there = {*shown.nodes, *(f"deployment/{one.name}" for one in shown.deployments)}
        with self._lock:
            self._series = {name: one for name, one in self._series.items() if name in there}

    def _add(self, key: str, clock: float, values: Mapping[str, float]) -> None:
        with self._lock:
            self._series.setdefault(key, ChartedValues()).add(clock, values)
        if self._kept:
            self._kept.add(key, clock, values)

    def of(self, key: str, span: str, clock: float) -> dict[str, object]:
        """What to draw; a day where it is kept, else what there is."""
        if span == "day" and self._kept:
            return self._kept.of(key, clock)
        with self._lock:
            return (self._series.get(key) or ChartedValues()).shown()


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
    return None if math.isnan(value) else round(value, 3)
