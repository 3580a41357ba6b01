"""Answers of play, playbook and run."""

from collections.abc import Iterator
from typing import Any

from sparkops.report.text import Document, How, Ink, away, columns

COUNTS = ("ok", "changed", "skipped", "failed", "unreachable")


def play(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The recap below the path of the log; with `--list-steps` the plays and steps."""
    if "recap" not in document:
        yield from linted(document, ink, how)
        return
    rows = document["recap"]
    if document.get("log"):
        yield f"log: {document['log']}"
    if not rows:
        return
    seen = [name for name in ("ignored",) if any(row[name] for row in rows)]
    counts = [*COUNTS, *seen, *(["undecided"] if document.get("check") else [])]
    titles = ["would change" if name == "changed" and document.get("check") else name for name in counts]
    yield ink.bold("check: nothing was changed" if document.get("check") else "steps of each node")
    yield from columns([["node", *titles], *([row["node"], *(row[name] for name in counts)] for row in rows)], "  ")


def linted(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for number, one in enumerate(document.get("plays", ()), 1):
        if "verb" in one:
            yield f"{number}. {ink.bold(one['name'])}: run {one['verb']}{_tags(one)}"
            continue
        serial = f", {one['serial']} at a time" if one.get("serial") else ""
        yield f"{number}. {ink.bold(one['name'])} on {one['hosts']}{serial}"
        yield from (f"     {step['name']}{_tags(step)}" for step in one["steps"])


def _tags(one: Document) -> str:
    return f"  [{', '.join(one['tags'])}]" if one.get("tags") else ""


def names(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield from columns([one["name"], one["title"]] for one in document.get("playbooks", ()))


def shown(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield from str(document.get("text", "")).splitlines()


def run(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """Group nodes with equal output, in the order of the inventory."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for one in document.get("results", ()):
        groups.setdefault((one["stdout"], one["stderr"], one["code"], one["ended"]), []).append(one["node"])
    for (stdout, stderr, code, ended), nodes in groups.items():
        failure = f"  {ended} {code}" if ended == "exited" else f"  {ended}"
        succeeded = ended == "exited" and code == 0
        yield ink.bold(", ".join(nodes)) + ("" if succeeded else ink.bad(failure))
        yield from (f"  {line}" for text in (stdout, stderr) for line in text.splitlines())
    yield from away(document, ink)
