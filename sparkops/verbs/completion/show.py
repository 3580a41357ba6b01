"""Answer of completion."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink


def script(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """For a shell to read, so without colour."""
    yield from document.get("script", "").splitlines()
