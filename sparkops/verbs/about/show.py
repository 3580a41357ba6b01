"""Answer of `version`, as `--version` prints it."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink


def version(document: Document, ink: Ink, how: How) -> Iterator[str]:
    known = f" ({document['commit']})" if document.get("commit") else ""
    yield f"sparkops, version {document.get('version')}{known}"
