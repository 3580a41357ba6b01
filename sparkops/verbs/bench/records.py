"""The verbs of `bench` that need no node: stored runs as tables, files and pages."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from sparkops.core import reference
from sparkops.core.bench.compare import (
    VARIABLE,
    Comparison,
    Gap,
    beside_published,
    crossings,
    gaps,
    side_by_side,
    sizes,
)
from sparkops.core.bench.headline import headline
from sparkops.core.bench.names import NAMES, TABLES
from sparkops.core.bench.record import Record, series
from sparkops.core.bench.samples import watched
from sparkops.core.bench.suites import SUITES
from sparkops.core.bench.verdict import Judgement
from sparkops.core.reference import ReferenceTable
from sparkops.core.schema import did_you_mean
from sparkops.errors import Refused, UsageError
from sparkops.files import own_files, recipes
from sparkops.files import reference as load_reference
from sparkops.files.bench_records import names, record
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.bench.options import CompareOptions, RecordsOptions
from sparkops.verbs.bench.show import LAB, energy_line, number


def suites(options: RecordsOptions, report: Ending) -> Answer:
    """List the suites."""
    return Answer({"suites": [{**vars(one), "requests": one.requests} for one in SUITES]})


def listing(options: RecordsOptions, report: Ending) -> Answer:
    """List all stored runs; an unreadable one is listed with the reason."""
    found: list[dict[str, Any]] = []
    for name in names():
        try:
            one = record(name)
        except UsageError as error:
            found.append(
                {"id": name, "label": str(error), "model": "", "suite": "", "ok": False, "state": "unreadable"}
            )
            continue
        about = {"started": one.started, "label": one.label, "model": one.model, "suite": one.suite.id}
        found.append({"id": name, **about, "ok": one.ok, "state": one.state, "lab": one.lab})
    return Answer({"records": found})


def show(options: RecordsOptions, report: Ending) -> Answer:
    one = record(options.names[0])
    nodes = [vars(node) for node in watched(one.samples)]
    problems = list(one.all_problems)
    return Answer(
        {
            "record": one.document(),
            "state": one.state,
            "rows": one.table(),
            "watched": nodes,
            "energy": one.energy,
            "problems": problems,
        }
    )


def export(options: RecordsOptions, report: Ending) -> Answer:
    """Export runs as text or to files."""
    records = [record(name) for name in options.names]
    bad = [one for one in records if not one.ok and options.format != "json"]
    if bad:
        hint = "use --format json, which also exports a run without a valid result"
        raise Refused(f"{bad[0].id} has no valid result: {bad[0].all_problems[0]}", hint=hint)
    if options.format == "svg":
        return _drawings(records, options.output)
    text = {"md": _markdown, "csv": _csv, "json": _json, "html": page_of}[options.format](records)
    if options.output is None:
        return Answer({"text": text})
    return Answer({"files": [own_files.write(Path(options.output), text)]})


def compare(options: CompareOptions, report: Ending) -> Answer:
    """Compare runs; refuses if anything differs beyond `--vary`."""
    unknown = sorted(options.vary - set(VARIABLE))
    if unknown:
        raise UsageError(f"--vary {unknown[0]}: unknown name{did_you_mean(unknown[0], VARIABLE)}")
    records = [record(name) for name in options.names]
    broken = [one for one in records if not one.ok]
    if broken:
        raise Refused(f"{broken[0].id} has no valid result: {broken[0].all_problems[0]}")
    if options.reference:
        return _published(records, options.recipe)
    if options.recipe:
        raise UsageError("--recipe names the recipe of --reference", hint="add --reference, or leave out --recipe")
    if len(records) < 2:  # noqa: PLR2004
        raise UsageError("a comparison needs two runs", hint="name another run, or use --reference")
    return comparison(records, options.vary, options.output)


def comparison(
    records: Sequence[Record], vary: frozenset[str], output: str | None, failed: Mapping[str, str] | None = None
) -> Answer:
    """Compare runs, or refuse with the differences (exit 3). `failed` maps label to reason."""
    found = _gaps(records, vary)
    if found:
        lines = "\n".join(f"{gap.label}: {gap.text}" for gap in found)
        named = ",".join(sorted(vary | {gap.text.partition(":")[0] for gap in found} & set(VARIABLE)))
        if len({_topology(one) for one in records}) > 1 and not _gaps(records, vary | {"topology"}):
            named = "topology"
        hint = f"to compare them anyway: --vary {named}" if named else None
        raise Refused(f"these runs cannot be compared:\n{lines}", hint=hint)
    files = [own_files.write(Path(output), page_of(records, failed))] if output else []
    runs = {label: one.measured.rows for label, one in series("", records).records.items()}
    compared, labels = list(side_by_side(list(runs.values()))), list(runs)
    marks = [vars(mark) for one in compared if one.metric == "decode" for mark in crossings(one, labels)]
    said = {"verdict": list(headline(compared, labels)), "sizes": sizes(records[0].measured.rows)}
    rest = {"comparisons": _documents(compared), "crossings": marks, "files": files, "lab": records[0].lab}
    return Answer({"labels": labels, **said, **rest})


def _gaps(records: Sequence[Record], vary: frozenset[str]) -> list[Gap]:
    """What differs from the first run beyond `vary`."""
    flags = list(_topology_flags(records[0]))
    return [gap for other in records[1:] for gap in gaps(records[0], other, vary, flags)]


def _published(records: Sequence[Record], named: str | None) -> Answer:
    if len(records) != 1:
        raise UsageError("--reference compares one run with published results", hint="name one run only")
    one = records[0]
    revision = (one.lock or {}).get("revision", {})
    recipe, topology = named or str(revision.get("recipe", "")), str(revision.get("topology", ""))
    tables = _of_recipe(named, one.model) if named else _of_run(recipe)
    points = [point for point in reference.points(tables) if point.topology in ("", topology)]
    found = list(beside_published(one.measured.rows, points))
    if not found:
        hint = None if named else "if you have the recipe's file: --recipe FILE"
        message = f"no published results of {recipe or one.model} as {topology} at the concurrencies of this run"
        raise Refused(message, hint=hint)
    sources = dict.fromkeys(f"published: {point.source}, {point.date}" for point in points)
    measured = [(row.point.prompt, row.point.answer) for row in one.measured.rows]
    different = list(reference.differences(tables, topology, revision.get("args", {}), measured))
    (label,) = series("", [one]).records
    document = {
        "labels": ["published", label],
        "comparisons": _documents(found),
        "notes": list(sources),
        "lab": one.lab,
    }
    return Answer({**document, "differences": different, "reference": [reference.document(table) for table in tables]})


def _of_recipe(name: str, model: str) -> tuple[ReferenceTable, ...]:
    """The published results of a recipe; refuses one that serves another model than the run."""
    recipe = recipes.recipe(name)
    if recipe.model != model:
        raise Refused(f"{name} serves {recipe.model}; the run measured {model}", hint="name a recipe of this model")
    return load_reference.of_recipe(recipe)


def _of_run(name: str) -> tuple[ReferenceTable, ...]:
    """The published results of the recipe of a run, whose file may be on another machine."""
    try:
        recipe = recipes.recipe(name) if name else None
    except UsageError:
        return load_reference.tables(name)
    return load_reference.of_recipe(recipe) if recipe else ()


def _documents(tables: Sequence[Comparison]) -> list[dict[str, Any]]:
    return [
        {
            "metric": one.metric,
            "unit": NAMES[one.metric].unit,
            "rows": [
                {
                    "concurrency": count,
                    "values": [{"mean": v.mean, "std": v.std} if v else None for v in values],
                    "gains": one.gains(values),
                    "verdicts": list(map(_verdict, one.verdicts(values))),
                }
                for count, values in one.rows
            ],
        }
        for one in tables
    ]


def _verdict(found: Judgement | None) -> dict[str, Any] | None:
    return {"word": found.word, "gain": found.gain, "margin": found.margin} if found else None


def _topology(one: Record) -> str:
    return str((one.lock or {}).get("revision", {}).get("topology", ""))


def _topology_flags(one: Record) -> Iterator[str]:
    """Yield the flags that the run's recipe sets by topology; none if the recipe is not on this machine."""
    name = str((one.lock or {}).get("revision", {}).get("recipe", ""))
    try:
        layers = recipes.recipe(name).topologies.values() if name else ()
    except UsageError:
        return
    for layer in layers:
        yield from (f"--{flag}" for flag in layer.args)


def page_of(records: Sequence[Record], failed: Mapping[str, str] | None = None) -> str:
    """Return the HTML page of these runs, with the failures."""
    models = ", ".join(dict.fromkeys(one.model for one in records))
    return str(_drawing().page(series(f"Benchmark of {models}", records, failed)))


def _drawings(records: Sequence[Record], output: str | None) -> Answer:
    if output is None:
        raise UsageError("--format svg writes several files", hint="name a directory: -o DIRECTORY")
    drawing = _drawing()
    place = Path(output)
    own_files.make_folder(place)
    charts = drawing.drawn(series("", records))
    return Answer({"files": [own_files.write(place / f"{one.id}.svg", drawing.svg(one)) for one in charts]})


def _drawing() -> ModuleType:
    """Import the page, which needs matplotlib from the extra `bench`."""
    try:
        from sparkops.verbs.bench import page  # noqa: PLC0415
    except ImportError:
        raise UsageError("matplotlib is not installed", hint="pip install 'sparkops[bench]'") from None
    return page


def _markdown(records: Sequence[Record]) -> str:
    metrics = [name for names in TABLES for name in names]
    lines = []
    for label, one in series("", records).records.items():
        lines += [f"## {label}: {one.model}, {one.suite.id}, {one.started}", ""]
        lines += [f"**{LAB}**", ""] if one.lab else []
        heads = (f"{NAMES[name].short} ({NAMES[name].unit})" for name in metrics)
        lines += ["| point | " + " | ".join(heads) + " |", "|---|" + "---|" * len(metrics)]
        for row in one.measured.rows:
            cells = (number(m.mean, m.std) if (m := row.metrics.get(name)) else "" for name in metrics)
            lines.append(f"| {row.point} | " + " | ".join(cells) + " |")
        lines += ["", energy_line(one.energy)] if one.energy else []
        lines.append("")
    return "\n".join(lines)


def _csv(records: Sequence[Record]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["label", "prompt", "answer", "depth", "concurrency", "metric", "mean", "std", "values"])
    for label, one in series("", records).records.items():
        for row in one.measured.rows:
            for name, m in row.metrics.items():
                point = (row.point.prompt, row.point.answer, row.point.depth, row.point.concurrency)
                writer.writerow([label, *point, name, m.mean, m.std, " ".join(map(repr, m.values))])
    return out.getvalue()


def _json(records: Sequence[Record]) -> str:
    return json.dumps([one.document() for one in records], indent=2) + "\n"
