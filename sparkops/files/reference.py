"""Reference tables of recipes, in a module of their own: listing recipes does not need them."""

import os
from pathlib import Path

from sparkops.core import reference
from sparkops.core.reference import ReferenceTable
from sparkops.files import recipes

FOLDER = "reference"


def tables(name: str, directory: Path = Path("recipes")) -> tuple[ReferenceTable, ...]:
    """Published results of a recipe: `reference/NAME.yml` in the directory of recipes, else among the packaged ones."""
    for place in (directory, recipes.packaged("recipes")):
        path = place / FOLDER / f"{name}.yml"
        if os.path.isfile(path):
            return reference.read(recipes.document(path, f"recipes/{FOLDER}/{path.name}"))
    return ()
