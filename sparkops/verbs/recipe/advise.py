"""`advise`: recommend a topology without asking a node."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sparkops.core import reference, shapes
from sparkops.core import topology as topologies
from sparkops.core.advice import METRIC, Evidence, Goal, advise, ceiling, measured_here, published
from sparkops.core.bench.record import Record
from sparkops.core.memory_estimate import bytes_per_token
from sparkops.core.recipe import Recipe
from sparkops.core.reference import ReferenceTable
from sparkops.errors import UsageError
from sparkops.files import bench_records, recipes
from sparkops.files import reference as load_reference
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.recipe.list import LIKELY_NODES, fits, known_nodes, most, settled
from sparkops.verbs.recipe.options import AdviseOptions

MEASURED_WITH = "openai-gpt-oss-120b"
"""The recipe of the one public comparison of topologies, over two nodes; also the best evidence for other models."""


def recommend(options: AdviseOptions, report: Ending) -> Answer:
    recipe = recipes.recipe(options.recipe or MEASURED_WITH)
    nodes, warnings = known_nodes(options.nodes)
    found = list(fits(recipe, min(len(nodes), LIKELY_NODES) if nodes else LIKELY_NODES))
    possible = frozenset(one["topology"] for one in found if one["fit"] != "no")
    tables = load_reference.of_recipe(recipe)
    evidence, records = _evidence(recipe, tables), list(_records(warnings))
    own = measured_here(records, recipe.model)
    given = advise(cast(Goal, options.goal), options.concurrency, (*own, *evidence), possible)
    return Answer(
        {
            "goal": given.goal,
            "concurrency": given.concurrency,
            "recipe": recipe.name,
            "topology": given.topology,
            "agreed": given.agreed,
            "opinions": [
                vars(opinion) | {"at": list(opinion.at), "values": {name: round(x, 1) for name, x in opinion.values}}
                for opinion in given.opinions
            ],
            "published": list(_published(tables, cast(Goal, options.goal))) if _alone(tables) else [],
            "not_possible": [one for one in found if one["fit"] == "no"],
            "nodes": nodes,
            "most": list(most(recipe, len(nodes))) if nodes else [],
            "warnings": warnings,
            "measured_with": sorted({one.model for one in evidence} - {recipe.model}),
            "ceiling": list(_ceilings(recipe, possible)),
        }
    )


def _alone(tables: Sequence[ReferenceTable]) -> bool:
    """Whether published results are of one topology, so that they recommend none."""
    return len({one.topology for one in reference.points(tables)}) == 1


def _published(tables: Sequence[ReferenceTable], goal: Goal) -> Iterator[Mapping[str, Any]]:
    """Yield what others measured with this recipe for the goal."""
    for one in reference.points(tables):
        if one.metric == METRIC[goal]:
            yield {name: value for name, value in vars(one).items() if name != "metric"}


def _evidence(recipe: Recipe, tables: Sequence[ReferenceTable]) -> tuple[Evidence, ...]:
    """Return the recipe's tables if they compare topologies, else those of the public comparison."""
    own = published(reference.points(tables), recipe.model)
    if len({one.topology for one in own}) > 1 or recipe.name == MEASURED_WITH:
        return own
    known = recipes.recipe(MEASURED_WITH)
    return published(reference.points(load_reference.tables(known.name)), known.model)


def _records(warnings: list[str]) -> Iterator[Record]:
    """Yield every readable stored benchmark; others become warnings."""
    for name in bench_records.names():
        try:
            yield bench_records.record(name)
        except UsageError as error:
            warnings.append(error.message)


def _ceilings(recipe: Recipe, possible: frozenset[str]) -> Iterator[Mapping[str, Any]]:
    """Yield by topology the tokens per second that memory bandwidth allows, after the rules."""
    for topology in sorted(possible):
        shape = shapes.shape(recipe, topologies.parse(topology), LIKELY_NODES)
        settings, _ = settled(recipe, shape)
        most, read = ceiling(settings, shape), bytes_per_token(settings)
        if most is not None and read is not None:
            yield {"topology": topology, "nodes": shape.span, "gb_per_token": round(read, 2), "tokens_s": round(most)}
