"""What the charts of a report show, as data: lines over concurrency, where they cross, and samples over time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sparkops.core.bench.measured import Row


@dataclass(frozen=True)
class ChartLine:
    """`spread` is one standard deviation either way; empty if unknown."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] = ()
    dashed: bool = False


@dataclass(frozen=True)
class Crossing:
    """From concurrency `after` on, `leader` is ahead of `trailing`."""

    leader: str
    trailing: str
    before: int
    after: int


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


PANELS = (
    ("throughput", "Generation, all requests together", "decode", "tokens/s"),
    ("prefill", "Prefill, all requests together", "prefill", "tokens/s"),
    ("ttft", "Time to the first token", "ttft", "ms"),
    ("per-request", "Generation, each request", "decode-per-request", "tokens/s"),
)


def charts(runs: Mapping[str, Sequence[Row]]) -> Iterator[Chart]:
    """The charts over concurrency; `runs` are rows by the label of their run."""
    for name, title, metric, unit in PANELS:
        lines = tuple(_line(label, rows, metric) for label, rows in runs.items())
        marks = tuple(crossings(lines)) if name == "throughput" else ()
        yield Chart(name, title, "requests at once", unit, lines, marks)
    both = [
        line
        for label, rows in runs.items()
        for line in (_line(f"{label}: mean", rows, "decode"), _line(f"{label}: peak", rows, "peak", dashed=True))
    ]
    yield Chart("peak", "Generation: mean, and peak (the best second)", "requests at once", "tokens/s", tuple(both))


def power(samples: Mapping[str, Sequence[tuple[float, float]]]) -> Chart:
    """Watts of each node over the seconds of the run."""
    lines = tuple(
        ChartLine(node, tuple(at for at, _ in points), tuple(watts for _, watts in points))
        for node, points in samples.items()
    )
    return Chart("power", "Power of the GPUs", "seconds", "W", lines, doubling=False)


def crossings(lines: Sequence[ChartLine]) -> Iterator[Crossing]:
    """Where one line overtakes another between two neighbouring concurrencies that both have."""
    for first, second in combinations(lines, 2):
        shared = sorted(set(first.x) & set(second.x))
        ahead = [_at(first, x) - _at(second, x) for x in shared]
        for here, there, before, after in zip(ahead, ahead[1:], shared, shared[1:], strict=False):
            if here * there < 0:
                leader, trailing = (first, second) if there > 0 else (second, first)
                yield Crossing(leader.label, trailing.label, int(before), int(after))


def _at(line: ChartLine, x: float) -> float:
    return line.y[line.x.index(x)]


def _line(label: str, rows: Sequence[Row], metric: str, *, dashed: bool = False) -> ChartLine:
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
        dashed,
    )
