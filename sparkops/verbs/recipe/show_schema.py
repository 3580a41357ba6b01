"""Answer of schema."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sparkops.report.text import How, Ink


def schema(document: Mapping[str, Any], ink: Ink, how: How) -> Iterator[str]:
    """As it is in its file."""
    yield from json.dumps(document.get("json_schema", {}), indent=2).splitlines()
