"""Recipes and the data that comes with sparkops, read from files; each value knows its place."""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from sparkops.core import mods, recipe_file
from sparkops.core.flags import FlagTable
from sparkops.core.recipe import Recipe
from sparkops.core.schema import Located, one_line
from sparkops.errors import UsageError
from sparkops.files import catalogues, flag_tables
from sparkops.files.package import PACKAGE
from sparkops.files.reading import beginning
from sparkops.files.recipe_places import YAML, Found, RecipeFolders
from sparkops.files.yaml_positions import parse

LARGEST = 1_000_000
"""Bytes of the largest recipe, inventory or playbook."""

VLLM = "0.32.0"
"""The vLLM version whose flags are used for images with unknown flags."""

_LIKE_A_RECIPE = re.compile(rb"^(?:recipe_version|container|model|variants|extends)[ ]*:", re.MULTILINE)


def recipe(name: str, directory: Path = Path("recipes"), flags: FlagTable | None = None) -> Recipe:
    """A recipe by name (`./recipes`, then the packaged ones), by path or as `CATALOGUE/NAME`, with what it extends.

    `#VARIANT+FEATURE` behind the name chooses what a model file of recipes.vllm.ai serves. Its flags are spelled by the
    table that was given, else by the one that was read from its image, else by ours.
    """
    return _read(_chain(name, _folders(directory)), flags)


def at(place: Found, flags: FlagTable | None = None) -> Recipe:
    """The recipe in a file that is known."""
    return _read(_chain(place, _folders()), flags)


def from_text(text: str, path: Path) -> Recipe:
    """The recipe that a file of this text would be, without `extends`."""
    return _read([(path.stem, parse(text.encode(), str(path)))], None)


def recipe_names(directory: Path = Path("recipes")) -> tuple[str, ...]:
    """All recipes that can be named, without those of catalogues."""
    return _folders(directory).names()


def readable() -> Iterator[tuple[str, Recipe]]:
    """Names and recipes of all files that can be read; `recipe list` names a broken one."""
    for name in recipe_names():
        with contextlib.suppress(UsageError):
            yield name, recipe(name)


def names_recipe(text: str) -> bool:
    """Whether a text that may also name an image names a recipe."""
    name = text.partition("#")[0]
    if name in recipe_names() or name.endswith(YAML):
        return True
    try:
        return catalogues.recipe(name) is not None
    except UsageError:
        return False


def folder(source: str, relative: str) -> Path:
    """A directory that a recipe names, relative to its file; in a catalogue, none outside it. Raises UsageError."""
    head, _, file = source.partition("/")
    kept = catalogues.kept(head.partition("@")[0]) if "@" in head else None
    if kept is None or kept.catalogue.at != head:
        return Path(source).parent / relative
    found = (kept.path(file).parent / relative).resolve()
    if not found.is_relative_to(kept.root.resolve()):
        raise UsageError(one_line(f"{source}: names the directory {relative}, which is not in the catalogue"))
    return found


def is_recipe(path: Path, label: str) -> bool:
    """Whether a file of YAML is meant as a recipe; also if it is not valid YAML but has the keys of one."""
    data = content(path)
    try:
        return recipe_file.is_recipe(parse(data, label))
    except UsageError:
        return _LIKE_A_RECIPE.search(data) is not None


def _folders(directory: Path = Path("recipes")) -> RecipeFolders:
    return RecipeFolders(directory, packaged("recipes"))


def _read(chain: list[tuple[str, Located]], flags: FlagTable | None) -> Recipe:
    found = _recipe(chain, flags or flag_table())
    if flags is None and (own := flag_tables.of_image(mods.derived(found.container, found.mods))) is not None:
        return _recipe(chain, own)
    return found


def _chain(wanted: str | Found, folders: RecipeFolders) -> list[tuple[str, Located]]:
    """A recipe's file and those it extends, nearest first."""
    chain: list[tuple[str, Located]] = []
    seen: list[Found] = []
    following: str | Found | None = wanted
    while following is not None:
        named, choice = (following, "") if isinstance(following, Found) else _split(following)
        found = named if isinstance(named, Found) else folders.find(named, seen)
        seen.append(found)
        chain.append((found.name + choice, document(found.path, found.label)))
        if choice and not recipe_file.has_variants(chain[-1][1]):
            raise UsageError(one_line(f"{found.label}: has no variants, so {choice} cannot stand behind its name"))
        following = recipe_file.parent(chain[-1][1])
    return chain


def _split(wanted: str) -> tuple[str, str]:
    """The name of a recipe, and what is chosen of its file from `#` on; the name of a file may also contain `#`."""
    name, mark, choice = wanted.partition("#")
    return (wanted, "") if os.path.isfile(wanted) else (name, mark + choice)


def _recipe(chain: list[tuple[str, Located]], flags: FlagTable) -> Recipe:
    """The last file of a chain may be in another launcher's format; its readers are imported only then."""
    if not recipe_file.is_foreign(chain[-1][1]):
        return recipe_file.image_checked(recipe_file.read(chain, flags))
    base: Recipe = import_module("sparkops.core.formats").read(*chain[-1], flags)
    return recipe_file.image_checked(recipe_file.read(chain[:-1], flags, base) if chain[:-1] else base)


def packaged(kind: str) -> Path:
    """The packaged `recipes`, `playbooks` or `inventories`: a wheel has them in the package, a checkout next to it."""
    inside = PACKAGE / kind
    return inside if inside.is_dir() else PACKAGE.parent / kind


@lru_cache(maxsize=4)
def flag_table(version: str = VLLM) -> FlagTable:
    text = (PACKAGE / "data" / f"vllm-{version}.json").read_text(encoding="utf-8")
    return FlagTable.read(json.loads(text))


def file_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of a playbook, a recipe or an inventory, as `scripts/schemas.py` wrote it."""
    text = (PACKAGE / "data" / "schemas" / f"{kind}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def document(path: Path, label: str | None = None) -> Located:
    """A YAML file as located values."""
    return parse(content(path), label or str(path))


def content(path: Path) -> bytes:
    """The bytes of a file; raises UsageError if it cannot be read or is too large."""
    try:
        data = beginning(path, LARGEST)
    except FileNotFoundError:
        raise UsageError(one_line(f"{path}: no such file")) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "is not a valid path"
        raise UsageError(one_line(f"{path}: {reason.lower()}")) from None
    if len(data) > LARGEST:
        raise UsageError(f"{path}:1: is larger than {LARGEST // 1000} kB")
    return data
