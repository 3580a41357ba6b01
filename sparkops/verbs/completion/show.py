"""Answer of completion."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink


def script(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The script without colour, because a shell reads it."""
    yield from document.get("script", "").splitlines()
