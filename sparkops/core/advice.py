"""Which topology: what an article's decision table says, what was measured, and what one measured oneself.

A measurement of one's own wins over what others published, that over the decision table; where they differ, all of
them are shown. `Evidence` is what benchmarks give: published tables today, stored runs of one's own as soon as there
are any.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sparkops.core.bench.measured import Row
from sparkops.core.bench.record import Record
from sparkops.core.memory_estimate import bytes_per_token
from sparkops.core.recipe import Effective
from sparkops.core.reference import ReferencePoint
from sparkops.core.topology import Shape

Goal = Literal["decode", "prefill", "ttft", "latency"]
Basis = Literal["own", "measured", "article"]

GOALS = {
    "decode": "tokens generated a second, over all requests",
    "prefill": "tokens of prompts read a second, over all requests",
    "ttft": "time to the first token",
    "latency": "speed of each single request",
}

BANDWIDTH_GB_S = 273
"""Of a GB10's memory, nominal; tests reach 161 to 250."""

METRIC = {"decode": "decode", "prefill": "prefill", "ttft": "ttft", "latency": "decode"}
"""What is measured for a goal. The speed of one request is its share of all."""

LESS_IS_BETTER = ("ttft",)


@dataclass(frozen=True)
class Evidence:
    """One measured value. `own` is what this person measured, on these nodes."""

    metric: str
    topology: str
    concurrency: int
    value: float
    source: str
    date: str
    model: str
    own: bool = False


@dataclass(frozen=True)
class Decision:
    """One row of the decision table: from `least` to `most` requests at once this topology."""

    goal: Goal
    least: int
    most: int | None
    topology: str
    why: str


ARTICLE = "kubis.ai, The Recipe System (8/9), decision table"
ARTICLE_DATE = "2026-03"

DECISIONS = (
    Decision("decode", 1, None, "cluster", "+21% at 1, +61% at 16, +47% at 64 against solo"),
    Decision("latency", 1, None, "cluster", "the fastest single request at every concurrency"),
    Decision("prefill", 16, None, "2x-solo", "both nodes read different prompts at once, +45% at 64"),
    Decision("ttft", 1, 1, "cluster", "reads a single prompt faster, -33% against solo"),
    Decision("ttft", 8, None, "2x-solo", "each node has a queue of its own, -45% at 64"),
)
"""The article's table as printed; between its rows it is silent."""


@dataclass(frozen=True)
class Opinion:
    """What one source says. `values` are what it measured at `at`, the nearest concurrencies it has."""

    basis: Basis
    topology: str
    why: str
    source: str
    date: str
    at: tuple[int, ...] = ()
    values: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Advice:
    """`opinions` in the order of their weight: the first that can be followed decides."""

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
    """What the evidence and the article say of so many requests at once; `possible` topologies, where not all are."""
    useful = [one for one in evidence if one.metric == METRIC[goal] and _can(one.topology, possible)]
    opinions = [
        _measured(goal, concurrency, "own", [one for one in useful if one.own]),
        _measured(goal, concurrency, "measured", [one for one in useful if not one.own]),
        _decided(goal, concurrency),
    ]
    said = tuple(opinion for opinion in opinions if opinion)
    chosen = next((opinion.topology for opinion in said if _can(opinion.topology, possible)), None)
    return Advice(goal, concurrency, chosen, said)


def _can(topology: str, possible: frozenset[str] | None) -> bool:
    return possible is None or topology in possible


def published(points: Iterable[ReferencePoint], model: str) -> tuple[Evidence, ...]:
    """What others measured with this model."""
    return tuple(Evidence(p.metric, p.topology, p.concurrency, p.value, p.source, p.date, model) for p in points)


def measured_here(records: Iterable[Record], model: str) -> tuple[Evidence, ...]:
    """What this person measured with the model, of each topology the newest.

    Runs of different prompt and answer sizes are not put beside each other: those sizes count that compare most.
    """
    by_size: dict[tuple[int, int, int], dict[tuple[str, int], tuple[str, Row]]] = {}
    for record in records:
        revision = (record.lock or {}).get("revision", {})
        topology = str(revision.get("topology", ""))
        if not topology or revision.get("model") != model or not record.ok:
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
    """Tokens a second that memory can feed to one request: its bandwidth over what a token reads of the weights.

    A cluster reads its shares at once; servers beside each other serve different requests.
    """
    read = bytes_per_token(effective)
    return BANDWIDTH_GB_S / read * shape.span if read else None


def _decided(goal: Goal, concurrency: int) -> Opinion | None:
    """The article's row for this concurrency; between two rows, where it is silent, the nearer one."""
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
    why = f"{low.topology} up to {low.most}, {high.topology} from {high.least}; {_nearer(concurrency, near.least)}"
    return Opinion("article", near.topology, why, ARTICLE, ARTICLE_DATE)


def _nearer(concurrency: int, taken: int) -> str:
    return f"{concurrency} is between and nearer to {taken}"


def _measured(goal: Goal, concurrency: int, basis: Basis, found: Sequence[Evidence]) -> Opinion | None:
    """The best topology at this concurrency; between two measured ones, of the nearer where they differ."""
    counts = sorted({one.concurrency for one in found})
    compared = [count for count in counts if len({one.topology for one in found if one.concurrency == count}) > 1]
    if not compared:
        return None
    near = _around(concurrency, compared)
    winners = [_winner(goal, [one for one in found if one.concurrency == count]) for count in near]
    nearest = min(range(len(near)), key=lambda index: abs(math.log(near[index] / concurrency)))
    best = winners[nearest]
    at = [one for one in found if one.concurrency == near[nearest]]
    return Opinion(
        basis,
        best.topology,
        _why(goal, concurrency, near, winners, at),
        best.source,
        best.date,
        tuple(near),
        tuple((one.topology, _value(goal, one)) for one in sorted(at, key=lambda one: one.topology)),
    )


def _around(concurrency: int, counts: Sequence[int]) -> list[int]:
    """The measured concurrency itself, else its neighbours, else the last one on that side."""
    if concurrency in counts:
        return [concurrency]
    below = [count for count in counts if count < concurrency][-1:]
    above = [count for count in counts if count > concurrency][:1]
    return below + above


def _winner(goal: Goal, found: Sequence[Evidence]) -> Evidence:
    choose = min if goal in LESS_IS_BETTER else max
    return choose(found, key=lambda one: one.value)


def _value(goal: Goal, one: Evidence) -> float:
    return one.value / one.concurrency if goal == "latency" else one.value


def _why(goal: Goal, concurrency: int, near: Sequence[int], winners: Sequence[Evidence], at: Sequence[Evidence]) -> str:
    best = _winner(goal, at)
    if len({one.topology for one in winners}) > 1:
        sides = ", ".join(f"{one.topology} at {count}" for count, one in zip(near, winners, strict=True))
        return f"{sides}; {_nearer(concurrency, best.concurrency)}"
    worst = (max if goal in LESS_IS_BETTER else min)(at, key=lambda one: one.value)
    gain = f"{abs(best.value / worst.value - 1) * 100:.0f} % {'less' if goal in LESS_IS_BETTER else 'more'}"
    outside = "" if near[0] <= concurrency <= near[-1] else ", the nearest measured concurrency"
    return f"best at {' and '.join(map(str, near))}{outside}: {gain} than {worst.topology}"
