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
