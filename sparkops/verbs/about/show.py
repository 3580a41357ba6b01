"""Answers of `help` and `version`, as `--help` and `--version` print them."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink


def show_help(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield from str(document.get("text", "")).splitlines()


def version(document: Document, ink: Ink, how: How) -> Iterator[str]:
    known = f" ({document['commit']})" if document.get("commit") else ""
    yield f"sparkops, version {document.get('version')}{known}"
