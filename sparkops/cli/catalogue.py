"""What runs for `recipe list`: the catalogue, and recipes of the working directory; no node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkops import load
from sparkops.answer import Answer
from sparkops.cli.wishes import Known
from sparkops.core.recipe import Recipe
from sparkops.report.ending import Ending


def recipes(options: Known, report: Ending) -> Answer:
    """What can be named, each in a line."""
    found = [load.recipe(name) for name in load.recipe_names()]
    return Answer({"recipes": [summary(recipe) for recipe in found]})


def summary(recipe: Recipe) -> Mapping[str, Any]:
    return {
        "name": recipe.name,
        "model": recipe.model,
        "container": recipe.container,
        "description": recipe.metadata.description,
        "verified": recipe.metadata.verified,
        "only": list(recipe.only),
    }
