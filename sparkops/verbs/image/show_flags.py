"""How the options of an image read: which release, and what it has and lacks beside the one that we know."""

import textwrap
from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink


def flags(document: Document, ink: Ink, how: How) -> Iterator[str]:
    known = "" if document["read"] else " (read earlier)"
    yield f"{ink.bold(document['image'])}  vLLM {document['version']}, {document['count']} options{known}"
    for name, title in (("added", "has beyond"), ("missing", "lacks of")):
        if document[name]:
            yield f"{title} vLLM {document['beside']}:"
            listed = " ".join(f"--{flag}" for flag in document[name])
            yield from textwrap.wrap(listed, 112, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    yield ink.dim("From now on plan and lint use these options for recipes of this image.")
