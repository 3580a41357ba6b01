"""Answers of the verbs of the page cache."""

from collections.abc import Iterator

from sparkops.core.sizes import kib_text
from sparkops.report.text import Document, How, Ink, away, columns


def dropped(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """Sizes before and after, one line a node; a quiet run shows only the nodes that failed."""
    rows = [_drop(node, ink) for node in document.get("nodes", ()) if not (document.get("quiet") and node["dropped"])]
    if rows:
        yield from columns([["node", "freed", "free", "page cache", "how"], *rows])


def _drop(node: Document, ink: Ink) -> list[object]:
    if "free_kib" not in node:
        return [node["name"], None, None, None, ink.bad(str(node.get("problem")))]
    method = str(node["how"]) if node["dropped"] else ink.bad(str(node["how"]))
    return [node["name"], kib_text(node["freed_kib"]), _pair(node["free_kib"]), _pair(node["cached_kib"]), method]


def scheduled(document: Document, ink: Ink, how: How) -> Iterator[str]:
    rows = [
        [node["name"], _state(node, ink), _period(node), _last(node), ink.bad(str(node.get("problem") or ""))]
        for node in document.get("nodes", ())
    ]
    if rows:
        yield from columns([["node", "schedule", "period", "last run", "problem"], *rows])
    if document.get("same") is False:
        yield ink.bad("The nodes have different schedules.")
    yield from away(document, ink)


def _state(node: Document, ink: Ink) -> str:
    changed = " (changed)" if node.get("changed") else ""
    return (ink.good("installed") if node.get("installed") else ink.dim("none")) + changed


def _period(node: Document) -> str | None:
    if not node.get("every_seconds"):
        return None
    minutes = node["every_seconds"] // 60
    period = f"{minutes} min" if minutes < 60 else f"{minutes // 60} h"
    return f"{period}, if {node['when']}" if node.get("when") else period


def _last(node: Document) -> str | None:
    last = node.get("last")
    if not last:
        return None
    ago = "" if last.get("seconds_ago") is None else f"{last['seconds_ago'] // 60} min ago: "
    word = "dropped" if last["dropped"] else "not dropped"
    return f"{ago}{word} ({last['how']}), free {_pair(last['free_kib'])}"


def permitted(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for node in document.get("nodes", ()):
        yield ink.good(f"{node['name']}: {node['line']}")
    if not document.get("nodes") and "nodes" in document:
        yield "Nothing to do: on every node, the login user is already allowed to drop the page cache."


def _pair(sizes: Document) -> str:
    return f"{kib_text(sizes['before'])} -> {kib_text(sizes['after'])}"
