"""Answers of the verbs of the lab."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink, columns


def up(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield from _nodes(document, ink)
    if document.get("ray") == "emulated":
        yield "Ray is emulated. The real Ray needs sparkops[lab] and one core for each node: `lab up --ray real`"
    yield "Use it: sparkops -i lab plan --topology cluster"


def down(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield ink.good("The lab was removed.") if document.get("stopped") else "No lab was running."


def status(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if not document.get("nodes"):
        yield "No lab is running. Start one: `sparkops lab up --nodes 2`"
        return
    yield from _nodes(document, ink)


def fault(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if "kinds" in document:
        yield from columns([[ink.bold(name), text] for name, text in document["kinds"].items()])
        return
    yield f"{document.get('node')}: the fault {document.get('kind')} is {'on' if document.get('on') else 'off'}"


def _nodes(document: Document, ink: Ink) -> Iterator[str]:
    rows = [
        [
            node["name"],
            f"{node.get('address')}:{node.get('port')}",
            node.get("connections"),
            node.get("commands"),
            ink.warn(", ".join(map(str, node.get("faults") or ()))),
        ]
        for node in document.get("nodes", ())
    ]
    yield from columns([["node", "address", "connections", "commands", "faults"], *rows])
