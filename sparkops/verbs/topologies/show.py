"""The answer of `bench topologies`."""

from collections.abc import Iterator, Mapping
from typing import Any

from sparkops.report.text import How, Ink
from sparkops.verbs.bench.show import compared


def topologies(document: Mapping[str, Any], ink: Ink, how: How) -> Iterator[str]:
    yield from compared(document, ink, how)
    if document.get("restored"):
        yield f"restored: {document['restored']}"
