"""Draw charts as SVG with matplotlib; equal data gives equal bytes."""

import io
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter

from sparkops.core.bench.charts import Chart

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The palette of Okabe and Ito, distinguishable with colour blindness."""


def svg(chart: Chart) -> str:
    """One chart as an SVG element, text kept as text."""
    with mpl.rc_context({"svg.hashsalt": "sparkops", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        _draw(axes, chart)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Title": chart.title})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _draw(axes: Axes, chart: Chart) -> None:
    for number, line in enumerate(chart.lines):
        colour = COLOURS[(number // 2 if chart.id == "peak" else number) % len(COLOURS)]
        dashes: Literal["-", "--"] = "--" if line.dashed else "-"
        axes.errorbar(
            line.x, line.y, yerr=line.spread or None, capsize=2, markersize=4, marker="o" if chart.doubling else "",
            color=colour, label=line.label, linestyle=dashes,
        )  # fmt: skip
    for crossing in chart.crossings:
        axes.axvspan(crossing.before, crossing.after, color="#999999", alpha=0.15)
        axes.annotate(
            f"{crossing.leader} overtakes", ((crossing.before * crossing.after) ** 0.5, 0.02),
            xycoords=("data", "axes fraction"), rotation=90, fontsize=8, ha="center", va="bottom", color="#555555",
        )  # fmt: skip
    axes.set(title=chart.title, xlabel=chart.x_title, ylabel=chart.y_title)
    axes.set_ylim(bottom=0)
    ticks = sorted({x for line in chart.lines for x in line.x})
    if chart.doubling and ticks and ticks[0] > 0:
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks)
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    if chart.lines:
        axes.legend(frameon=False, fontsize="small")
