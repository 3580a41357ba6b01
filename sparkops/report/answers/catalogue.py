"""Answers about what sparkops knows: rules and recipes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from sparkops.report.text import How, Ink, columns, words

Document = Mapping[str, Any]


def rules(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """All as a list; one with its reason, source and examples."""
    known = document.get("rules", ())
    if len(known) != 1:
        yield from columns([[ink.bold(str(rule["id"])), rule["title"]] for rule in known])
        yield ink.dim("`sparkops rules ID` tells why, `--allow ID` switches one off for a run.")
        return
    rule = known[0]
    yield f"{ink.bold(str(rule['id']))}: {rule['title']}"
    for name in ("why", "source", "example_hit", "example_miss"):
        if rule.get(name):
            yield ""
            yield ink.dim(name.replace("_", " ").replace("hit", "that triggers it").replace("miss", "that does not"))
            yield from textwrap.wrap(_text(rule[name]), 100, initial_indent="  ", subsequent_indent="  ")


def linted(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """Each file and topology with what the rules say; nothing is said of what is in order."""
    paint = {"refuse": ink.bad, "warn": ink.warn, "fix": ink.good}
    for entry in document.get("files", ()):
        yield f"{ink.bold(entry['file'])} as {entry['topology']}{'' if entry['findings'] else ': in order'}"
        for found in entry["findings"]:
            mark = paint.get(found["action"], ink.dim)(f"{found['action']:<6}")
            yield f"  {mark} {found['id']}: {found['message']}"
            if found["hint"]:
                yield f"         {found['hint']}"


def recipes(document: Document, ink: Ink, how: How) -> Iterator[str]:
    rows = [[ink.bold(str(item["name"])), item.get("description") or item.get("model")] for item in document["recipes"]]
    yield from columns(rows)
    yield ink.dim("`sparkops recipe show NAME` tells how and why.")


def recipe(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """A recipe from what it serves to why: settings with their origins, the rules' changes, the command line."""
    found = document.get("recipe", {})
    yield f"{ink.bold(str(found.get('name')))}  {found.get('model')}"
    about = ("description", "source", "container", "revision", "verified", "only", "mounts")
    yield from columns([[name, _text(found[name])] for name in about if found.get(name)], "  ")
    for part in ("args", "env"):
        if found.get(part):
            yield ink.bold(part)
            rows = [[name, _text(item["value"]), ink.dim(item["origin"])] for name, item in found[part].items()]
            yield from columns(rows, "  ")
    for finding in document.get("rules", ()):
        yield f"{ink.bold('rule')} {finding['id']}: {finding['action']}: {finding['message']}"
    if document.get("command"):
        yield ink.bold("command")
        yield f"  {document['command']}"
    yield from _metadata(found.get("metadata") or {}, ink)


def _metadata(metadata: Document, ink: Ink) -> Iterator[str]:
    """What to know before choosing it; reference results as tables."""
    for name, value in metadata.items():
        if name in ("description", "verified"):
            continue
        if name == "results":
            for result in value:
                yield from _results(result, ink)
            continue
        yield ink.bold(name.replace("_", " "))
        for item in value if isinstance(value, list | tuple) else [value]:
            yield from textwrap.wrap(_text(item), 112, initial_indent="  ", subsequent_indent="    ")


def _results(result: Document, ink: Ink) -> Iterator[str]:
    yield f"{ink.bold('results')} {result.get('title')}"
    yield from columns([list(result.get("columns", ())), *(list(row) for row in result.get("rows", ()))], "  ")
    said = [str(result[name]) for name in ("setup", "reading", "source", "date") if result.get(name)]
    yield from textwrap.wrap("; ".join(said), 112, initial_indent="  ", subsequent_indent="  ")


def _text(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return words(value)
