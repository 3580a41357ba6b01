"""Answers of the verbs of `bench`."""

from collections.abc import Iterable, Iterator
from typing import Any

from sparkops.core.bench.names import NAMES, TABLES, title
from sparkops.core.bench.suites import Point, shared
from sparkops.core.energy import energy_text
from sparkops.report.text import Document, How, Ink, columns, wrapped
from sparkops.verbs.recipe.show_catalogue import reference

LAB = "measured in the lab: the nodes are emulated, so these numbers say nothing about a GB10"


def run(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The numbers, and their problems."""
    if document.get("rows") and document["record"].get("lab"):
        yield ink.warn(LAB)
    yield from numbers(document.get("rows", ()), ink)
    if document.get("ok"):
        yield f"stored as {document['id']}"


def numbers(rows: Any, ink: Ink) -> Iterator[str]:
    """Two tables, to fit eighty columns; sizes that all rows share are in the line above."""
    if not rows:
        return
    points = [Point(row["prompt"], row["answer"], row["depth"], row["concurrency"]) for row in rows]
    vary, same = shared(points)
    for metrics in TABLES:
        unit = NAMES[metrics[0]].unit
        yield ink.dim("; ".join(filter(None, (same, f"mean ± standard deviation in {unit}"))))
        head = [*(label for _, label in vary), "concurrency", *(NAMES[name].short for name in metrics)]
        body = [
            [*(row[name] for name, _ in vary), row["concurrency"], *_cells(row["metrics"], metrics)] for row in rows
        ]
        yield from columns([head, *body], "  ")


def _cells(metrics: Document, wanted: Iterable[str]) -> Iterator[str]:
    for name in wanted:
        found = metrics.get(name)
        yield number(found["mean"], found["std"]) if found else ""


def number(mean: float, std: float = 0.0) -> str:
    digits = 1 if abs(mean) < 1000 else 0  # noqa: PLR2004
    return f"{mean:,.{digits}f}" + (f" ±{std:,.{digits}f}" if std >= 0.05 else "")  # noqa: PLR2004


def suites(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for one in document.get("suites", ()):
        yield ink.bold(one["id"])
        yield from wrapped(f"{one['title']} ({one['source']})", "    ")
        lists = {name: ",".join(map(str, one[name])) for name in ("prompts", "answers", "concurrency", "depths")}
        asked = "prompts of {prompts} tokens, answers of {answers} tokens, concurrency {concurrency}".format(**lists)
        depth = f", after a context of {lists['depths']} tokens" if lists["depths"] != "0" else ""
        text = f"{asked}{depth}; runs per point: {one['runs']}, requests in total: {one['requests']}"
        yield from wrapped(text, "    ")


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
    yield from columns([["id", "label", "model", "suite", "state"], *rows])
    for one in document["records"]:
        if one["state"] == "unreadable":
            yield ink.warn(f"unreadable: {one['label']}")


def shown(document: Document, ink: Ink, how: How) -> Iterator[str]:
    record = document.get("record")
    if not record:
        return
    yield f"{ink.bold(record['label'])}  {record['model']}  {record['suite']['id']}  {ink.dim(record['started'])}"
    if record.get("lab"):
        yield ink.warn(LAB)
    problems = document.get("problems", ())
    if problems and document.get("rows"):
        yield ink.bad("measured before the run failed:" if document.get("state") == "failed" else "measured so far:")
    yield from numbers(document.get("rows", ()), ink)
    yield from _watched(document.get("watched", ()), ink)
    if document.get("energy"):
        yield from wrapped(energy_line(document["energy"]), "")
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
    known = [one for one in WATCHED if any(node[one[0]] is not None for node in nodes)]
    if not known:
        return
    yield ink.dim("nodes during the run")
    rows = [
        [node["node"], *("" if node[name] is None else f"{node[name]:,.0f} {unit}" for name, _, unit in known)]
        for node in nodes
    ]
    yield from columns([["node", *(head for _, head, _ in known)], *rows], "  ")


def energy_line(found: Document) -> str:
    told = energy_text(found["joules_per_token"], found["joules_per_request"])
    return f"{told}, over the whole run with warm-up and pauses ({found['left_out']})"


def exported(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if document.get("files"):
        yield from (f"wrote {name}" for name in document["files"])
    else:
        yield from str(document.get("text", "")).splitlines()


def compared(document: Document, ink: Ink, how: How) -> Iterator[str]:
    labels = document.get("labels", ())
    if document.get("lab"):
        yield ink.warn(LAB)
    yield from (ink.bold(line) for sentence in document.get("verdict", ()) for line in wrapped(sentence, ""))
    if different := document.get("differences"):
        yield ink.warn("the published runs were set up otherwise, so the percentages also show what this changes:")
        yield from (f"  {line}" for line in different)
    if document.get("comparisons"):
        sizes = f"{document['sizes']}; " if document.get("sizes") else ""
        interval = " and its 95 % interval" if document.get("verdict") else ""
        yield ink.dim(f"{sizes}means, with the difference from {labels[0]}{interval}")
    for one in document.get("comparisons", ()):
        yield ink.bold(title(one["metric"]))
        head = ["concurrency", labels[0], *(word for label in labels[1:] for word in (label, f"vs {labels[0]}"))]
        yield from columns([head, *map(_compared_row, one["rows"])], "  ")
    for line in document.get("notes", ()):
        yield ink.dim(line)
    if document.get("notes"):
        yield ink.dim("not judged: a published value has no runs, so its noise is unknown")
    for table in document.get("reference", ()):
        yield from reference(table, ink)
    yield from (f"wrote {name}" for name in document.get("files", ()))


def _compared_row(row: Document) -> list[str]:
    first, *others = (number(value["mean"]) if value else "" for value in row["values"])
    judged = map(difference, row["verdicts"])
    return [str(row["concurrency"]), first, *(cell for pair in zip(others, judged, strict=True) for cell in pair)]


def difference(verdict: Any) -> str:
    """`+20.1 % ±3.2`, `noise ±3.2 %` for no difference beyond the noise, or a difference that cannot be judged."""
    if verdict is None:
        return ""
    if verdict["margin"] is None:
        return f"{verdict['gain']:+.1f} % (not judged)"
    margin = f"±{verdict['margin']:.1f}"
    return f"noise {margin} %" if verdict["word"] == "same" else f"{verdict['gain']:+.1f} % {margin}"
