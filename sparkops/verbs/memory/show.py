"""Answer of `memory`: one line a node, then budgets and GPU processes."""

from collections.abc import Iterator

from sparkops.core.growth import WORRY_SECONDS
from sparkops.core.sizes import kib_text
from sparkops.report.text import Document, How, Ink, away, columns

HEADS = ["node", "total", "available", "free for CUDA", "page cache", "GPU", "rest", "growth", "time left"]


def memory(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """`rest` is memory of no process, no kernel cache and no process on the GPU."""
    nodes = document.get("nodes", ())
    if nodes:
        yield from columns([HEADS, *(_row(node, ink) for node in nodes)])
    for node in nodes:
        yield from _below(node, ink)
    yield from away(document, ink)


def _row(node: Document, ink: Ink) -> list[object]:
    if node.get("problem"):
        return [node["name"], ink.bad(str(node["problem"])), *[None] * (len(HEADS) - 2)]
    sizes = ("total_kib", "available_kib", "free_kib", "page_cache_kib")
    gpu = node.get("gpu_kib")
    rest = max(0, node["unaccounted_kib"] - (gpu or 0))
    shown = [*(kib_text(node[key]) for key in sizes), None if gpu is None else kib_text(gpu), kib_text(rest)]
    return [node["name"], *shown, _growth(node), _left(node, ink)]


def _growth(node: Document) -> str | None:
    growth = node.get("growth")
    if not growth:
        return None
    return f"used {_signed(growth['used'])}/h, cache {_signed(growth['cache'])}/h"


def _left(node: Document, ink: Ink) -> str | None:
    seconds = node.get("seconds_left")
    if seconds is None:
        return None
    told = f"{seconds / 3600:.0f} h" if seconds < 72 * 3600 else f"{seconds / 86400:.0f} days"
    return ink.bad(told) if seconds < WORRY_SECONDS else told


def _below(node: Document, ink: Ink) -> Iterator[str]:
    for budget in node.get("budgets", ()):
        share = f"{budget['utilization']:g} of total memory"
        yield f"  {node['name']}: {budget['deployment']} may take up to {kib_text(budget['kib'])} ({share})"
    for process in node.get("gpu_processes", ()):
        used = "an unknown size" if process["used_mib"] is None else kib_text(process["used_mib"] * 1024)
        owner = f" of {process['deployment']}" if process.get("deployment") else ""
        yield ink.dim(f"  {node['name']}: on the GPU: {process['name']}{owner} (pid {process['pid']}), {used}")


def _signed(kib: float) -> str:
    return f"{'-' if kib < 0 else '+'}{kib_text(abs(kib))}"
