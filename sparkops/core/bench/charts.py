"""What the charts of a report show, as data: lines over concurrency, where they cross, and samples over time."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkops.core.bench.compare import Crossing, crossings, side_by_side
from sparkops.core.bench.measured import Row
from sparkops.core.bench.names import NAMES


@dataclass(frozen=True)
class ChartLine:
    """`spread` is one standard deviation either way; empty if unknown."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] = ()


@dataclass(frozen=True)
class Chart:
    id: str
    title: str
    x_title: str
    y_title: str
    lines: tuple[ChartLine, ...]
    crossings: tuple[Crossing, ...] = ()
    doubling: bool = True
    """The x axis doubles from tick to tick, as concurrencies do."""

    @property
    def ticks(self) -> tuple[float, ...]:
        """The values of x that get a label: all, without those whose labels would touch the one before."""
        counts = sorted({x for line in self.lines for x in line.x})
        least = (math.log2(counts[-1]) - math.log2(counts[0])) / MOST_TICKS
        kept: list[float] = []
        for count in counts:
            if not kept or math.log2(count / kept[-1]) > least:
                kept.append(count)
        return tuple(kept)

    @property
    def text(self) -> str:
        """What the chart shows, for people who do not see it."""
        named = ", ".join(line.label for line in self.lines)
        return f"{self.title}: {self.y_title} over {self.x_title}; {named}. The tables have the numbers."


MOST_TICKS = 12

PANELS = (
    *(("throughput", "decode"), ("prefill", "prefill"), ("ttft", "ttft")),
    *(("per-request", "decode-per-request"), ("peak", "peak")),
)
"""(id of the chart, metric)."""


def charts(runs: Mapping[str, Sequence[Row]]) -> Iterator[Chart]:
    """The charts over concurrency, where one has two or more of them; `runs` are rows by the label of their run."""
    decode = next((one for one in side_by_side(list(runs.values())) if one.metric == "decode"), None)
    for name, metric in PANELS:
        lines = tuple(line for label, rows in runs.items() if len((line := _line(label, rows, metric)).x) > 1)
        marks = tuple(crossings(decode, list(runs))) if decode and metric == "decode" else ()
        if lines:
            yield Chart(name, NAMES[metric].long, "requests at once", NAMES[metric].unit, lines, marks)


def power(samples: Mapping[str, Sequence[tuple[float, float]]]) -> Chart | None:
    """Watts of each node over the seconds of the run; None without two samples of a node."""
    lines = tuple(
        ChartLine(node, tuple(at for at, _ in points), tuple(watts for _, watts in points))
        for node, points in samples.items()
        if len(points) > 1
    )
    return Chart("power", "Power of the GPUs", "seconds", "W", lines, doubling=False) if lines else None


def _line(label: str, rows: Sequence[Row], metric: str) -> ChartLine:
    """A run's metric over concurrency, for the first prompt, answer and depth; a table has the others."""
    mine = sorted(
        (row.point.concurrency, row.metrics[metric])
        for row in rows
        if row.point.shape == rows[0].point.shape and metric in row.metrics
    )
    return ChartLine(
        label,
        tuple(float(count) for count, _ in mine),
        tuple(found.mean for _, found in mine),
        tuple(found.std for _, found in mine),
    )
