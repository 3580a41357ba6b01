"""Answers of `trust` and `init`."""

import shlex
from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink, columns


def trust(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield from _keys(document, ink)
    if document.get("known_hosts"):
        yield f"the host keys are pinned in {document['known_hosts']}"


def init(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """What was found and written; the keys were shown before the question."""
    own = "" if document.get("found") else f" -i {shlex.quote(str(document.get('inventory')))}"
    for node in document.get("nodes", ()):
        if node.get("fabric_address"):
            yield f"  {node['name']}: fabric address {node['fabric_address']}"
        for right in node.get("missing", ()):
            yield ink.warn(f"  {node['name']}: {right.get('message')}")
            yield f"    {str(right.get('hint')).replace('sparkops ', f'{how.command}{own} ')}"
    if document.get("inventory"):
        yield ink.good(f"wrote {document['inventory']}")
        missing = any(node.get("missing") for node in document.get("nodes", ()))
        yield f"Next: {'give the nodes these rights, then ' if missing else ''}{how.command}{own} preflight"


def _keys(document: Document, ink: Ink) -> Iterator[str]:
    rows = [
        [node["name"], node.get("address"), key.get("type"), key.get("fingerprint"), _state(node, ink)]
        for node in document.get("nodes", ())
        for key in node.get("keys", ())
    ]
    rows += [
        [node["name"], node.get("address"), key.get("type"), key.get("fingerprint"), ink.dim("pinned before")]
        for node in document.get("nodes", ())
        for key in node.get("pinned_before", ())
    ]
    yield from columns(rows, "  ")


def _state(node: Document, ink: Ink) -> str:
    state = str(node.get("trust", ""))
    return {"changed": ink.bad, "new": ink.warn, "pinned": ink.good}.get(state, str)(state)
