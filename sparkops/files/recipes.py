"""Recipes and the data that comes with sparkops, read from files; each value knows its place."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from sparkops.core import mods, recipe_file
from sparkops.core.flags import FlagTable
from sparkops.core.recipe import Recipe
from sparkops.core.schema import Located, did_you_mean, one_line
from sparkops.errors import UsageError
from sparkops.files import flag_tables
from sparkops.files.package import PACKAGE
from sparkops.files.yaml_positions import parse

LARGEST = 1_000_000
"""Bytes of the largest recipe, inventory or playbook."""

VLLM = "0.32.0"
"""The vLLM version whose flags are used for images with unknown flags."""

_YAML = (".yml", ".yaml")
_WITH_TOPOLOGY = re.compile(r"(.+?)-(solo|\d+x-solo|cluster)")


def recipe(name: str, directory: Path = Path("recipes"), flags: FlagTable | None = None) -> Recipe:
    """A recipe by name (`./recipes`, then the packaged ones) or by path, with what it extends.

    Its flags are spelled by the table that was given, else by the one that was read from its image, else by ours.
    """
    chain = _chain(name, directory)
    found = _recipe(chain, flags or flag_table())
    if flags is None and (own := flag_tables.of_image(mods.derived(found.container, found.mods))) is not None:
        return _recipe(chain, own)
    return found


def _chain(name: str, directory: Path) -> list[tuple[str, Located]]:
    """A recipe's file and those it extends, nearest first."""
    chain: list[tuple[str, Located]] = []
    seen: list[Path] = []
    wanted: str | None = name
    while wanted is not None:
        path = _find(wanted, (seen[-1].parent if seen else directory, directory), seen)
        seen.append(path)
        chain.append((path.stem, document(path, _label(path))))
        wanted = recipe_file.parent(chain[-1][1])
    return chain


def _recipe(chain: list[tuple[str, Located]], flags: FlagTable) -> Recipe:
    """The last file of a chain may be in another launcher's format; its readers are imported only then."""
    if not recipe_file.is_foreign(chain[-1][1]):
        return recipe_file.read(chain, flags)
    base: Recipe = import_module("sparkops.core.formats").read(*chain[-1], flags)
    return recipe_file.read(chain[:-1], flags, base) if chain[:-1] else base


def recipe_names(directory: Path = Path("recipes")) -> tuple[str, ...]:
    """All recipes that can be named."""
    files = (path for place in (directory, packaged("recipes")) if place.is_dir() for path in place.iterdir())
    return tuple(sorted({path.stem for path in files if path.suffix in _YAML}))


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
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise UsageError(one_line(f"{path}: no such file")) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "is not a valid path"
        raise UsageError(one_line(f"{path}: {reason.lower()}")) from None
    if len(data) > LARGEST:
        raise UsageError(f"{path}:1: is larger than {LARGEST // 1000} kB")
    return data


def _find(name: str, directories: Iterable[Path], seen: list[Path]) -> Path:
    """The file of a recipe. Files already read are skipped: a file may extend a packaged recipe of its name."""
    candidates = list(_candidates(name, directories))
    existing = [path for path in candidates if os.path.isfile(path)]
    for path in existing:
        if path.resolve() not in {other.resolve() for other in seen}:
            return path
    if existing:
        chain = " > ".join(path.stem for path in (*seen, existing[0]))
        raise UsageError(f"{_label(seen[-1])}: extends itself: {chain}")
    if _is_path(name):
        return candidates[0]
    raise UsageError(one_line(f"no such recipe: {name}{_instead(name, recipe_names(next(iter(directories))))}"))


def _instead(name: str, names: tuple[str, ...]) -> str:
    """spark-vllm-docker has a recipe for each topology; here the topology is an option."""
    split = _WITH_TOPOLOGY.fullmatch(name)
    if split and split[1] in names:
        return f" (did you mean {split[1]} with --topology {split[2]}?)"
    return did_you_mean(name, names)


def _candidates(name: str, directories: Iterable[Path]) -> Iterator[Path]:
    if _is_path(name):
        yield Path(os.path.expanduser(name))
        return
    yield from (d / f"{name}{suffix}" for d in (*directories, packaged("recipes")) for suffix in _YAML)


def _is_path(name: str) -> bool:
    return name.endswith(_YAML) or "/" in name or os.sep in name


def _label(path: Path) -> str:
    """The path to show; for packaged recipes it does not depend on where the package is installed."""
    return f"recipes/{path.name}" if path.parent == packaged("recipes") else str(path)
