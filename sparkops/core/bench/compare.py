"""Runs side by side, and what makes them incomparable."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from sparkops.core.bench.measured import Metric, Row
from sparkops.core.bench.names import COMPARED
from sparkops.core.bench.record import Record
from sparkops.core.bench.suites import shared
from sparkops.core.bench.verdict import Judgement, judge
from sparkops.core.lockfile import LockDifference, RecipeLock, changes, shown
from sparkops.core.reference import ReferencePoint as Published
from sparkops.core.typed import typed

VARIABLE = (
    *("topology", "flags", "env", "revision", "image", "model", "driver", "kernel", "nodes", "sparkops", "suite"),
    "text",
)
"""What `--vary` may name."""

TOPOLOGY_KEYS = ("topology", "executor")
TOPOLOGY_FLAGS = frozenset(
    f"--{name}"
    for name in (
        *("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "distributed-executor-backend"),
        *("data-parallel-size-local", "data-parallel-backend", "api-server-count"),
        *("nnodes", "node-rank", "master-addr", "master-port", "headless", "enforce-eager", "mxfp4-layers"),
    )
)
"""Flags that depend on the placement, directly or by a rule."""


@dataclass(frozen=True)
class Gap:
    """A difference between two runs that `--vary` does not allow."""

    label: str
    text: str


@dataclass(frozen=True)
class Comparison:
    """One metric at each concurrency, run by run."""

    metric: str
    rows: tuple[tuple[int, tuple[Metric | None, ...]], ...]

    def gains(self, values: Sequence[Metric | None]) -> list[float | None]:
        """Differences from the first value in percent."""
        return [one.gain if one else None for one in self.verdicts(values)]

    def verdicts(self, values: Sequence[Metric | None]) -> list[Judgement | None]:
        """Whether the values differ from the first one; None where one of the two is missing."""
        return [self.judge(values[0], one) for one in values[1:]]

    def judge(self, first: Metric | None, other: Metric | None) -> Judgement | None:
        """Compare two values of a row; all pairs of all rows together may err in 5 % of cases."""
        pairs = sum(comb(sum(value is not None for value in values), 2) for _, values in self.rows)
        return judge(first, other, max(1, pairs)) if first and other else None


@dataclass(frozen=True)
class Crossing:
    """`trailing` is ahead at the concurrency `before`, `leader` at `after`; between them, neither beyond the noise."""

    leader: str
    trailing: str
    before: int
    after: int


def crossings(one: Comparison, labels: Sequence[str]) -> Iterator[Crossing]:
    """Where one run overtakes another beyond the noise."""
    for first, second in combinations(range(len(labels)), 2):
        judged = [(count, one.judge(values[first], values[second])) for count, values in one.rows]
        ahead = [(count, verdict.gain > 0) for count, verdict in judged if verdict and verdict.differs]
        for (before, here), (after, there) in zip(ahead, ahead[1:], strict=False):
            if here != there:
                leader, trailing = (second, first) if there else (first, second)
                yield Crossing(labels[leader], labels[trailing], before, after)


def gaps(first: Record, other: Record, vary: frozenset[str], topology_flags: Iterable[str] = ()) -> Iterator[Gap]:
    """What differs beyond `vary`; `topology_flags` are those that the recipe itself changes with the topology."""
    if first.suite != other.suite and "suite" not in vary:
        yield Gap(other.label, f"suite: the runs have different settings ({first.suite.id}, {other.suite.id})")
    if first.model != other.model and "model" not in vary:
        yield Gap(other.label, f"model: {first.model} in one run, {other.model} in the other")
    if first.text != other.text and "text" not in vary:
        yield Gap(other.label, f"text: the prompts come from different texts ({first.text}, {other.text})")
    if first.lab != other.lab:
        yield Gap(other.label, "one run was measured in the lab, whose nodes are emulated")
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
    for metric in COMPARED:
        rows = tuple((count, tuple(one.get(count, {}).get(metric) for one in found)) for count in counts)
        rows = tuple(row for row in rows if any(row[1]))
        if rows:
            yield Comparison(metric, rows)


def sizes(rows: Sequence[Row]) -> str:
    """The prompt, answer and context of the rows that `side_by_side` takes."""
    others = len({row.point.shape for row in rows}) > 1
    return shared([rows[0].point])[1] + (" only (`sparkops bench show` has the other sizes)" if others else "")


def beside_published(rows: Sequence[Row], points: Iterable[Published]) -> Iterator[Comparison]:
    """One run beside the published values at the same concurrencies."""
    published: dict[str, dict[int, Metric]] = {}
    for point in points:
        published.setdefault(point.metric, {}).setdefault(point.concurrency, Metric(point.value, 0.0, (point.value,)))
    mine: dict[int, Mapping[str, Metric]] = {row.point.concurrency: row.metrics for row in rows}
    for metric in COMPARED:
        theirs = published.get(metric, {})
        shared = sorted(set(theirs) & set(mine))
        found = tuple((count, (theirs[count], mine[count].get(metric))) for count in shared)
        if found:
            yield Comparison(metric, found)
