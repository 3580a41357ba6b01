"""Answer of schema."""

import json
from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink


def schema(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """As it is in its file."""
    yield from json.dumps(document.get("json_schema", {}), indent=2).splitlines()
