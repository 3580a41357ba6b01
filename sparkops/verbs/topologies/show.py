"""The answer of `bench topologies`."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink
from sparkops.verbs.bench.show import compared


def topologies(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield from compared(document, ink, how)
    if document.get("restored"):
        yield f"restored: {document['restored']}"
