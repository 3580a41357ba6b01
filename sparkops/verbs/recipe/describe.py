"""`recipe show`: one recipe under a topology, its memory estimate, and published results."""

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sparkops.core import memory_estimate, reference, shapes, topology
from sparkops.core.effective import Effective, Overrides, command_line, effective
from sparkops.core.memory_estimate import Estimate
from sparkops.core.recipe import Recipe, Settings, written
from sparkops.files import catalogues, pages, recipes
from sparkops.files import reference as load_reference
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.recipe.list import about, settled, summary
from sparkops.verbs.recipe.options import ShowOptions
from sparkops.verbs.recipe.page import page_document


def show(options: ShowOptions, report: Ending) -> Answer:
    """Show a recipe under the named topology, else under the first that it allows; or a page, which has none."""
    if page := pages.page(options.name):
        return Answer({"page": page_document(page, options.name)})
    recipe = recipes.recipe(options.name)
    shape = shapes.shape(recipe, topology.parse(options.topology or shapes.usual(recipe)))
    settings, findings = settled(recipe, shape)
    inline = [reference.table(entry, "metadata.results") for entry in recipe.metadata.results]
    tables = [*load_reference.of_recipe(recipe), *inline]
    return Answer(
        {
            "recipe": _recipe(recipe, settings),
            "catalogue": _catalogue(recipe),
            "author": _author(recipe),
            "topology": shape.topology,
            "nodes": shape.nodes,
            "rules": [asdict(finding) for finding in findings],
            "command": shlex.join(command_line(settings)),
            "written": shlex.join(written(recipe)),
            "memory": rounded(memory_estimate.estimate(settings, shape), memory_estimate.marlin_note(settings)),
            "reference": [reference.document(table) for table in tables],
        }
    )


def _catalogue(recipe: Recipe) -> Mapping[str, Any] | None:
    """Return the catalogue that has the recipe, with its origin and commit."""
    kept = catalogues.kept(recipe.catalogue) if recipe.catalogue else None
    return about(kept.catalogue) if kept else None


def _author(recipe: Recipe) -> Mapping[str, Any]:
    """Return how the recipe is meant to run: the topologies, and as a cluster the nodes, sizes and executor."""
    kinds, wanted = shapes.kinds(recipe), topology.parse("cluster")
    sizes, meant = effective(recipe, "cluster", Overrides()).sizes, shapes.shape(recipe, wanted)
    over = {"nodes": meant.nodes, "sizes": dict(sizes), "executor": meant.executor} if "cluster" in kinds else {}
    return {"topologies": list(kinds), **over}


def rounded(found: Estimate, note: str) -> Mapping[str, Any]:
    """Return the estimate for a GB10 of 128 GB, in GiB; one decimal, because it is no more precise."""
    values = {**vars(found), "left": found.left, "note": note}
    return {key: round(value, 1) if isinstance(value, float) else value for key, value in values.items()}


def _recipe(recipe: Recipe, settings: Effective) -> Mapping[str, Any]:
    about = {name: value for name, value in asdict(recipe.metadata).items() if value and name != "results"}
    return {
        **summary(recipe),
        "source": recipe.source,
        "revision": recipe.revision,
        "nodes": asdict(recipe.nodes),
        "args": _settings(settings.args),
        "env": _settings(settings.env),
        "mounts": list(settings.mounts),
        "benchmark": asdict(recipe.benchmark) if recipe.benchmark else None,
        "metadata": about,
    }


def _settings(settings: Settings) -> Mapping[str, Any]:
    return {name: {"value": setting.value, "origin": setting.origin} for name, setting in settings.items()}
