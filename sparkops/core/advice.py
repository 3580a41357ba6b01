"""Which topology to choose: by the user's own measurements, else an article's decision table, else published ones.

Where these sources differ, all of them are shown.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sparkops.core.bench.measured import Row
from sparkops.core.bench.record import Record
from sparkops.core.effective import Effective
from sparkops.core.memory_estimate import bytes_per_token
from sparkops.core.reference import ReferencePoint
from sparkops.core.topology import Shape

Goal = Literal["decode", "prefill", "ttft", "latency"]
Basis = Literal["own", "measured", "article"]

BANDWIDTH_GB_S = 273
"""Nominal bandwidth of a GB10's memory; tests reach 161 to 250 GB/s."""

METRIC = {"decode": "decode", "prefill": "prefill", "ttft": "ttft", "latency": "decode"}
"""The metric that a goal is judged by. The speed of one request is its share of the speed of all."""


@dataclass(frozen=True)
class Evidence(ReferencePoint):
    """One measured value of `model`. `own`: this person measured it, on these nodes."""

    model: str
    own: bool = False


@dataclass(frozen=True)
class Decision:
    """One row of the decision table: the topology for `least` to `most` requests at once."""

    goal: Goal
    least: int
    most: int | None
    topology: str
    why: str


ARTICLE, ARTICLE_DATE = "kubis.ai, article 8 of 9 (The Recipe System), decision table", "2026-03"
_VAGUE = "at concurrency 64 (the article names no baseline)"

DECISIONS = (
    Decision("decode", 1, None, "cluster", "more tokens/s than solo: +21% at concurrency 1, +61% at 16, +47% at 64"),
    Decision("latency", 1, None, "cluster", "each request is faster than with other topologies, at any concurrency"),
    Decision("prefill", 16, None, "2x-solo", f"both nodes read prompts in parallel: 45% more tokens/s {_VAGUE}"),
    Decision("ttft", 1, 1, "cluster", "reads one prompt faster: 33% less time to the first token than solo"),
    Decision("ttft", 8, None, "2x-solo", f"each node has its own queue: 45% less time to the first token {_VAGUE}"),
)
"""The article's table; it says nothing about concurrencies between its rows."""


@dataclass(frozen=True)
class Opinion:
    """What one source recommends. `values` are what it measured at `at`, the nearest concurrencies it has.

    With `divided_by` they are no measurements but totals divided by this number of requests.
    """

    basis: Basis
    topology: str
    why: str
    source: str
    date: str
    at: tuple[int, ...] = ()
    values: tuple[tuple[str, float], ...] = ()
    divided_by: int | None = None


@dataclass(frozen=True)
class Advice:
    """`opinions` come in the order of their weight; the first that names a possible topology decides."""

    goal: Goal
    concurrency: int
    topology: str | None
    opinions: tuple[Opinion, ...]

    @property
    def agreed(self) -> bool:
        return len({opinion.topology for opinion in self.opinions}) <= 1


def advise(
    goal: Goal, concurrency: int, evidence: Iterable[Evidence], possible: frozenset[str] | None = None
) -> Advice:
    """Advice for this many requests at once. `possible` are the topologies to choose from, None for all."""
    useful = [one for one in evidence if one.metric == METRIC[goal] and _can(one.topology, possible)]
    opinions = [
        _measured(goal, concurrency, "own", [one for one in useful if one.own]),
        _decided(goal, concurrency),
        _measured(goal, concurrency, "measured", [one for one in useful if not one.own]),
    ]
    said = tuple(opinion for opinion in opinions if opinion)
    chosen = next((opinion.topology for opinion in said if _can(opinion.topology, possible)), None)
    return Advice(goal, concurrency, chosen, said)


def _can(topology: str, possible: frozenset[str] | None) -> bool:
    return possible is None or topology in possible


def published(points: Iterable[ReferencePoint], model: str) -> tuple[Evidence, ...]:
    """What others measured with this model."""
    return tuple(Evidence(**vars(point), model=model) for point in points)


def measured_here(records: Iterable[Record], model: str) -> tuple[Evidence, ...]:
    """The newest own measurement of each topology and concurrency.

    Only runs of equal prompt and answer sizes are compared: those of the sizes with the most topologies, then the
    newest.
    """
    by_size: dict[tuple[int, int, int], dict[tuple[str, int], tuple[str, Row]]] = {}
    for record in records:
        revision = (record.lock or {}).get("revision", {})
        topology = str(revision.get("topology", ""))
        if record.lab or not topology or revision.get("model") != model or not record.ok:
            continue
        for row in record.measured.rows:
            at = by_size.setdefault((row.point.prompt, row.point.answer, row.point.depth), {})
            key = (topology, row.point.concurrency)
            at[key] = max(at.get(key, ("", row)), (record.started, row), key=lambda one: one[0])
    if not by_size:
        return ()
    best = max(by_size.values(), key=lambda at: (len({topology for topology, _ in at}), max(d for d, _ in at.values())))
    return tuple(
        Evidence(metric, topology, concurrency, row.metrics[metric].mean, "bench run", started, model, own=True)
        for (topology, concurrency), (started, row) in best.items()
        for metric in ("decode", "prefill", "ttft")
    )


def ceiling(effective: Effective, shape: Shape) -> float | None:
    """The most tokens/s of one request: memory bandwidth divided by the weights that one token reads.

    The nodes of a cluster read their shares at the same time; independent servers serve different requests.
    """
    read = bytes_per_token(effective)
    return BANDWIDTH_GB_S / read * shape.span if read else None


def _decided(goal: Goal, concurrency: int) -> Opinion | None:
    """The article's row for this concurrency; between two rows, the nearer one."""
    rows = [row for row in DECISIONS if row.goal == goal]
    for row in rows:
        if row.least <= concurrency and (row.most is None or concurrency <= row.most):
            return Opinion("article", row.topology, row.why, ARTICLE, ARTICLE_DATE)
    below = [row for row in rows if row.most is not None and row.most < concurrency]
    above = [row for row in rows if row.least > concurrency]
    if not (below and above):
        return None
    low, high = below[-1], above[0]
    near = low if concurrency / (low.most or 1) < high.least / concurrency else high
    sides = f"{low.topology} is best up to concurrency {low.most}, {high.topology} from {high.least} on"
    return Opinion("article", near.topology, f"{sides}; {_nearer(concurrency, near.least)}", ARTICLE, ARTICLE_DATE)


def _nearer(concurrency: int, taken: int) -> str:
    return f"concurrency {concurrency} is nearer to {taken}"


def _measured(goal: Goal, concurrency: int, basis: Basis, found: Sequence[Evidence]) -> Opinion | None:
    """The best topology at this concurrency; between two measured concurrencies, the best at the nearer one."""
    at: dict[int, list[Evidence]] = {}
    for one in found:
        at.setdefault(one.concurrency, []).append(one)
    compared = sorted(count for count in at if len({one.topology for one in at[count]}) > 1)
    if not compared:
        return None
    near = _around(concurrency, compared)
    winners = {count: min(at[count], key=_cost(goal)) for count in near}
    nearest = min(near, key=lambda count: abs(math.log(count / concurrency)))
    best, rivals = winners[nearest], sorted(at[nearest], key=lambda one: one.topology)
    values = tuple((one.topology, _value(goal, one)) for one in rivals)
    why = _why(goal, concurrency, winners, at[nearest])
    shares = nearest if goal == "latency" and nearest > 1 else None
    return Opinion(basis, best.topology, why, best.source, best.date, tuple(near), values, shares)


def _around(concurrency: int, counts: Sequence[int]) -> list[int]:
    """The measured concurrency itself, else its neighbours, else the last one on that side."""
    if concurrency in counts:
        return [concurrency]
    below = [count for count in counts if count < concurrency][-1:]
    above = [count for count in counts if count > concurrency][:1]
    return below + above


def _value(goal: Goal, one: Evidence) -> float:
    """The value as it is shown: for `latency`, the share of one request."""
    return one.value / one.concurrency if goal == "latency" else one.value


def _cost(goal: Goal) -> Callable[[Evidence], float]:
    """A sort key: the best value has the lowest cost. The cost of a speed is negative."""
    if goal == "ttft":
        return lambda one: one.value
    return lambda one: -one.value


def _why(goal: Goal, concurrency: int, winners: Mapping[int, Evidence], rivals: Sequence[Evidence]) -> str:
    best, worst = min(rivals, key=_cost(goal)), max(rivals, key=_cost(goal))
    if len({one.topology for one in winners.values()}) > 1:
        sides = ", ".join(f"{one.topology} is best at concurrency {count}" for count, one in winners.items())
        return f"{sides}; {_nearer(concurrency, best.concurrency)}"
    gain = f"{abs(best.value / worst.value - 1) * 100:.0f} % {'less time' if goal == 'ttft' else 'more tokens/s'}"
    outside = "" if min(winners) <= concurrency <= max(winners) else " (the nearest that was measured)"
    return f"best at concurrency {' and '.join(map(str, winners))}{outside}: {gain} than {worst.topology}"
