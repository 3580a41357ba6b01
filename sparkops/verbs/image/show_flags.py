"""How the options of an image read: which release, and what it has and lacks beside the one that we know."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from sparkops.report.text import How, Ink


def flags(document: Mapping[str, Any], ink: Ink, how: How) -> Iterator[str]:
    if "image" not in document:
        return
    known = "" if document["read"] else " (read earlier)"
    yield f"{ink.bold(document['image'])}  vLLM {document['version']}, {document['count']} options{known}"
    for name, title in (("added", "has beyond"), ("missing", "lacks of")):
        if document[name]:
            yield f"{title} vLLM {document['beside']}:"
            listed = " ".join(f"--{flag}" for flag in document[name])
            yield from textwrap.wrap(listed, 112, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    yield ink.dim("From now on plan and lint use these options for recipes of this image.")
