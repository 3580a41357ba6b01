"""A fleet as text: its places with the memory of each node as a bar, and what an apply changes."""

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
    "restart": "restarted with another API key",
    "cleanup": "what was left of an earlier version ended; it serves",
}
"""What was done with a deployment, before its nodes."""

ENDPOINT_DONE = {
    "new": "started",
    "start": "started again",
    "routes": "routes set, without a restart",
    "keys": "keys set, without a restart",
    "replace": "replaced",
    "move": "moved",
}

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
    memory = f"{one['share']:.2f} {'measured' if one['measured'] else 'estimated'}"
    return [one["name"], one["topology"], memory, copies, "stays" if one["stays"] else copied or " "]


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
        yield ink.dim(_to_apply(document, how))
    elif "deployments" in document:
        yield ink.good("The nodes serve what the file says.")
    yield from away(document, ink)


def applied(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """What was changed, and where each deployment serves."""
    if "deployments" not in document:
        yield "This commit was applied already; the nodes were not looked at."
    elif not document["changed"]:
        yield ink.good("The nodes serve what the file says: nothing to do.")
    for one in document.get("deployments", ()) if document.get("changed") else ():
        yield f"{ink.bold(one['name'])}: {DONE[one['action']]} on {_copies(one['copies'])}"
    if document.get("caches"):
        yield f"page cache: the schedule of the file was set on {', '.join(document['caches'])}"
    for one in document.get("ends", ()):
        yield f"{ink.bold(one['name'])}: ended on {', '.join(one['nodes'])} ({one['why']})"
    if (front := document.get("endpoint")) and front["action"] != "none":
        told = ENDPOINT_DONE[front["action"] if front["why"] or front["action"] != "routes" else "keys"]
        yield f"{ink.bold('endpoint')}: {told}"
    for one in document.get("pages", ()):
        if one["action"] != "none":
            yield f"{ink.bold(one['name'])}: {ENDPOINT_DONE[one['action']]}"
    found = [one for deployment in document.get("deployments", ()) for one in deployment["endpoints"]]
    rows = [[one["deployment"], one["url"], one["model"], one["node"]] for one in found]
    if front:
        rows.append([front["name"], front["url"], ", ".join(one["name"] for one in front["models"]), front["node"]])
    rows += [[one["name"], one["url"], "page for people", one["node"]] for one in document.get("pages", ())]
    yield from columns(rows, "  ")
    for one in document.get("pages", ()):
        if one["user"] and one["action"] in ("new", "move"):
            yield f"Sign in at {one['url']} as {one['user']}; the first password: `{how.again(_key_of(one))}`"


def _key_of(page: Document) -> str:
    return f"sparkops key --deployment {shlex.quote(page['name'])}"


def _to_apply(document: Document, how: How) -> str:
    """The command that applies this and nothing else; if a playbook ran `diff`, nobody typed its options."""
    option = ["--expect", document["id"]] if document["id"] else ["--setup"]
    if how.verb != "diff":
        return f"`apply {shlex.join(option)}` makes it so"
    before, after = how.typed
    words = ["sparkops", *before, "apply", *(word for word in after if word != "--exit-code"), *option]
    if document.get("unreachable"):
        words += ["--limit", ",".join(document["nodes"])]
        return f"To make it so without {', '.join(document['unreachable'])}: `{shlex.join(words)}`"
    return f"To make it so: `{shlex.join(words)}`"


def _changes(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for one in document.get("deployments", ()):
        yield f"{ink.bold(one['name'])}: {_sentence(one)}"
        yield from (f"  {line}" for line in _details(one))
    yield from _endpoint(document, ink)
    yield from _pages(document, ink)
    if document.get("caches"):
        yield f"page cache: the schedule of the file is set on {', '.join(document['caches'])}"
    for one in document.get("ends", ()):
        yield f"{ink.bold(one['name'])}: ends on {', '.join(one['nodes'])} ({one['why']})"
    for one in document.get("strays", ()):
        end = how.again(f"sparkops stop {one['stop']}")
        yield f"{ink.bold(one['name'])}: is not in the file, and stays on {', '.join(one['nodes'])}; to end it: `{end}`"


def _endpoint(document: Document, ink: Ink) -> Iterator[str]:
    """What happens to the one address of all deployments."""
    if one := document.get("endpoint"):
        told = {
            "none": f"no change, at {one['url']}",
            "new": f"new, at {one['url']}",
            "start": f"does not serve; starts again at {one['url']}",
            "routes": f"gets other {'routes' if one['why'] else 'keys'}, without a restart, at {one['url']}",
            "replace": f"is replaced at {one['url']}; clients wait a few seconds, streams end",
            "move": f"moves from {one['was']} to {one['url']}",
        }
        yield f"{ink.bold('endpoint')}: {told[one['action']]}"
        yield from (f"  {line}" for line in (*one["gets"], *one["why"]))


def _pages(document: Document, ink: Ink) -> Iterator[str]:
    """What happens to the pages for people."""
    for one in document.get("pages", ()):
        told = {
            "none": f"no change, at {one['url']}",
            "new": f"new page at {one['url']}: {one['recipe']}",
            "start": f"does not run; starts again at {one['url']}",
            "replace": f"is replaced at {one['url']}; it is away for some seconds",
            "move": f"moves from {one['was']} to {one['url']}",
        }
        yield f"{ink.bold(one['name'])}: {told[one['action']]}"
        yield from (f"  {line}" for line in (*one["gets"], *one["why"]))
        if one["left_behind"]:
            yield f"  {ink.warn('warning:')} what people have in it stays behind, in the volume {one['left_behind']}"


def _sentence(one: Document) -> str:
    where = _copies(one["copies"])
    told = {
        "none": f"no change, on {where}",
        "new": f"new, on {where}: {one['recipe']} as {one['topology']}",
        "move": f"moves from {_copies(one['was'] or ())} to {where}",
        "change": f"changes on {where}",
        "cleanup": f"no change, on {where}; what is left of an earlier version ends",
        "restart": f"restarts with another API key on {where}",
        "start": f"does not serve; starts again on {where}",
    }
    return told[one["action"]]


def _details(one: Document) -> Iterator[str]:
    if one["by_hand"]:
        yield "started by hand, not by an apply of this fleet"
    yield from one["gets"]
    yield from one["why"]
    yield from (f"clients: {text}" for text in one["clients"])
    took = f", about {one['seconds']} s as last time" if one["seconds"] else ""
    if one["in_turns"]:
        yield f"one copy after the other{took}"
    elif one["down"]:
        yield f"down until the model is loaded{took}"
    elif one["action"] == "move":
        yield f"serves until it is loaded at its new place{took}"
    for found in one["warnings"]:
        yield f"warning: {found['node'] + ': ' if found['node'] else ''}{found['text']} [{found['id']}]"


def _copies(copies: Sequence[Sequence[str]]) -> str:
    return ", ".join(" + ".join(copy) for copy in copies)
