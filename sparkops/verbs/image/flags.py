"""`image flags`: the options of the image's `vllm serve`, read once and stored by fingerprint."""

import json
from dataclasses import asdict, replace
from typing import Any

from sparkops.core import mods
from sparkops.core.facts import Facts
from sparkops.core.facts.images import Image
from sparkops.core.flags import FlagTable
from sparkops.data import compact, dump
from sparkops.errors import Refused, StepFailed
from sparkops.files import flag_tables, recipes
from sparkops.node_commands.docker import read_flags
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.verbs.image.options import FlagsOptions


def flags(options: FlagsOptions, report: Report) -> Answer:
    """Read the options on a node that has the image, unless they are stored for this fingerprint."""
    reference = _reference(options.image)
    with reached(options.where, report) as session:
        node, image = _where(session, session.facts(images=[reference]), reference, options.node)
        kept = None if options.fresh else _kept(reference, image)
        if kept is None:
            document, table = _read(session, reference, node, image)
            place = flag_tables.keep(reference, image.fingerprint, document)
            return Answer(_document(reference, node, image, table, document) | {"read": True, "kept": place})
    document = flag_tables.document(kept)
    return Answer(_document(reference, node, image, kept, document) | {"read": False, "kept": None})


def flags_in(session: Session, reference: str, node: str, image: Image) -> FlagTable:
    """The options of an image that the node has, read now; raises StepFailed for an image that does not tell them."""
    return replace(_read(session, reference, node, image)[1], image=reference)


def _kept(reference: str, image: Image) -> FlagTable | None:
    kept = flag_tables.of_image(reference)
    return kept if kept and kept.fingerprint == image.fingerprint else None


def _reference(name: str) -> str:
    """Return the named image, or the image of the named recipe."""
    if recipes.names_recipe(name):
        recipe = recipes.recipe(name)
        return mods.derived(recipe.container, recipe.mods)
    return name


def _where(session: Session, facts: dict[str, Facts], reference: str, wanted: str | None) -> tuple[str, Image]:
    """Return the named node, else the first that has the image, with the image."""
    names = [wanted] if wanted else list(session.names)
    session.require([wanted] if wanted else [])
    for name in names:
        if name in facts and (image := facts[name].image(reference)) is not None:
            return name, image
    session.require(names[:1])
    raise Refused(
        f"none of these nodes has the image {reference}: {', '.join(names)}",
        hint="list the images: `sparkops image list`; get one: `sparkops image build`, `sparkops image pull`",
    )


def _read(session: Session, reference: str, node: str, image: Image) -> tuple[dict[str, Any], FlagTable]:
    """The table as a document, and read; what an image tells is not trusted."""
    session.report.note(f"reading the options of {reference} (about 15 seconds)", node)
    command = read_flags(image.id, flag_tables.program())
    text = session.one(node, command, f"read the options of vllm serve in {image.id[:19]}")
    line = next((line for line in text.splitlines() if line.startswith(dump.MARK)), None)
    if line is None:
        raise StepFailed(f"{node}: `vllm serve` did not print its options", node=node, step="read the options")
    try:
        found = json.loads(line.removeprefix(dump.MARK))
        document = compact.table(found["options"], str(found["version"]))
        return document, flag_tables.table(document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
        text = f"{node}: `vllm serve` of {reference} printed its options in a form that sparkops does not know"
        raise StepFailed(text, node=node, step="read the options") from None


def _document(reference: str, node: str, image: Image, table: FlagTable, document: dict[str, Any]) -> dict[str, Any]:
    """The table, and its differences from the table used for unknown images."""
    ours = recipes.flag_table()
    return {
        "image": reference,
        "node": node,
        "fingerprint": image.fingerprint,
        "software": asdict(image.software) if image.software else None,
        "graphs_hung": image.graphs_hung,
        "version": table.version,
        "count": len(table.flags),
        "beside": ours.version,
        "added": sorted(set(table.flags) - set(ours.flags)),
        "missing": sorted(set(ours.flags) - set(table.flags)),
        "table": document,
    }
