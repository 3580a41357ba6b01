"""Answer of `lint`: as text, as GitHub workflow commands, and as SARIF."""

import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from sparkops import __version__
from sparkops.report.text import Document, How, Ink

LEVELS = {"refuse": "error", "warn": "warning", "fix": "note", "allowed": "note"}
COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def linted(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The findings in the chosen format."""
    forms = {"github": github, "sarif": sarif}
    form = forms.get(str(document.get("format")))
    yield from form(document) if form else text(document, ink)


def text(document: Document, ink: Ink) -> Iterator[str]:
    """Each file and topology with its findings, or "ok"."""
    paint = {"refuse": ink.bad, "warn": ink.warn, "fix": ink.good}
    for entry in document.get("files", ()):
        kind = f" as {entry['topology']}" if entry["topology"] else ""
        yield f"{ink.bold(entry['file'])}{kind}{'' if entry['findings'] else ': ok'}"
        for found in entry["findings"]:
            mark = paint.get(found["action"], ink.dim)(f"{found['action']:<6}")
            where = f"{found['in']}:{found['line']}: " if found["line"] else ""
            yield f"  {mark} {ink.dim(where)}{found['id']}: {found['message']}"
            if found["hint"]:
                yield f"         {found['hint']}"


def github(document: Document) -> Iterator[str]:
    """Workflow commands, which GitHub shows at the line of the file."""
    for found in _once(document):
        level = COMMANDS[LEVELS[found["action"]]]
        place = [("file", found["in"]), ("line", found["line"]), ("title", found["id"])]
        options = ",".join(f"{key}={_escaped(str(value), True)}" for key, value in place if value is not None)
        yield f"::{level} {options}::{_escaped(_told(found), False)}"


def sarif(document: Document) -> Iterator[str]:
    """One SARIF run with the rules that have findings."""
    results = _once(document)
    known = document.get("rules", {})
    ids = sorted({found["id"] for found in results})
    driver = {"name": "sparkops", "version": __version__, "rules": [_rule(name, known.get(name)) for name in ids]}
    run = {"tool": {"driver": driver}, "results": [_result(found, ids) for found in results]}
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _once(document: Document) -> list[Document]:
    """Return every finding once, with its topologies."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in document.get("files", ()):
        for one in entry["findings"]:
            key = (one["in"], one["line"], one["id"], one["message"])
            kept = found.setdefault(key, {**one, "topologies": []})
            kept["topologies"] += [entry["topology"]] if entry["topology"] else []
    return list(found.values())


def _rule(name: str, rule: Any) -> dict[str, Any]:
    if rule is None:
        return {"id": name, "shortDescription": {"text": "The file can be read"}}
    return {
        "id": name,
        "shortDescription": {"text": rule["title"]},
        "fullDescription": {"text": rule["why"]},
        "help": {"text": f"{rule['why']}\nSource: {rule['source']}"},
    }


def _result(found: Document, ids: list[str]) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(found["in"])}}
    if found["line"]:
        place["region"] = {"startLine": found["line"]}
    return {
        "ruleId": found["id"],
        "ruleIndex": ids.index(found["id"]),
        "level": LEVELS[found["action"]],
        "message": {"text": _told(found)},
        "locations": [{"physicalLocation": place}],
    }


def _told(found: Document) -> str:
    kinds = f" (as {', '.join(found['topologies'])})" if found["topologies"] else ""
    return f"{found['message']}{kinds}" + (f"\n{found['hint']}" if found["hint"] else "")


def _uri(path: str) -> str:
    """Return a path as a URI: relative, or `file://` for an absolute one."""
    plain = path.replace(os.sep, "/")
    return f"file://{quote(plain)}" if plain.startswith("/") else quote(plain)


def _escaped(text: str, option: bool) -> str:
    made = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return made.replace(":", "%3A").replace(",", "%2C") if option else made
