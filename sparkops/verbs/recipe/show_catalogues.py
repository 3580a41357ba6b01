"""Answers of `recipe add`, `update` and `remove`."""

from collections.abc import Iterator, Sequence

from sparkops.report.text import Document, How, Ink, columns, words, wrapped

SHOWN = 10
"""Most lines of one kind without `-v`."""


def added(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The catalogue, and the recipes that cannot be used."""
    found = document["catalogue"]
    name, unread = found["name"], document["unread"]
    yield f"added {ink.bold(name)}: {_counted(found['recipes'] - len(unread))} from {_state(found)}"
    yield from _unread(unread, ink, how)
    yield from _uncommitted(document["uncommitted"], ink)
    yield ink.dim(f"`sparkops recipe list {name}` lists its recipes; each command takes them as {name}/RECIPE.")


def updated(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """What changed in each catalogue."""
    for found in document["catalogues"]:
        if found["error"]:
            yield f"{ink.bold(found['name'])}: {ink.bad('not updated')}: {found['error']}"
            continue
        old = _short(found["before"])
        if found["before"] == found["commit"]:
            yield f"{ink.bold(found['name'])}: {_unmoved(found)}"
        else:
            yield f"{ink.bold(found['name'])}: moved from {old} to {_state(found)}"
        yield from _changes(found, ink, how)
        yield from _unread(found["cannot_be_used"], ink, how) if found["before"] != found["commit"] else ()
        yield from _uncommitted(found["uncommitted"], ink)
    if not document["catalogues"]:
        yield "there are no catalogues; `sparkops recipe add URL` adds one"


def removed(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The name, and how to have the catalogue again."""
    yield f"removed {ink.bold(document['removed'])}"
    if document["origin"]:
        yield ink.dim(f"it came from {document['origin']}")


def _changes(found: Document, ink: Ink, how: How) -> Iterator[str]:
    rows = [[ink.good("new"), name] for name in found["new"]]
    rows += [[ink.bad("removed"), name] for name in found["removed"]]
    yield from _some(list(columns(rows, "  ")), how)
    for recipe in found["changed"]:
        yield f"  {ink.warn('changed')} {recipe['recipe']}" + ("" if recipe["changes"] else ": text or metadata only")
        told = [
            f"{'--' * (one['part'] == 'command')}{one['key']} {_value(one['before'])} -> {_value(one['after'])}"
            for one in recipe["changes"]
        ]
        yield from _some([line for text in told for line in wrapped(text, "    ")], how, "    ")


def _unread(unread: Sequence[Document], ink: Ink, how: How) -> Iterator[str]:
    if unread:
        yield f"  {ink.warn(_counted(len(unread)))} cannot be used:"
        yield from _some(
            [line for one in unread for line in wrapped(f"{one['recipe']}: {one['reason']}", "    ")], how, "    "
        )


def _uncommitted(files: Sequence[str], ink: Ink) -> Iterator[str]:
    if files:
        more = f" and {len(files) - 3} more" if len(files) > 3 else ""
        yield f"  {ink.warn('not committed')}, so not in the catalogue: {', '.join(files[:3])}{more}"


def _some(lines: Sequence[str], how: How, indent: str = "  ") -> Iterator[str]:
    shown = lines if how.verbose else lines[:SHOWN]
    yield from shown
    if len(lines) > len(shown):
        yield f"{indent}and {len(lines) - len(shown)} more lines (-v shows all)"


def _state(found: Document) -> str:
    ref = f" ({found['ref']})" if found["ref"] else ""
    return f"{found['origin']} at {_short(found['commit'])}{ref}"


def _unmoved(found: Document) -> str:
    """A whole commit as `ref` never moves."""
    if found["ref"] and found["commit"].endswith(found["ref"]):
        return f"stays at {_state(found)}; to follow a branch: `sparkops recipe update {found['name']} --ref BRANCH`"
    return f"nothing new, at {_state(found)}"


def _short(commit: str) -> str:
    return commit.rpartition(":")[2][:12]


def _counted(count: int) -> str:
    return "1 recipe" if count == 1 else f"{count} recipes"


def _value(value: object) -> str:
    return "unset" if value is None else words(value)
