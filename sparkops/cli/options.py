"""Options of the verbs that need no node; apart from `asks`, since they start in a tenth of a second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """For `rules`, `recipe` and `lint`: a rule or a recipe by name, all of them without one; or files."""

    name: str = ""
    topology: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Linting:
    """For `lint`: the files, as which topology, told in which form, by which flag table."""

    files: tuple[str, ...]
    topology: str | None = None
    format: str = "text"
    flags: str | None = None


@dataclass(frozen=True)
class Exporting:
    """For `recipe export`: which, into which schema, as it stands or as a topology serves it."""

    name: str
    schema: str
    topology: str | None = None


@dataclass(frozen=True)
class Comparing:
    """For `recipe diff`: two recipes under a topology each, and where alone they may differ."""

    a: str
    b: str
    topologies: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shelf:
    """For `recipe list` and `search`: words to look for, or whose nodes the recipes should fit."""

    inventory: str | None = None
    limit: str | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Advice:
    """For `advise`: what matters, how many requests at once, with which recipe, and on whose nodes."""

    goal: str
    concurrency: int
    recipe: str | None = None
    shelf: Shelf = Shelf()


@dataclass(frozen=True)
class Lab:
    """For the verbs of the lab: each takes what it needs."""

    nodes: int = 2
    backend: str = "embedded"
    ray: str = "auto"
    speed: float | None = None
    reset: bool = False
    node: str = ""
    kind: str = ""
    listing: bool = False
    off: bool = False
    after: int = 0
