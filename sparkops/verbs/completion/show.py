"""Answer of completion."""

from collections.abc import Iterator, Mapping
from typing import Any

from sparkops.report.text import How, Ink


def script(document: Mapping[str, Any], ink: Ink, how: How) -> Iterator[str]:
    """For a shell to read, so without colour."""
    yield from document.get("script", "").splitlines()
