"""Runs side by side, and what makes them incomparable."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkops.core.bench.measured import Metric, Row
from sparkops.core.bench.record import Record
from sparkops.core.lockfile import LockDifference, RecipeLock, changes, shown
from sparkops.core.reference import ReferencePoint as Published
from sparkops.core.typed import typed

VARIABLE = ("topology", "flags", "env", "revision", "image", "model", "driver", "kernel", "nodes", "sparkops", "suite")
"""What `--vary` may name."""

TOPOLOGY_KEYS = ("topology", "executor")
TOPOLOGY_FLAGS = frozenset(
    f"--{name}"
    for name in (
        *("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "distributed-executor-backend"),
        *("nnodes", "node-rank", "master-addr", "master-port", "headless", "enforce-eager", "mxfp4-layers"),
    )
)
"""Flags that depend on the placement, directly or by a rule."""

SIDE_BY_SIDE = (
    ("decode", "tokens/s"),
    ("prefill", "tokens/s"),
    ("peak", "tokens/s"),
    ("ttfr", "ms"),
    ("ttft", "ms"),
    ("itl", "ms"),
    ("e2e", "ms"),
    ("total", "tokens/s"),
)
"""Metrics of a comparison, with their units."""


@dataclass(frozen=True)
class Gap:
    """A difference between two runs that `--vary` does not allow."""

    label: str
    text: str


@dataclass(frozen=True)
class Comparison:
    """One metric at each concurrency, run by run."""

    metric: str
    unit: str
    rows: tuple[tuple[int, tuple[Metric | None, ...]], ...]

    def gains(self, values: Sequence[Metric | None]) -> list[float | None]:
        """Differences from the first value in percent."""
        first = values[0]
        return [100 * (one.mean / first.mean - 1) if one and first and first.mean else None for one in values[1:]]


def gaps(first: Record, other: Record, vary: frozenset[str], topology_flags: Iterable[str] = ()) -> Iterator[Gap]:
    """What differs beyond `vary`; `topology_flags` are those that the recipe itself changes with the topology."""
    if first.suite != other.suite and "suite" not in vary:
        yield Gap(other.label, f"suite: the runs have different settings ({first.suite.id}, {other.suite.id})")
    if first.model != other.model and "model" not in vary:
        yield Gap(other.label, f"model: {first.model} in one run, {other.model} in the other")
    if first.lock is None or other.lock is None:
        yield Gap(other.label, "a run with `--url` cannot be compared, because sparkops does not know its setup")
        return
    allowed = TOPOLOGY_FLAGS | frozenset(topology_flags)
    for change in changes(typed(RecipeLock, first.lock), typed(RecipeLock, other.lock)):
        if not _varies(change, vary, allowed):
            yield Gap(other.label, _told(change))


def _varies(change: LockDifference, vary: frozenset[str], flags: frozenset[str]) -> bool:
    if change.what in vary:
        return True
    if "topology" not in vary:
        return False
    return (change.what == "revision" and change.key in TOPOLOGY_KEYS) or change.what == "nodes" or change.key in flags


def _told(change: LockDifference) -> str:
    where = f"{change.node}: " if change.node else ""
    return f"{change.what}: {where}{change.key} is {shown(change.locked)} in one run, {shown(change.now)} in the other"


def side_by_side(runs: Sequence[Sequence[Row]]) -> Iterator[Comparison]:
    """Every metric that more than one run has, at every concurrency that any has."""
    shape = next((row.point.shape for row in runs[0]), None)
    found = [{row.point.concurrency: row.metrics for row in rows if row.point.shape == shape} for rows in runs]
    counts = sorted({count for one in found for count in one})
    for metric, unit in SIDE_BY_SIDE:
        rows = tuple((count, tuple(one.get(count, {}).get(metric) for one in found)) for count in counts)
        rows = tuple(row for row in rows if any(row[1]))
        if rows:
            yield Comparison(metric, unit, rows)


def beside_published(rows: Sequence[Row], points: Iterable[Published]) -> Iterator[Comparison]:
    """One run beside the published values at the same concurrencies."""
    published: dict[str, dict[int, Metric]] = {}
    for point in points:
        published.setdefault(point.metric, {}).setdefault(point.concurrency, Metric(point.value, 0.0, (point.value,)))
    mine: dict[int, Mapping[str, Metric]] = {row.point.concurrency: row.metrics for row in rows}
    for metric, unit in SIDE_BY_SIDE:
        theirs = published.get(metric, {})
        shared = sorted(set(theirs) & set(mine))
        found = tuple((count, (theirs[count], mine[count].get(metric))) for count in shared)
        if found:
            yield Comparison(metric, unit, found)
