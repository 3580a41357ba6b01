"""Answers of the verbs of models."""

from collections.abc import Iterator

from sparkops.core.sizes import bytes_text
from sparkops.report.text import Document, How, Ink, columns


def fetched(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield f"{document['model']} @ {document['revision'][:12]}, {bytes_text(document['size_bytes'])}, complete on:"
    yield from columns([[node["name"], _came(node)] for node in document["nodes"]], "  ")


def verified(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for node in document["nodes"]:
        good = not node["problems"]
        text = f"{node['hashed']} of {node['files']} files verified by hash, {bytes_text(node['bytes'])}"
        revision = (node["revision"] or "-")[:12]
        yield f"{node['name']}  {revision}  {ink.good('complete') if good else ink.bad('not complete')}  {text}"
        for one in node["problems"]:
            yield f"    {ink.bad(one['problem'])}" + (f": {one['file']}" if one["file"] != "*" else "")
        yield from (f"    {ink.warn('partial download')}: {name[:12]}" for name in node["half"])


def listed(document: Document, ink: Ink, how: How) -> Iterator[str]:
    rows = [row for node in document["nodes"] for row in _rows(node, ink)]
    if rows:
        yield from columns([["node", "model", "revision", "size", ""], *rows])
    for node in document["nodes"]:
        yield ink.dim(f"{node['name']}: {bytes_text(node['free'])} free in {node['cache']}")


def pruned(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if document["kept"] and not document["models"]:
        return  # the error says who uses it
    for model in document["kept"]:
        yield f"{model}: a deployment or its rollback needs this model, so sparkops keeps it."
    if not document["models"]:
        yield "Nothing to remove without a name." if document["unneeded"] else "Nothing to remove."
    elif document["removed"]:
        yield f"Removed {bytes_text(document['size_bytes'])}."
    else:
        yield f"Nothing was removed. To free {bytes_text(document['size_bytes'])}, run the command again with --yes."
    if document["unneeded"]:
        yield "No deployment needs these models:"
        rows = [[one["node"], one["model"], bytes_text(one["size_bytes"])] for one in document["unneeded"]]
        yield from columns(rows, "  ")
        yield ink.dim(f"Remove one: `{how.on_these} model prune MODEL`")


def _rows(node: Document, ink: Ink) -> Iterator[list[str]]:
    for model in node["models"]:
        for one in model["revisions"]:
            proven = ink.good("verified") if one["verified"] else ink.dim("not verified")
            if one["missing"]:
                proven = ink.bad(f"not complete, missing: {', '.join(one['missing'])}")
            revision = f"{one['revision'][:12]} {','.join(one['refs'])}".strip()
            yield [node["name"], model["model"], revision, bytes_text(one["bytes"]), proven]
        if model["half"]:
            yield [node["name"], model["model"], "", bytes_text(model["half"]), ink.warn("partial downloads")]


def _came(node: Document) -> str:
    if node.get("copied"):
        return f"copied {bytes_text(node['copied'])}"
    return f"downloaded {bytes_text(node['fetched'])}" if node["fetched"] else "already there"


def switched(document: Document, ink: Ink, how: How) -> Iterator[str]:
    loaded = document["state"] == "loaded"
    yield f"{document['deployment']} is {ink.good('loaded') if loaded else 'asleep: the next request starts it'}"
