"""Answers of the monitor verbs: files for Prometheus and Grafana, without colour."""

import json
from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink


def rules(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """YAML: each text in it is quoted as JSON, which YAML reads."""
    yield "groups:"
    for group in document.get("rules", {}).get("groups", ()):
        yield f"- name: {group['name']}"
        yield "  rules:"
        for rule in group["rules"]:
            yield f"  - alert: {rule['alert']}"
            yield from (f"    {key}: {json.dumps(rule[key])}" for key in ("expr", "for"))
            for key in (key for key in ("labels", "annotations") if key in rule):
                yield f"    {key}:"
                yield from (f"      {name}: {json.dumps(text)}" for name, text in rule[key].items())


def dashboard(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield from json.dumps(document.get("dashboard", {}), indent=2).splitlines()


def targets(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield from json.dumps(document.get("targets", []), indent=2).splitlines()
