"""Answers of `recipe diff`, `export`, `lock` and `verify`, and of `schema`."""

import json
from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink, columns, words


def exported(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The content of the file, to redirect it into one."""
    yield str(document.get("text", "")).rstrip("\n")


def differing(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The differences, each with its origin."""
    a, b = (f"{side['recipe']} as {side['topology']}" for side in (document["a"], document["b"]))
    if document["equal"]:
        yield f"{ink.bold(a)} and {ink.bold(b)} are equal: command line, environment, image and mounts"
        return
    yield f"{ink.bold(a)}  compared with  {ink.bold(b)}"
    rows = [_row(one, ink) for one in document["differences"]]
    yield from columns(rows, "  ")


def _row(one: Document, ink: Ink) -> list[str]:
    key = f"--{one['key']}" if one["part"] == "command" else str(one["key"])
    by = ink.dim("by topology") if one["by"] == "topology" else ink.warn("by recipe")
    origins = " / ".join(str(one[side]["origin"]) for side in ("a", "b") if one[side]["origin"])
    return [one["part"], ink.bold(key), f"{_value(one['a'])} -> {_value(one['b'])}", by, ink.dim(origins)]


def _value(side: Document) -> str:
    return "unset" if side["value"] is None else words(side["value"])


def locked(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The lock, or where it was written."""
    lock = document["lock"]
    if document["file"] is None:
        yield json.dumps(lock, indent=2)
        return
    yield f"wrote the lock file of {ink.bold(lock['deployment'])} {lock['hash'][:8]} to {document['file']}"
    head = [[ink.dim(name) for name in ("node", "role", "image", "model", "driver", "kernel")]]
    rows = [
        [name, *(str(node.get(key) or "?")[:16] for key in ("role", "image", "model", "driver", "kernel"))]
        for name, node in lock["nodes"].items()
    ]
    yield from columns([*head, *rows], "  ")


def verified(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The differences from the lock."""
    when = f" of {document['locked']}" if document.get("locked") else ""
    if document["equal"]:
        yield f"{ink.bold(document['deployment'])} equals the lock file{when}: {document['hash']['now'][:8]}"
    for change in document["changes"]:
        yield f"  {ink.bad(change['what'])}  {change['text']}"


def schema(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The schema as JSON."""
    yield from json.dumps(document.get("json_schema", {}), indent=2).splitlines()
