"""`recipe list` and `recipe search`: the included recipes, those of the working directory, of catalogues; no node."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sparkops import rules as rulebook
from sparkops.core import shapes
from sparkops.core import topology as topologies
from sparkops.core.catalogue import Catalogue
from sparkops.core.effective import Effective, Overrides, effective
from sparkops.core.findings import Finding
from sparkops.core.memory_estimate import estimate
from sparkops.core.recipe import Recipe
from sparkops.core.topology import Shape
from sparkops.errors import UsageError
from sparkops.files import catalogues, inventory
from sparkops.files import recipes as load
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.recipe.options import CatalogueOptions
from sparkops.verbs.recipe.page import page_rows

LIKELY_NODES = 2
"""The number of nodes to assume without an inventory."""

SEARCHED = ("description", "when", "when_not", "trade_offs", "notes", "source")


def recipes(options: CatalogueOptions, report: Ending) -> Answer:
    """List recipes with the topologies of these nodes that each fits: those of a catalogue, else all others."""
    shown = catalogues.named(options.catalogue).catalogue if options.catalogue else None
    found, warnings = _readable(_of(shown) if shown else load.recipe_names())
    nodes, trouble = known_nodes(options)
    many = len(nodes) if nodes else LIKELY_NODES
    listed = [{**summary(recipe), "fits": list(fits(recipe, many))} for recipe in found]
    every = [shown] if shown else [kept.catalogue for kept in catalogues.every()]
    unread = [] if shown else sorted(set(catalogues.names()) - {one.name for one in every})
    warnings += [f"the catalogue {name} cannot be read: `sparkops recipe remove {name}`" for name in unread]
    known = {"catalogue": options.catalogue, "catalogues": [about(one) for one in every]}
    pages, unread_pages = ([], []) if shown else page_rows()
    warnings += unread_pages
    return Answer({"recipes": listed, "pages": pages, "nodes": nodes, "warnings": [*warnings, *trouble], **known})


def search(options: CatalogueOptions, report: Ending) -> Answer:
    """List the recipes that mention every word, with the lines that do."""
    found, warnings = _readable(
        [*load.recipe_names(), *(name for kept in catalogues.every() for name in _of(kept.catalogue))]
    )
    words = [word.lower() for word in options.words]
    hits = [(recipe, _mentions(recipe, words)) for recipe in found]
    listed = [{**summary(recipe), "mentions": lines} for recipe, lines in hits if lines]
    return Answer({"recipes": listed, "words": list(options.words), "warnings": warnings})


def summary(recipe: Recipe) -> Mapping[str, Any]:
    return {
        "name": recipe.name,
        "model": recipe.model,
        "container": recipe.container,
        "description": recipe.metadata.description,
        "verified": recipe.metadata.verified,
        "only": list(recipe.only),
    }


def fits(recipe: Recipe, nodes: int) -> Iterator[dict[str, str]]:
    """Yield for each topology of so many nodes whether rules and memory allow the recipe."""
    for topology in most(recipe, nodes):
        shape = shapes.shape(recipe, topologies.parse(topology), nodes)
        settings, findings = settled(recipe, shape)
        if refused := [finding.message for finding in findings if finding.action == "refuse"]:
            yield {"topology": topology, "fit": "no", "reason": refused[0]}
        else:
            found = estimate(settings, shape)
            yield {"topology": topology, "fit": found.fit, "reason": found.reason}


def most(recipe: Recipe, nodes: int) -> tuple[str, ...]:
    """Those that use these nodes best: as many copies as there is room for."""
    if nodes < 2:
        return ("solo",)
    copies = nodes // shapes.shape(recipe, topologies.parse("cluster")).span
    return ("solo", f"{nodes}x-solo", "cluster", *([f"{copies}x-cluster"] if copies > 1 else []))


def settled(recipe: Recipe, shape: Shape) -> tuple[Effective, tuple[Finding, ...]]:
    """The settings after the rules, and what the rules found."""
    return rulebook.judge(effective(recipe, shape.kind, Overrides()), shape, frozenset())


def about(catalogue: Catalogue) -> dict[str, Any]:
    """Return a catalogue as documents show it."""
    said = {key: getattr(catalogue, key) for key in ("name", "origin", "ref", "commit", "added")}
    return {**said, "recipes": len(catalogue.recipes), "unread": len(catalogue.unread)}


def _of(catalogue: Catalogue) -> list[str]:
    """The recipes of a catalogue that can be used; `recipe add` told about the others."""
    return [f"{catalogue.name}/{name}" for name, file in catalogue.names.items() if file not in catalogue.unread]


def _readable(names: Iterable[str]) -> tuple[list[Recipe], list[str]]:
    """Return every readable recipe, and a warning for each other file."""
    found, warnings = [], []
    for name in names:
        try:
            found.append(load.recipe(name))
        except UsageError as error:
            gone = error.message.startswith("no such recipe")
            warnings.append(f"recipes/{name}: cannot be read" if gone else error.message)
    return found, warnings


def known_nodes(options: CatalogueOptions) -> tuple[list[str] | None, list[str]]:
    """Return the nodes of the named inventory, or of the usual one if it is readable, with warnings."""
    try:
        chosen = inventory.inventory(options.inventory).select(options.limit)
        return [node.name for node in chosen], []
    except UsageError as error:
        if options.inventory or options.limit:
            raise
        return None, [] if error.message.startswith("no inventory") else [error.message]


def _mentions(recipe: Recipe, words: list[str]) -> list[str]:
    about = recipe.metadata
    lines = [recipe.name, recipe.model, recipe.container]
    for name in SEARCHED:
        value = getattr(about, name)
        lines += [value] if isinstance(value, str) else value
    whole = "\n".join(lines).lower()
    if not all(word in whole for word in words):
        return []
    return [line for line in lines if any(word in line.lower() for word in words)]
