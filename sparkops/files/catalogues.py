"""Catalogues of other people's recipes, as this machine keeps them; `catalogue_store` writes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkops.core.catalogue import Catalogue
from sparkops.core.schema import did_you_mean, one_line
from sparkops.errors import UsageError
from sparkops.files import state

KIND = "catalogues"
ABOUT = "catalogue.json"
SCHEMA = 1


@dataclass(frozen=True)
class Kept:
    """A catalogue and the directory with its files."""

    catalogue: Catalogue
    root: Path

    def path(self, file: str) -> Path:
        return self.root / file

    def label(self, file: str) -> str:
        """How messages and origins name a file: with the commit, and so that every command can read it again."""
        return f"{self.catalogue.at}/{file}"


def folder(name: str = "") -> Path:
    """The directory of a catalogue, or of all."""
    return state.folder(KIND) / name if name else state.folder(KIND)


def tree(catalogue: Catalogue) -> str:
    """The directory of a catalogue's files, inside its own."""
    return catalogue.commit.rpartition(":")[2]


def names() -> list[str]:
    """All catalogues, also those that cannot be read."""
    found = folder()
    return sorted(path.name for path in found.iterdir() if path.name[0] != ".") if found.is_dir() else []


def kept(name: str) -> Kept | None:
    """A catalogue by its name; None if there is none, or if it cannot be read."""
    if name.startswith(".") or "/" in name or name not in names():
        return None
    try:
        found = _read(state.read(f"{KIND}/{name}", ABOUT.removesuffix(".json")), name)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return Kept(found, folder(name) / tree(found))


def every() -> Iterator[Kept]:
    """All catalogues that can be read."""
    yield from (found for name in names() if (found := kept(name)) is not None)


def named(name: str) -> Kept:
    """A catalogue by its name; raises UsageError."""
    if (found := kept(name)) is not None:
        return found
    known = names()
    if name in known:
        hint = f"remove it, then add it again: `sparkops recipe remove {name}`"
        raise UsageError(f"the catalogue {name} cannot be read", hint=hint)
    add = "add one: `sparkops recipe add URL`" if not known else "list the catalogues: `sparkops recipe list`"
    raise UsageError(one_line(f"no such catalogue: {name}{did_you_mean(name, known)}"), hint=add)


def recipe(text: str) -> tuple[Kept, str] | None:
    """The catalogue and the name in it that `CATALOGUE/RECIPE` means; None if no catalogue has this name.

    `CATALOGUE@COMMIT/RECIPE`, as origins show it, means the same, if the catalogue has this commit. Raises UsageError.
    """
    head, _, rest = text.partition("/")
    name, at, commit = head.partition("@")
    if (found := kept(name)) is None:
        return None
    if at and not (commit and found.catalogue.short.startswith(commit[:12])):
        hint = f"to move it: `sparkops recipe update {name}` (with --ref COMMIT if you know all digits)"
        raise UsageError(one_line(f"the catalogue {name} is at {found.catalogue.short}, not at {commit}"), hint=hint)
    if not rest:
        hint = f"list its recipes: `sparkops recipe list {name}`"
        raise UsageError(f"{name} is a catalogue, not a recipe: write {name}/RECIPE", hint=hint)
    return found, found.catalogue.one(rest)


def recipe_names() -> list[str]:
    """The recipes of all catalogues, as commands take them."""
    return [f"{found.catalogue.name}/{name}" for found in every() for name in found.catalogue.names]


def document(catalogue: Catalogue) -> dict[str, Any]:
    """What is kept about a catalogue beside its files."""
    about = {key: value for key, value in vars(catalogue).items() if key != "names"}
    return {"schema": SCHEMA, **about, "recipes": list(catalogue.recipes), "unread": dict(catalogue.unread)}


def _read(about: Any, name: str) -> Catalogue:
    """A catalogue from its document; raises KeyError, TypeError, ValueError or AttributeError."""
    if about["schema"] != SCHEMA or not isinstance(about["unread"], Mapping):
        raise ValueError(name)
    recipes, texts = about["recipes"], [about["origin"], about["commit"], about["added"]]
    if not all(isinstance(text, str) for text in (*recipes, *texts)):
        raise TypeError(name)
    unread = {str(path): str(reason) for path, reason in about["unread"].items()}
    return Catalogue(name, texts[0], texts[1], tuple(recipes), unread, about.get("ref"), texts[2])
