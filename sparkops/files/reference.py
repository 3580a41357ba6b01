"""Reference tables of recipes, apart from `load`: whoever lists recipes does not pay for their numbers."""

import os
from pathlib import Path

from sparkops.core import reference
from sparkops.core.reference import ReferenceTable
from sparkops.files import recipes

FOLDER = "reference"


def tables(name: str, directory: Path = Path("recipes")) -> tuple[ReferenceTable, ...]:
    """What was measured with a recipe: `reference/NAME.yml` beside one's own recipes, else beside the packaged ones."""
    for place in (directory, recipes.packaged("recipes")):
        path = place / FOLDER / f"{name}.yml"
        if os.path.isfile(path):
            return reference.read(recipes.document(path, f"recipes/{FOLDER}/{path.name}"))
    return ()
