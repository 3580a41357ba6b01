"""Reference tables of recipes, apart from `load`: whoever lists recipes does not pay for their numbers."""

from __future__ import annotations

from pathlib import Path

from sparkops import load
from sparkops.core import reference
from sparkops.core.reference import ReferenceTable

FOLDER = "reference"


def tables(name: str, directory: Path = Path("recipes")) -> tuple[ReferenceTable, ...]:
    """What was measured with a recipe: `reference/NAME.yml` beside one's own recipes, else beside the packaged ones."""
    for place in (directory, load.packaged("recipes")):
        path = place / FOLDER / f"{name}.yml"
        if load.exists(path):
            return reference.read(load.document(path, f"recipes/{FOLDER}/{path.name}"))
    return ()
