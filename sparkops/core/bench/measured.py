"""What llama-benchy measured, read strictly: a null, a missing point, a failed request is a problem, never a number."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkops.core.bench.suites import Point, Suite
from sparkops.core.typed import Mistyped, is_number, typed

METRICS: Mapping[str, str] = {
    "prefill": "pp_throughput",
    "decode": "tg_throughput",
    "decode-per-request": "tg_req_throughput",
    "peak": "peak_throughput",
    "ttfr": "ttfr",
    "ttft": "e2e_ttft",
}
"""Our names and llama-benchy's. Rates are tokens a second, times milliseconds."""

PER_REQUEST = ("decode-per-request", "ttfr", "ttft")
"""Metrics with one value for each request; the others have one for each run."""


SLOWEST = 1e-6
"""Tokens a second below which nothing is derived from a rate."""


@dataclass(frozen=True)
class _Sizes:
    """The sizes of a point, by llama-benchy's names."""

    prompt_size: int
    response_size: int
    context_size: int
    concurrency: int

    @property
    def point(self) -> Point:
        if min(self.prompt_size, self.response_size, self.context_size) < 0 or self.concurrency < 1:
            raise Mistyped("a number is negative")
        return Point(self.prompt_size, self.response_size, self.context_size, self.concurrency)


@dataclass(frozen=True)
class Metric:
    """`values`: one for each run for metrics over all requests, else one for each request.

    `runs`: the mean of each run. The requests of one run share the engine, so only runs are independent. Empty if
    unknown.
    """

    mean: float
    std: float
    values: tuple[float, ...]
    runs: tuple[float, ...] = ()


@dataclass(frozen=True)
class Row:
    """One point with its metrics, by our names."""

    point: Point
    metrics: Mapping[str, Metric]


@dataclass(frozen=True)
class Measured:
    """If there are problems, the rows must not be shown as results."""

    rows: tuple[Row, ...]
    problems: tuple[str, ...]


def read(documents: Sequence[Mapping[str, Any]], suite: Suite) -> Measured:
    """The rows of result files, and all that is wrong with them."""
    problems: list[str] = []
    found = [_row(entry, suite.runs, problems) for document in documents for entry in _entries(document, problems)]
    rows = tuple(row for row in found if row is not None)
    measured = {row.point for row in rows}
    missing = [point for point in suite.points if point not in measured]
    problems += [f"{point}: was not measured" for point in missing if not any(str(point) in told for told in problems)]
    return Measured(rows, tuple(problems))


def _entries(document: Mapping[str, Any], problems: list[str]) -> Sequence[Mapping[str, Any]]:
    entries = document.get("benchmarks")
    if not isinstance(entries, list) or not entries:
        problems.append("the list `benchmarks` in llama-benchy's result file is missing or empty")
        return ()
    return [entry for entry in entries if isinstance(entry, dict) and not entry.get("is_context_prefill_phase")]


def _row(entry: Mapping[str, Any], runs: int, problems: list[str]) -> Row | None:
    try:
        point = typed(_Sizes, entry).point
    except Mistyped as error:
        problems.append(f"an entry in llama-benchy's result file has no valid token counts or concurrency ({error})")
        return None
    metrics: dict[str, Metric] = {}
    for name, theirs in METRICS.items():
        metric = _metric(entry.get(theirs), point.concurrency if name in PER_REQUEST else 1, runs)
        if metric is None:
            problems.append(f"{point}: {theirs} is null; either no request succeeded, or all ended too soon to measure")
            return None
        metrics[name] = metric
    return Row(point, metrics | _derived(point, metrics, runs))


def _metric(found: Any, requests: int, runs: int) -> Metric | None:
    """A metric with so many values for each run."""
    given = found if isinstance(found, dict) else {}
    mean, std, values = given.get("mean"), given.get("std") or 0.0, given.get("values")
    numbers = tuple(float(value) for value in values if is_number(value)) if isinstance(values, list) else ()
    if not numbers or not is_number(mean) or not is_number(std):
        return None
    return Metric(float(mean), float(std), numbers, _by_run(numbers, requests, runs))


def _by_run(values: Sequence[float], requests: int, runs: int) -> tuple[float, ...]:
    """The mean of each run; empty if values are missing, because then it is unknown which run each belongs to."""
    if len(values) != requests * runs:
        return ()
    return tuple(sum(values[at : at + requests]) / requests for at in range(0, len(values), requests))


def _derived(point: Point, metrics: Mapping[str, Metric], runs: int) -> dict[str, Metric]:
    """Per request: ms between tokens (itl) and to the last token (e2e); total: tokens/s of prompts and answers."""
    rates, firsts = metrics["decode-per-request"].values, metrics["ttft"].values
    if len(rates) != len(firsts) or min(rates) < SLOWEST:
        return {}
    between = [1000 / rate for rate in rates]
    whole = [first + gap * (point.answer - 1) for first, gap in zip(firsts, between, strict=True)]
    tokens = (point.prompt + point.answer) * point.concurrency * 1000
    means = _by_run(whole, point.concurrency, runs)
    total = [tokens / mean for mean in means or [sum(whole) / len(whole)] if mean > 0]
    known = {"itl": (between, point.concurrency), "e2e": (whole, point.concurrency), "total": (total, 1)}
    return {name: of(values, _by_run(values, requests, runs)) for name, (values, requests) in known.items() if values}


def of(values: Sequence[float], runs: tuple[float, ...] = ()) -> Metric:
    """A metric of these values; the spread is that of the values themselves."""
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return Metric(mean, spread, tuple(values), runs)
