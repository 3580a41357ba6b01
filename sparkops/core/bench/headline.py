"""The answer of a comparison in sentences: which run is faster at which concurrencies, as far as the noise allows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sparkops.core.bench.compare import Comparison
from sparkops.core.bench.measured import Metric, Row
from sparkops.core.bench.names import NAMES

ASKED = ("decode", "prefill", "ttft")
"""The metrics that the headline answers for; tables have the others."""


@dataclass(frozen=True)
class _Lead:
    """Who leads at one concurrency. One label: that run, beyond the noise. Several: no difference between them."""

    count: int
    labels: tuple[str, ...]
    known: bool
    percent: float
    """How far the leader is ahead of the next run, or the noise that hides a difference."""


def headline(comparisons: Sequence[Comparison], labels: Sequence[str]) -> Iterator[str]:
    """One sentence for each metric of `ASKED`, or for those of which there is the same to say."""
    found = {one.metric: one for one in comparisons}
    told: dict[str, list[str]] = {}
    for metric in ASKED:
        if metric in found and (text := "; ".join(_parts(found[metric], labels))):
            told.setdefault(text, []).append(NAMES[metric].short)
    yield from (f"{', '.join(names)}: {text}." for text, names in told.items())


def _parts(one: Comparison, labels: Sequence[str]) -> Iterator[str]:
    leads = [lead for count, values in one.rows if (lead := _lead(one, labels, count, values))]
    best = "faster" if len(labels) == 2 else "fastest"  # noqa: PLR2004
    for (who, known), group in groupby(leads, key=lambda lead: (lead.labels, lead.known)):
        same = list(group)
        at, size = _range([lead.count for lead in same]), _percent([lead.percent for lead in same])
        if not known:
            yield f"not judged at {at}, because that needs two or more runs: measure with --set runs=3"
        elif len(who) == 1:
            yield f"{who[0]} is {best} at {at} (by {size})"
        else:
            between = f" between {' and '.join(who)}" if len(who) < len(labels) else ""
            yield f"no difference beyond the noise{between} at {at} (±{size})"


def _lead(one: Comparison, labels: Sequence[str], count: int, values: Sequence[Metric | None]) -> _Lead | None:
    """The leader at one concurrency; None if fewer than two runs have a value."""
    there = {label: value for label, value in zip(labels, values, strict=True) if value}
    if len(there) < 2:  # noqa: PLR2004
        return None
    choose = min if NAMES[one.metric].less_is_better else max
    best = choose(there, key=lambda label: there[label].mean)
    judged = {label: one.judge(value, there[best]) for label, value in there.items() if label != best}
    known = {label: verdict for label, verdict in judged.items() if verdict and verdict.margin is not None}
    if len(known) < len(judged):
        return _Lead(count, (), False, 0.0)
    near = [label for label, verdict in known.items() if not verdict.differs]
    if near:
        tied = tuple(label for label in labels if label == best or label in near)
        return _Lead(count, tied, True, max(known[label].margin or 0.0 for label in near))
    return _Lead(count, (best,), True, min(abs(verdict.gain) for verdict in known.values()))


def _range(counts: Sequence[int]) -> str:
    """`1 request`, or `1 to 16 requests` for neighbours in the table."""
    if len(counts) > 1:
        return f"{counts[0]} to {counts[-1]} requests at once"
    return "1 request" if counts[0] == 1 else f"{counts[0]} requests at once"


def _percent(values: Sequence[float]) -> str:
    low, high = (f"{value:.{0 if value >= 10 else 1}f}" for value in (min(values), max(values)))  # noqa: PLR2004
    return f"{low} %" if low == high else f"{low} to {high} %"


def summary(runs: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """What each run reached: with its smallest and its largest concurrency."""
    for label, rows in runs.items():
        alike = [row for row in rows if row.point.shape == rows[0].point.shape]
        ends = dict.fromkeys(choose(alike, key=lambda row: row.point.concurrency).point for choose in (min, max))
        parts = [
            f"{row.metrics['decode'].mean:,.1f} tokens/s decode and {row.metrics['ttft'].mean:,.0f} ms TTFT with "
            f"{_range([row.point.concurrency])}"
            for row in alike
            if row.point in ends
        ]
        yield f"{label}: {'; '.join(parts)}."
