"""Answer of `cleanup`: what is on each node, and whether it was removed."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink, away, clip, columns

LONGEST = 90
WITHOUT_KEY = "without the SSH key you may need a password to log in"


def cleanup(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """What sparkops left on the nodes; without `removed`, as it is shown before the question."""
    if document.get("removed"):
        yield from _removed(document, ink)
        return
    if not document.get("shown"):
        yield from _listed(document, ink)
    if "removed" in document:
        yield from _kept(document, ink, how)


def _kept(document: Document, ink: Ink, how: How) -> Iterator[str]:
    nodes = document["nodes"]
    if document.get("in_use"):
        yield ink.warn(f"Nothing was removed, because this is in use: {document['in_use']['reason']}.")
        yield f"To remove all of it, {how.again(document['in_use']['next'])}; then `{how.on_these} cleanup`"
    elif any(node["entries"] for node in nodes):
        password = " --ask-become-pass" if document.get("asks_for_sudo") else ""
        yield f"Nothing was removed. To remove all of it: `{how.on_these} cleanup --yes{password}`"
    elif nodes:
        yield f"sparkops left nothing on {', '.join(node['name'] for node in nodes)}."


def _removed(document: Document, ink: Ink) -> Iterator[str]:
    """The steps have told what was removed, so only what is left or unknown is listed."""
    read = [node for node in document["nodes"] if node["name"] not in document.get("unreachable", ())]
    left = [{**node, "entries": node["left"]} for node in read if node.get("left")]
    yield from _listed({**document, "nodes": left}, ink)
    if left:
        yield ink.bad(f"Not everything could be removed on {', '.join(node['name'] for node in left)}.")
    elif counts := [f"{len(node['entries'])} on {node['name']}" for node in read if node["entries"]]:
        yield ink.good(f"Removed: {', '.join(counts)}.")
        if any(_is_key(entry) for node in document["nodes"] for entry in node["entries"]):
            yield ink.warn(WITHOUT_KEY)


def _is_key(entry: Document) -> bool:
    return bool(entry["kind"] == "authorized-key")


def _listed(document: Document, ink: Ink) -> Iterator[str]:
    for node in document.get("nodes", ()):
        if node["entries"]:
            yield ink.bold(node["name"])
            yield from columns([[entry["title"], clip(entry["what"], LONGEST)] for entry in node["entries"]], "  ")
        if any(map(_is_key, node["entries"])):
            yield ink.warn(f"  {WITHOUT_KEY}")
    yield from away(document, ink)
