"""Answers of the verbs of images."""

from collections.abc import Iterator

from sparkops.core.sizes import gb
from sparkops.report.text import Document, How, Ink, away, columns, wrapped

TITLES = {"nccl": "NCCL", "flashinfer": "FlashInfer", "ray": "Ray", "torch": "PyTorch"}


def built(document: Document, ink: Ink, how: How) -> Iterator[str]:
    built = f"{_what(document)} was built on {document['node']}."
    same = f"Nothing to build: {_what(document)} is on {document['node']}, and nothing has changed since."
    yield ink.good(built if document.get("changed") else same)
    yield _next(document, how)


def pulled(document: Document, ink: Ink, how: How) -> Iterator[str]:
    state = "was pulled" if document.get("changed") else "is already"
    yield ink.good(f"{_what(document)} {state} on {document['node']}.")
    yield _next(document, how)


def distributed(document: Document, ink: Ink, how: How) -> Iterator[str]:
    copies = document.get("copies", ())
    if not copies:
        yield ink.good(f"Nothing to copy: {document['image']} is equal on all nodes.")
    yield from columns([[one["from"], "->", one["to"], one["over"], one["address"]] for one in copies], "  ")
    if copies:
        yield ink.good(f"{_what(document)} is equal on {', '.join(document['nodes'])}.")


def listing(document: Document, ink: Ink, how: How) -> Iterator[str]:
    rows = [
        [
            one["name"],
            gb(max((node["size_bytes"] for node in one["nodes"]), default=0)),
            max((node["created"] for node in one["nodes"]), default="")[:10],
            _spread(one, ink),
        ]
        for one in document.get("images", ())
    ]
    if rows:
        yield from columns([["image", "size", "built", "on"], *rows])
    else:
        yield "The nodes have no images."
    if unused := [one for one in document.get("nameless", ()) if not one["used"]]:
        told = f"Unused images without a name: {len(unused)}, {gb(sum(one['size_bytes'] for one in unused))}."
        yield ink.dim(f"{told} Remove them: `{how.on_these} image prune`")
    yield from away(document, ink)


def verified(document: Document, ink: Ink, how: How) -> Iterator[str]:
    rows = [
        [one["name"], node["node"], node["fingerprint"][:12], gb(node["size_bytes"]), _verdict(one, ink)]
        for one in document.get("images", ())
        for node in one["nodes"]
    ]
    yield from columns(rows)


def pruned(document: Document, ink: Ink, how: How) -> Iterator[str]:
    gone, kept = document.get("images", ()), document.get("kept", ())
    if kept and not gone:
        return  # the error says who uses it
    if kept:
        yield f"Kept, because a container, a deployment or its rollback needs it: {', '.join(kept)}."
    if unneeded := document.get("unneeded"):
        yield f"Built by sparkops, but used by no deployment or recipe: {', '.join(unneeded)}."
        yield ink.dim(f"Remove one: `{how.on_these} image prune NAME`")
    if not gone:
        yield "Nothing to remove: every image has a name or is in use."
    elif document.get("removed"):
        yield ink.good(f"Removed {len(gone)} images, {gb(document['size_bytes'])}.")
    else:
        yield "Nothing was removed. To remove them, run the command again with --yes."


def flags(document: Document, ink: Ink, how: How) -> Iterator[str]:
    known = "" if document["read"] else " (read earlier)"
    yield f"{ink.bold(document['image'])}  vLLM {document['version']}, {document['count']} options{known}"
    software = document.get("software") or {}
    if parts := [f"{TITLES[name]} {software[name]}" for name in TITLES if software.get(name)]:
        yield f"It contains {', '.join(parts)}."
    for name, title in (("added", "in this image, not in"), ("missing", "not in this image, but in")):
        if document[name]:
            yield f"{title} vLLM {document['beside']}:"
            listed = " ".join(f"--{flag}" for flag in document[name])
            yield from wrapped(listed, "  ", 112)
    yield ink.dim("From now on plan and lint use these options for recipes of this image.")


def exported(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield ink.good(f"{document['image']} of {document['node']} is now in {document['file']} ({gb(document['bytes'])}).")
    yield f"Restore it with `{how.on_these} image import`."


def imported(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for name in document.get("images", ()):
        yield ink.good(f"{name} is on {document['node']}.")
    if not document.get("changed"):
        yield f"{document['node']} already has this image."


def _what(document: Document) -> str:
    return f"{document['image']} ({gb(document.get('size_bytes', 0))}, {str(document.get('fingerprint', ''))[:12]})"


def _spread(one: Document, ink: Ink) -> str:
    on = ", ".join(node["node"] for node in one["nodes"])
    if one["same"]:
        return on
    return f"{on} {ink.warn(f'({_why(one)})')}"


def _why(one: Document) -> str:
    return f"missing on {', '.join(one['missing'])}" if one["missing"] else "differs between nodes"


def _verdict(one: Document, ink: Ink) -> str:
    return ink.good("same") if one["same"] else ink.bad(_why(one))


def _next(document: Document, how: How) -> str:
    """To the other nodes: of the whole inventory, if only this one is selected."""
    command = how.command if how.limit == document["node"] else how.on_these
    return f"Next: {command} image distribute {document['image']} --from {document['node']}"
