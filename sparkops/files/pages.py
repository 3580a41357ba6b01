"""Pages for people, read from files: `recipes/pages` here, then the packaged ones; or by path."""

import os
from pathlib import Path

from sparkops.core import page as core_page
from sparkops.core.page import PageRecipe
from sparkops.core.schema import Located
from sparkops.files import recipes
from sparkops.files.recipe_places import PAGES, YAML, is_path


def page(name: str) -> PageRecipe | None:
    """The page of this name or path; None if that is none. Raises UsageError if its file cannot be read."""
    document = _document(name)
    return core_page.read(Path(name).stem, document) if document and core_page.is_page(document) else None


def page_names() -> tuple[str, ...]:
    """All pages that can be named."""
    return tuple(sorted({file.stem for folder in _folders() for suffix in YAML for file in folder.glob(f"*{suffix}")}))


def _document(name: str) -> Located | None:
    if is_path(name):
        return recipes.document(Path(name)) if os.path.isfile(name) else None
    files = (folder / f"{name}{suffix}" for folder in _folders() for suffix in YAML)
    found = next(filter(os.path.isfile, files), None)
    label = f"recipes/{PAGES}/{found.name}" if found else ""
    return recipes.document(found, label) if found else None


def _folders() -> tuple[Path, Path]:
    return Path("recipes", PAGES), recipes.packaged("recipes") / PAGES
