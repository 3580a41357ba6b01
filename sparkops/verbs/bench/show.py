"""Answers of the verbs of `bench`."""

from collections.abc import Iterable, Iterator
from typing import Any

from sparkops.core.bench.suites import Point, shared
from sparkops.report.text import Document, How, Ink, columns
from sparkops.verbs.recipe.show_catalogue import reference

RATES = (("prefill", "prefill"), ("decode", "generation"), ("peak", "peak"), ("decode-per-request", "per request"))
TIMES = (("ttfr", "first response"), ("ttft", "first token"), ("itl", "between tokens"), ("e2e", "whole answer"))
UNITS = ((RATES, "tokens/s"), (TIMES, "ms"))
"""Metrics and their heads, by unit."""


def run(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The numbers, and their problems."""
    yield from numbers(document.get("rows", ()), ink)
    if document.get("ok"):
        yield f"stored as {document['id']}"


def numbers(rows: Any, ink: Ink) -> Iterator[str]:
    """Two tables, to fit eighty columns; sizes that all rows share are in the line above."""
    if not rows:
        return
    points = [Point(row["prompt"], row["answer"], row["depth"], row["concurrency"]) for row in rows]
    vary, same = shared(points)
    for metrics, unit in UNITS:
        yield ink.dim("; ".join(filter(None, (same, f"mean ± standard deviation in {unit}"))))
        head = [*(title for _, title in vary), "concurrency", *(title for _, title in metrics)]
        body = [
            [*(row[name] for name, _ in vary), row["concurrency"], *_cells(row["metrics"], metrics)] for row in rows
        ]
        yield from columns([head, *body], "  ")


def _cells(metrics: Document, wanted: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, _ in wanted:
        found = metrics.get(name)
        yield number(found["mean"], found["std"]) if found else ""


def number(mean: float, std: float = 0.0) -> str:
    digits = 1 if abs(mean) < 1000 else 0  # noqa: PLR2004
    return f"{mean:,.{digits}f}" + (f" ±{std:,.{digits}f}" if std >= 0.05 else "")  # noqa: PLR2004


def suites(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for one in document.get("suites", ()):
        yield f"{ink.bold(one['id'])}  {one['title']} ({one['source']})"
        lists = {name: ",".join(map(str, one[name])) for name in ("prompts", "answers", "concurrency", "depths")}
        asked = "prompts of {prompts} tokens, answers of {answers} tokens, concurrency {concurrency}".format(**lists)
        depth = f", after a context of {lists['depths']} tokens" if lists["depths"] != "0" else ""
        yield f"    {asked}{depth}; runs per point: {one['runs']}, requests in total: {one['requests']}"


def listing(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if not document.get("records"):
        yield "No runs yet. Start one: `sparkops bench run`."
        return
    rows = [
        [
            one["id"],
            f"{one['label']}{' (lab)' if one.get('lab') else ''}",
            one["model"],
            one["suite"],
            ink.good("ok") if one["ok"] else ink.bad(one["state"]),
        ]
        for one in document["records"]
        if one["state"] != "unreadable"
    ]
    yield from columns([["id", "label", "model", "suite", ""], *rows])
    for one in document["records"]:
        if one["state"] == "unreadable":
            yield ink.warn(f"unreadable: {one['label']}")


def shown(document: Document, ink: Ink, how: How) -> Iterator[str]:
    record = document.get("record")
    if not record:
        return
    yield f"{ink.bold(record['label'])}  {record['model']}  {record['suite']['id']}  {ink.dim(record['started'])}"
    if record.get("lab"):
        yield ink.warn("measured in the lab: the nodes are emulated, so these numbers say nothing about a GB10")
    problems = document.get("problems", ())
    if problems and document.get("rows"):
        yield ink.bad("measured before the run failed:" if document.get("state") == "failed" else "measured so far:")
    yield from numbers(document.get("rows", ()), ink)
    yield from _watched(document.get("watched", ()), ink)
    for problem in problems:
        yield ink.bad(f"no valid result: {problem}")


WATCHED = (
    ("power_mean_w", "mean power", "W"),
    ("power_peak_w", "peak power", "W"),
    ("clock_mhz", "clock under load", "MHz"),
    ("temperature_c", "peak temp.", "C"),
    ("available_gib", "least memory", "GiB"),
)


def _watched(nodes: Any, ink: Ink) -> Iterator[str]:
    """Power, clock, temperature and memory of the nodes during the run."""
    if not nodes:
        return
    yield ink.dim("nodes during the run")
    rows = [
        [node["node"], *("" if node[name] is None else f"{node[name]:,.0f} {unit}" for name, _, unit in WATCHED)]
        for node in nodes
    ]
    yield from columns([["node", *(title for _, title, _ in WATCHED)], *rows], "  ")


def exported(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if document.get("files"):
        yield from (f"wrote {name}" for name in document["files"])
    else:
        yield from str(document.get("text", "")).splitlines()


def compared(document: Document, ink: Ink, how: How) -> Iterator[str]:
    labels = document.get("labels", ())
    if different := document.get("differences"):
        yield ink.warn("the published runs had other flags, so the percentages also show what these flags change:")
        yield from (f"  {line}" for line in different)
    for one in document.get("comparisons", ()):
        yield ink.bold(f"{one['metric']} ({one['unit']})")
        head = ["concurrency", *labels, *(f"{label} vs {labels[0]}" for label in labels[1:])]
        rows = [[row["concurrency"], *map(_side, row["values"]), *map(_gain, row["gains"])] for row in one["rows"]]
        yield from columns([head, *rows], "  ")
    for one in document.get("crossings", ()):
        between = f"between {one['before']} and {one['after']} requests at once"
        yield ink.bold(f"{one['leader']} overtakes {one['trailing']} in decode tokens/s {between}")
    for line in document.get("notes", ()):
        yield ink.dim(line)
    for table in document.get("reference", ()):
        yield from reference(table, ink)
    yield from (f"wrote {name}" for name in document.get("files", ()))


def _side(value: Any) -> str:
    return number(value["mean"], value["std"]) if value else ""


def _gain(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f} %"
