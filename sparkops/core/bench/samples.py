"""What the nodes did during a benchmark: a wedged GPU makes its numbers meaningless."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

UNDER_LOAD = 50.0
"""Percent of utilization from which a clock is meaningful: idle GPUs run at 208 MHz."""


@dataclass(frozen=True)
class Sample:
    """One sample of a node during a benchmark: seconds since the start, watts, °C, KiB of available memory."""

    node: str
    at: float
    clock_mhz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    available_kib: int | None = None
    busy_percent: float | None = None

    @property
    def loaded(self) -> bool:
        return self.busy_percent is None or self.busy_percent >= UNDER_LOAD


@dataclass(frozen=True)
class Watched:
    """One node over a whole run; None where nothing was measured. The clock is the highest under load."""

    node: str
    power_mean_w: float | None
    power_peak_w: float | None
    clock_mhz: float | None
    temperature_c: float | None
    available_gib: float | None


def wedged(samples: Sequence[Sample], floor_mhz: float = 1000.0) -> dict[str, float]:
    """Highest clock (MHz) of each node whose GPU stayed below `floor_mhz` under load: unplug such a node.

    Healthy GB10s run at 2.0 to 2.5 GHz under load; wedged ones were reported at about 700 MHz.
    """
    best: dict[str, float] = {}
    for sample in samples:
        if sample.clock_mhz is not None and sample.loaded:
            best[sample.node] = max(best.get(sample.node, 0.0), sample.clock_mhz)
    return {node: clock for node, clock in best.items() if clock < floor_mhz}


def watched(samples: Sequence[Sample]) -> Iterator[Watched]:
    """A summary of each node's samples."""
    for node in dict.fromkeys(sample.node for sample in samples):
        mine = [sample for sample in samples if sample.node == node]
        watts = [sample.power_w for sample in mine if sample.power_w is not None]
        yield Watched(
            node,
            sum(watts) / len(watts) if watts else None,
            max(watts, default=None),
            _best(max, [sample.clock_mhz for sample in mine if sample.loaded]),
            _best(max, [sample.temperature_c for sample in mine]),
            _best(min, [sample.available_kib / 2**20 for sample in mine if sample.available_kib is not None]),
        )


def joules(samples: Sequence[Sample], nodes: Collection[str], seconds: float) -> float | None:
    """What the GPUs of these nodes took in so many seconds; None where one of them told no power."""
    watts = {node: [one.power_w for one in samples if one.node == node and one.power_w] for node in nodes}
    known = [sum(one) / len(one) for one in watts.values() if one]
    return sum(known) * seconds if known and len(known) == len(watts) else None


def _best(choose: Callable[[list[float]], float], values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return choose(known) if known else None
