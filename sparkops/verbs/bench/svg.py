"""Draw charts as SVG with matplotlib; equal data gives equal bytes."""

import io

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter

from sparkops.core.bench.charts import Chart

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The palette of Okabe and Ito, distinguishable with colour blindness."""

SHAPES, DASHES = "os^Dv<>", ("-", "--", "-.", ":")
"""Lines also differ in points and dashes, so that two equal lines are both seen."""

SIZE = (5.2, 3.6)
"""Inches; small, so that the letters are still readable on a telephone."""


def svg(chart: Chart) -> str:
    """One chart as an SVG element, text kept as text."""
    with mpl.rc_context({"svg.hashsalt": "sparkops", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        _draw(axes, chart)
        # Below the axes, a label never lies on a line.
        figure.legend(loc="outside lower center", ncols=1, frameon=False, fontsize="small")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Title": chart.title})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _draw(axes: Axes, chart: Chart) -> None:
    for number, line in enumerate(chart.lines):
        axes.errorbar(
            line.x, line.y, yerr=line.spread or None, capsize=2, markersize=4, label=line.label,
            marker=SHAPES[number % len(SHAPES)] if chart.doubling else "", color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
        )  # fmt: skip
    for crossing in chart.crossings:
        where = f"between {crossing.before} and {crossing.after} requests"
        told = f"{crossing.leader} overtakes {crossing.trailing} {where}"
        axes.axvspan(crossing.before, crossing.after, color="#999999", alpha=0.15, label=told)
    axes.set_title(chart.title, fontsize="medium")
    axes.set(xlabel=chart.x_title, ylabel=chart.y_title)
    axes.set_ylim(bottom=0)
    if chart.doubling:
        axes.set_xscale("log", base=2)
        axes.set_xticks(chart.ticks)
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
