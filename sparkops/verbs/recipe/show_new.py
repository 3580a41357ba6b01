"""Answer of `recipe new`."""

import shlex
from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink, wrapped


def written(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """Each value with its reason, what is not set, the memory, and what to do next."""
    for line in document.get("values", ()):
        yield f"{ink.bold(line['key'].removeprefix('args.'))}: {_value(line['value'])}"
        yield from (ink.dim(text) for text in wrapped(line["reason"], "  "))
    for reason in document.get("left_out", ()):
        yield from wrapped(f"{ink.warn('not set')} {reason}", "  ")
    for entry in document.get("files", ()):
        for found in entry["findings"] if entry["topology"] == document["topology"] else ():
            if found["action"] == "warn":
                yield from wrapped(f"{ink.warn('warn')} {found['id']}: {found['message']}", "  ")
    for warning in document.get("warnings", ()):
        yield ink.warn(f"warning: {warning}")
    if not document.get("file"):
        return
    yield ink.good(f"wrote {document['file']}: estimated, not measured")
    if others := document.get("others"):
        yield f"Other recipes for this model, with sources: {', '.join(others)}"
    yield from _next(document, how)


def _next(document: Document, how: How) -> Iterator[str]:
    file, model = shlex.quote(document["file"]), str(document["model"])
    name = shlex.quote(f"{model}@{document['revision']}" if document.get("revision") else model)
    yield f"Next: {how.command} model fetch {name}"
    if "://" not in document["origin"] and not document.get("commit"):
        yield f"  or, if the hub does not have this model: copy its directory to one node, set model in {file} to its"
        yield f"  absolute path there, and {how.command} model fetch PATH"
    yield f"then: {how.command} plan --recipe {file} --topology {document['topology']}"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
