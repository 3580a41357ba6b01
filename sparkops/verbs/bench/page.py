"""A report as one self-contained HTML page: the verdict, what was measured, the comparison, charts, all numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from sparkops.core.bench.charts import Chart, charts, power
from sparkops.core.bench.compare import Comparison, side_by_side, sizes
from sparkops.core.bench.headline import headline, summary
from sparkops.core.bench.measured import Metric
from sparkops.core.bench.names import NAMES, TABLES, title
from sparkops.core.bench.record import Record, Series
from sparkops.core.bench.samples import watched
from sparkops.core.bench.setup import setup
from sparkops.core.bench.suites import shared
from sparkops.core.bench.verdict import Judgement
from sparkops.files.package import report_style
from sparkops.verbs.bench.show import LAB, energy_line
from sparkops.verbs.bench.svg import svg


def drawn(shown: Series) -> Iterator[Chart]:
    """Yield the charts of a report: metrics over concurrency, and the power of each run that sampled it."""
    good = {label: record.measured.rows for label, record in shown.records.items() if record.ok}
    if good:
        yield from charts(good)
    watts: dict[str, list[tuple[float, float]]] = {}
    for label, record in shown.records.items():
        for sample in record.samples:
            if sample.power_w is not None:
                watts.setdefault(f"{label}: {sample.node}", []).append((sample.at, sample.power_w))
    if chart := power(watts):
        yield chart


def page(shown: Series) -> str:
    """Return the page. All texts of records are escaped."""
    good = {label: record for label, record in shown.records.items() if record.ok}
    compared = list(side_by_side([record.measured.rows for record in good.values()])) if len(good) > 1 else []
    parts = (
        *_head(shown, good, compared), *_setup(shown.records), *_comparison(compared, good),
        *_figures(drawn(shown)), *_runs(good),
    )  # fmt: skip
    name, body = escape(shown.title), "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{name}</title>\n'
        f"<style>\n{report_style()}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _head(shown: Series, good: Mapping[str, Record], compared: Sequence[Comparison]) -> Iterator[str]:
    yield f"<h1>{escape(shown.title)}</h1>"
    if any(record.lab for record in shown.records.values()):
        yield f'<p class="banner">{escape(LAB[0].upper() + LAB[1:])}.</p>'
    told = headline(compared, list(good)) if compared else summary({one: good[one].measured.rows for one in good})
    yield "".join(f'<p class="verdict">{escape(line)}</p>' for line in told)
    for label, record in shown.records.items():
        for problem in record.all_problems:
            yield f'<p class="bad">{escape(label)}: no valid result: {escape(problem)}</p>'
    for label, reason in shown.failed.items():
        yield f'<p class="bad">{escape(label)}: not measured: {escape(reason)}</p>'


def _setup(records: Mapping[str, Record]) -> Iterator[str]:
    """What was measured on what; a value that all runs share stands once."""
    yield "<h2>What was measured</h2>"
    yield '<table class="setup">' + (_heads(["", *records]) if len(records) > 1 else "")
    for name, texts in setup(list(records.values())):
        same = len(set(texts)) == 1
        cells = f'<td colspan="{len(texts)}">{escape(texts[0])}</td>' if same else _cells(map(escape, texts))
        yield f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
    yield "</table>"


def _comparison(compared: Sequence[Comparison], good: Mapping[str, Record]) -> Iterator[str]:
    if not compared:
        return
    labels = list(good)
    yield "<h2>Comparison</h2>"
    yield f'<p class="dim">{escape(sizes(good[labels[0]].measured.rows))}</p>'
    yield (
        f'<p class="dim">Means ± standard deviations. Below: the difference from {escape(labels[0])} and its 95 % '
        "interval; “noise” means no difference beyond the noise. Each table as a whole errs in 5 % of cases.</p>"
        '<div class="grid">'
    )
    for one in compared:
        yield f"<table><caption>{escape(title(one.metric))}</caption>" + _heads(["requests at once", *labels])
        for count, values in one.rows:
            judged = [None, *one.verdicts(values)]
            cells = [_value(value) + _difference(verdict) for value, verdict in zip(values, judged, strict=True)]
            yield _row(str(count), cells)
        yield "</table>"
    yield "</div>"


def _figures(made: Iterable[Chart]) -> Iterator[str]:
    figures = [f'<figure id="{escape(chart.id)}">{_image(chart)}</figure>' for chart in made]
    if figures:
        yield '<h2>Charts</h2>\n<div class="grid">' + "\n".join(figures) + "</div>"


def _image(chart: Chart) -> str:
    return svg(chart).replace("<svg ", f'<svg role="img" aria-label="{escape(chart.text)}" ', 1)


def _runs(records: Mapping[str, Record]) -> Iterator[str]:
    """All numbers of each run."""
    yield "<h2>All numbers</h2>" if records else ""
    for label, record in records.items():
        rows = record.measured.rows
        vary, same = shared([row.point for row in rows])
        yield f'<h3>{escape(label)}</h3><p class="dim">{escape(same)}</p>'
        for names in TABLES:
            known = [name for name in names if any(name in row.metrics for row in rows)]
            if not known:
                continue
            yield f"<table><caption>{NAMES[known[0]].unit}, mean ± standard deviation</caption>"
            yield _heads(["requests at once", *(head for _, head in vary), *(NAMES[name].short for name in known)])
            for row in rows:
                sizes = [f"{getattr(row.point, name):,}" for name, _ in vary]
                yield _row(str(row.point.concurrency), [*sizes, *(_value(row.metrics.get(name)) for name in known)])
            yield "</table>"
        yield from _watched(record)


def _watched(record: Record) -> Iterator[str]:
    """Power, clock, temperature and memory of the nodes during the run."""
    heads = ("mean power W", "peak power W", "MHz under load", "peak °C", "least memory GiB")
    rows = [
        (one.node, (one.power_mean_w, one.power_peak_w, one.clock_mhz, one.temperature_c, one.available_gib))
        for one in watched(record.samples)
    ]
    known = [at for at in range(len(heads)) if any(values[at] is not None for _, values in rows)]
    if not known:
        return
    yield "<table><caption>Nodes during the run</caption>" + _heads(["node", *(heads[at] for at in known)])
    for node, values in rows:
        yield _row(escape(node), ["" if values[at] is None else f"{values[at]:,.0f}" for at in known])
    yield "</table>"
    if record.energy:
        yield f'<p class="dim">{escape(energy_line(record.energy))}</p>'


def _heads(names: Iterable[str]) -> str:
    return "<tr>" + "".join(f'<th scope="col">{escape(name)}</th>' for name in names) + "</tr>"


def _row(head: str, cells: Iterable[str]) -> str:
    return f'<tr><th scope="row">{head}</th>{_cells(cells)}</tr>'


def _cells(cells: Iterable[str]) -> str:
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _value(metric: Metric | None) -> str:
    if metric is None:
        return "–"
    digits = 1 if metric.mean < 1000 else 0  # noqa: PLR2004
    spread = f' <span class="spread">±{metric.std:,.{digits}f}</span>' if metric.std else ""
    return f"{metric.mean:,.{digits}f}{spread}"


def _difference(found: Judgement | None) -> str:
    if found is None:
        return ""
    if found.margin is None:
        return '<br><span class="spread">not judged</span>'
    if not found.differs:
        return f'<br><span class="spread">noise ±{found.margin:.1f} %</span>'
    return f'<br><b class="gain">{found.gain:+.1f} % <span class="spread">±{found.margin:.1f}</span></b>'
