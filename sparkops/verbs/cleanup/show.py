"""Answer of `cleanup`: what is on each node, and whether it was removed."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink, away, clip, columns

LONGEST = 90


def cleanup(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if not document.get("shown"):
        yield from _listed(document, ink)
    if document.get("removed"):
        left = [node["name"] for node in document.get("nodes", ()) if node.get("left")]
        yield ink.bad(f"Not everything could be removed on {', '.join(left)}.") if left else ink.good("Removed.")
    elif document.get("in_use"):
        yield ink.warn(f"Nothing was removed, because this is in use: {document['in_use']['reason']}.")
        yield f"To remove all of it, {how.again(document['in_use']['next'])}; then `{how.on_these} cleanup`"
    elif document.get("removed") is False:
        found = any(node["entries"] for node in document.get("nodes", ()))
        again = f"Nothing was removed. To remove all of it: `{how.on_these} cleanup --yes`"
        yield again if found else "sparkops left nothing on these nodes."


def _listed(document: Document, ink: Ink) -> Iterator[str]:
    for node in document.get("nodes", ()):
        if node["entries"]:
            yield ink.bold(node["name"])
            yield from columns([[entry["title"], clip(entry["what"], LONGEST)] for entry in node["entries"]], "  ")
        if any(entry["kind"] == "authorized-key" for entry in node["entries"]):
            yield ink.warn("  without the SSH key you may need a password to log in")
    yield from away(document, ink)
