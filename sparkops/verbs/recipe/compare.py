"""`recipe diff` and `recipe export`: compare and convert recipes, without nodes."""

import shlex
from dataclasses import asdict

from sparkops.core import comparison, topology
from sparkops.core.comparison import Difference
from sparkops.core.effective import Effective, command_line
from sparkops.core.formats import export as formats
from sparkops.core.recipe import Recipe, written
from sparkops.core.shapes import shape, usual
from sparkops.core.topology import Shape, Topology
from sparkops.errors import Refused
from sparkops.files import recipes
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.recipe.list import settled
from sparkops.verbs.recipe.options import DiffOptions, ExportOptions


def export(options: ExportOptions, report: Ending) -> Answer:
    """Export a recipe in that schema; with `--topology` after its settings and the rules."""
    recipe = recipes.recipe(options.name)
    made = _settled(recipe, shape(recipe, topology.parse(options.topology))) if options.topology else None
    text = formats.exported(recipe, options.schema, made)
    words = command_line(made) if made else written(recipe)
    document = {"recipe": recipe.name, "recipe_schema": options.schema, "command": shlex.join(words), "text": text}
    return Answer(document)


def diff(options: DiffOptions, report: Ending) -> Answer:
    """List the differences and check them against `--only`; known images are compared by fingerprint."""
    a, b = recipes.recipe(options.a), recipes.recipe(options.b)
    fingerprints = {recipe.flags.image: recipe.flags.fingerprint for recipe in (a, b) if recipe.flags.fingerprint}
    kinds = [topology.parse(name) for name in options.topologies or (usual(a, b),) * 2]
    pairs = [_shapes(a, b, kind) for kind in kinds]
    placed = (pairs[0][0], pairs[1][1])
    mixed = comparison.compare(_settled(a, placed[0]), _settled(b, placed[1]), fingerprints)
    alike = [d for x, y in pairs for d in comparison.compare(_settled(a, x), _settled(b, y), fingerprints)]
    found = comparison.explained(mixed, alike, kinds[0] == kinds[1])
    meant = [one for one in found if one.part in options.only or ("topology" in options.only and one.by == "topology")]
    beyond = [one for one in found if one not in meant] if options.only else []
    sides = [
        {"recipe": r.name, "topology": str(k), "nodes": s.nodes} for r, k, s in zip((a, b), kinds, placed, strict=True)
    ]
    document = {"a": sides[0], "b": sides[1], "differences": [asdict(one) for one in found], "only": list(options.only)}
    return Answer({**document, "equal": not found}, error=_refusal(beyond, options) if beyond else None)


def _shapes(a: Recipe, b: Recipe, kind: Topology) -> tuple[Shape, Shape]:
    """The placement of each; a recipe without parallel sizes takes as many nodes as the other."""
    nodes = max(shape(recipe, kind).nodes for recipe in (a, b))
    return shape(a, kind, nodes), shape(b, kind, nodes)


def _settled(recipe: Recipe, placed: Shape) -> Effective:
    return settled(recipe, placed)[0]


def _refusal(beyond: list[Difference], options: DiffOptions) -> Refused:
    names = ", ".join(f"--{one.key}" if one.part == "command" else one.key for one in beyond[:8])
    names += f" and {len(beyond) - 8} more" if len(beyond) > 8 else ""
    return Refused(
        f"{options.a} and {options.b} differ in more than {' and '.join(options.only)}: {names}",
        hint="do not compare their measurements until these settings are equal",
    )
