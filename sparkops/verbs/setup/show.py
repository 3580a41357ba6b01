"""Answers of `trust` and `init`."""

import shlex
from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink


def trust(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """Where the keys are pinned; they were shown before the question."""
    if document.get("nodes"):
        yield f"the host keys are pinned in {document['known_hosts']}"


def init(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """What was found and written; the keys were shown before the question."""
    if "deployments" in document:
        yield ink.good(f"wrote {document['file']}: {', '.join(document['deployments'])}")
        named = "" if document["file"] == "fleet.yml" else f" {shlex.quote(document['file'])}"
        yield f"Next: change it, then {how.command} diff{named}"
        return
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
