"""Reference tables of recipes, in a module of their own: listing recipes does not need them."""

import os
from pathlib import Path

from sparkops.core import reference
from sparkops.core.formats import nvidia, nvidia_results
from sparkops.core.recipe import Recipe
from sparkops.core.reference import ReferenceTable
from sparkops.files import recipes

FOLDER = "reference"


def of_recipe(recipe: Recipe, directory: Path = Path("recipes")) -> tuple[ReferenceTable, ...]:
    """Published results of a recipe: those in the directories of recipes, and NVIDIA's beside its own recipe."""
    return (*tables(recipe.name, directory), *_beside(recipe))


def _beside(recipe: Recipe) -> tuple[ReferenceTable, ...]:
    """What NVIDIA measured; nothing for a recipe that extends one of NVIDIA's, as its command line is another."""
    if not (recipe.foreign and recipe.foreign.schema == nvidia.SCHEMA and recipe.foreign.words):
        return ()
    folder = recipes.folder(recipe.source, ".")
    found = folder / nvidia_results.FILE
    if not found.is_file():
        return ()
    return nvidia_results.tables(recipes.document(found), recipe, recipes.content(folder / Path(recipe.source).name))


def tables(name: str, directory: Path = Path("recipes")) -> tuple[ReferenceTable, ...]:
    """Published results of a recipe: `reference/NAME.yml` in the directory of recipes, else among the packaged ones."""
    for place in (directory, recipes.packaged("recipes")):
        path = place / FOLDER / f"{name}.yml"
        if os.path.isfile(path):
            return reference.read(recipes.document(path, f"recipes/{FOLDER}/{path.name}"))
    return ()
