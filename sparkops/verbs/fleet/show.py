"""The placement of a fleet as text: a line for each deployment, and each node with its memory as a bar."""

import shlex
from collections.abc import Iterator, Sequence

from sparkops.core.sizes import gib
from sparkops.report.text import Document, How, Ink, away, columns

DONE = {
    "none": "not touched, serves",
    "new": "started",
    "move": "moved, serves now",
    "change": "replaced",
    "start": "started again",
}
"""What was done with a deployment, before its nodes."""

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


def differs(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """What `apply` would change, one paragraph for each deployment; then what to type."""
    yield from _changes(document, ink, how)
    if document.get("changed"):
        expect = f" --expect {document['id']}" if document["id"] else " --setup"
        yield ink.dim(f"To make it so: `{how.command} apply{_file(how)}{expect}`")
    elif "deployments" in document:
        yield ink.good("The nodes serve what the file says.")
    yield from away(document, ink)


def applied(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """What was changed, and where each deployment serves."""
    if not document.get("changed"):
        yield ink.good("The nodes serve what the file says: nothing to do.")
    for one in document.get("deployments", ()) if document.get("changed") else ():
        yield f"{ink.bold(one['name'])}: {DONE[one['action']]} on {_copies(one['copies'])}"
    for one in document.get("ends", ()):
        yield f"{ink.bold(one['name'])}: ended on {', '.join(one['nodes'])} ({one['why']})"
    found = [one for deployment in document.get("deployments", ()) for one in deployment["endpoints"]]
    yield from columns([[one["deployment"], one["url"], one["model"], one["node"]] for one in found], "  ")


def _file(how: How) -> str:
    """The file, if it was named."""
    return "".join(f" {shlex.quote(word)}" for word in how.typed[1] if not word.startswith("-"))


def _changes(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for one in document.get("deployments", ()):
        yield f"{ink.bold(one['name'])}: {_sentence(one)}"
        yield from (f"  {line}" for line in _details(one))
    for one in document.get("ends", ()):
        yield f"{ink.bold(one['name'])}: ends on {', '.join(one['nodes'])} ({one['why']})"
    for one in document.get("strays", ()):
        end = how.again(f"sparkops stop {shlex.quote(one['name'])}")
        yield f"{ink.bold(one['name'])}: is not in the file, and stays on {', '.join(one['nodes'])}; to end it: `{end}`"


def _sentence(one: Document) -> str:
    where = _copies(one["copies"])
    match one["action"]:
        case "none":
            return f"no change, on {where}"
        case "new":
            return f"new, on {where}: {one['recipe']} as {one['topology']}"
        case "move":
            return f"moves from {_copies(one['was'])} to {where}"
        case "start":
            return f"does not serve; starts again on {where}"
    return f"changes on {where}"


def _details(one: Document) -> Iterator[str]:
    if one["by_hand"]:
        yield "started by hand, not by an apply of this fleet"
    yield from one["gets"]
    yield from one["why"]
    yield from (f"clients: {text}" for text in one["clients"])
    if one["action"] in ("change", "move", "start"):
        down = "one copy after the other" if one["in_turns"] else "down until the model is loaded"
        yield down + (f", about {one['seconds']} s as last time" if one["seconds"] else "")


def _copies(copies: Sequence[Sequence[str]]) -> str:
    return ", ".join(" + ".join(copy) for copy in copies)
