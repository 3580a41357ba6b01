"""The placement of a fleet as text: a line for each deployment, and each node with its memory as a bar."""

from collections.abc import Iterator

from sparkops.core.sizes import gib
from sparkops.report.text import Document, How, Ink, away, columns

WIDTH = 30
"""Characters of a bar."""

MUCH = 0.10
"""The system itself holds less of a node's memory."""


def placed(document: Document, ink: Ink, how: How) -> Iterator[str]:
    rows = [_deployment(one, ink) for one in document.get("deployments", ())]
    if rows:
        yield from columns([["deployment", "topology", "memory", "nodes", " "], *rows])
        yield ""
        yield from columns([_node(node, ink) for node in document["nodes"]])
    yield from away(document, ink)


def _deployment(one: Document, ink: Ink) -> list[object]:
    copies = ", ".join(" + ".join(copy) for copy in one["copies"] or ()) or ink.bad("no place")
    copied = f"copies {gib(one['copy_mib'] * 1024)} first" if one["copy_mib"] else ""
    return [one["name"], one["topology"], f"{one['share']:.2f}", copies, "stays" if one["stays"] else copied or " "]


def _node(node: Document, ink: Ink) -> list[object]:
    fleet, others = sum(node["deployments"].values()), sum(node["others"].values())
    free = max(0.0, node["free"])
    held = max(0.0, 1 - fleet - free)
    used, kept = round(fleet * WIDTH), round(held * WIDTH)
    bar = ("#" * used + "=" * kept).ljust(WIDTH, ".")[:WIDTH]
    told = [f"{name} {share:.2f}" for name, share in {**node["deployments"], **node["others"]}.items()]
    told += [f"others {held - others:.2f}"] if held - others >= MUCH else []
    return [node["name"], gib(node["total_kib"]), f"[{bar}]", f"{free:.2f} free", ", ".join(told) or " "]
