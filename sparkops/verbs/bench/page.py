"""A report as one self-contained HTML page: tables, charts, and the setup that was measured."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from sparkops.core.bench.charts import Chart, charts, power
from sparkops.core.bench.record import Record, Series
from sparkops.core.bench.samples import watched
from sparkops.core.bench.suites import shared
from sparkops.verbs.bench.show import UNITS
from sparkops.verbs.bench.svg import svg

COLUMNS = [(name, f"{title} {unit}") for titles, unit in UNITS for name, title in titles]

TABLE, END = '<div class="scroll"><table>', "</table></div>"
"""A table wider than the page scrolls by itself."""

CSS = """
:root { color-scheme: light dark }
body { font: 15px/1.45 system-ui, sans-serif; color: #1a1a1a; background: #fff }
body { margin: 2rem auto; max-width: 80rem; padding: 0 1rem }
h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100% }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
th { font-weight: 600 } .scroll { overflow-x: auto }
th:first-child, td:first-child { text-align: left } .spread, .dim, dt { color: #6b6b6b }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); gap: 1rem }
figure { margin: 0 } svg { max-width: 100%; height: auto } .bad { color: #a40000 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem } dd { margin: 0; overflow-wrap: anywhere }
@media screen and (prefers-color-scheme: dark) {
  body { color: #e4e4e4; background: #121212 } th, td { border-color: #3a3a3a }
  .spread, .dim, dt { color: #9a9a9a } .bad { color: #ff7b72 } svg { filter: invert(.93) hue-rotate(180deg) }
}
@media print { body { margin: 0; max-width: none } figure { break-inside: avoid } }
"""


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
    if watts:
        yield power(watts)


def page(shown: Series, figures: Mapping[str, str] | None = None) -> str:
    """Return the page; `figures` maps chart id to SVG element (default: draw them)."""
    made = figures if figures is not None else {chart.id: svg(chart) for chart in drawn(shown)}
    body = "\n".join([*_head(shown), *_figures(made), *_tables(shown), *_runs(shown)])
    title = escape(shown.title)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
        f"<style>{CSS}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _head(shown: Series) -> Iterator[str]:
    yield f"<h1>{escape(shown.title)}</h1>"
    models = dict.fromkeys(record.model for record in shown.records.values())
    suites = dict.fromkeys(record.suite.id for record in shown.records.values())
    yield f'<p class="dim">{escape(", ".join(models))}; suite {escape(", ".join(suites))}</p>'
    for label, record in shown.records.items():
        for problem in record.all_problems:
            yield f'<p class="bad">{escape(label)}: no valid result: {escape(problem)}</p>'
    for label, reason in shown.failed.items():
        yield f'<p class="bad">{escape(label)}: not measured: {escape(reason)}</p>'


def _figures(figures: Mapping[str, str]) -> Iterator[str]:
    yield '<div class="charts">'
    for name, drawing in figures.items():
        yield f'<figure id="{escape(name)}">{drawing}</figure>'
    yield "</div>"


def _tables(shown: Series) -> Iterator[str]:
    for label, record in shown.records.items():
        if not record.ok:
            continue
        vary, same = shared([row.point for row in record.measured.rows])
        yield f"<h2>{escape(label)}</h2>"
        yield f'<p class="dim">{escape(same)}</p>'
        yield TABLE + _row("th", ["concurrency", *(title for _, title in (*vary, *COLUMNS))])
        for row in record.measured.rows:
            sizes = [f"{getattr(row.point, name):,}" for name, _ in vary]
            found = [row.metrics.get(name) for name, _ in COLUMNS]
            cells = [_cell(metric.mean, metric.std) if metric else "" for metric in found]
            yield _row("td", [str(row.point.concurrency), *sizes, *cells])
        yield END


def _runs(shown: Series) -> Iterator[str]:
    """The setup of each run."""
    yield "<h2>How it was measured</h2>"
    for label, record in shown.records.items():
        yield f"<h3>{escape(label)}</h3><dl>"
        for name, value in _facts(record):
            yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
        yield "</dl>"
        if record.samples:
            yield from _watched(record)


def _watched(record: Record) -> Iterator[str]:
    """Power, clock, temperature and memory of the nodes during the run."""
    yield TABLE + _row("th", ["node", "mean power W", "peak power W", "MHz under load", "peak °C", "least memory GiB"])
    for one in watched(record.samples):
        found = (one.power_mean_w, one.power_peak_w, one.clock_mhz, one.temperature_c, one.available_gib)
        yield _row("td", [escape(one.node), *("" if value is None else f"{value:,.0f}" for value in found)])
    yield END


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    yield "run", f"{record.id}, {record.started}, {record.seconds:.0f} s"
    yield "endpoint", record.url
    yield "suite", f"{record.suite.title} ({record.suite.runs} runs per point)"
    yield from ((name, version) for name, version in record.versions.items())
    for name, value in (record.lock or {}).items():
        if isinstance(value, (str, int, float)):
            yield name, str(value)


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"


def _cell(mean: float, std: float) -> str:
    digits = 1 if mean < 1000 else 0  # noqa: PLR2004
    spread = f' <span class="spread">±{std:,.{digits}f}</span>' if std else ""
    return f"{mean:,.{digits}f}{spread}"
