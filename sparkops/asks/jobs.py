"""Asks of `jobs`: detached work on the nodes."""

from __future__ import annotations

from dataclasses import dataclass

from sparkops.asks import Where


@dataclass(frozen=True)
class JobsOptions:
    where: Where


@dataclass(frozen=True)
class JobOptions:
    """One job by its ID, on whichever of the nodes it is. `tail` is for its log, `deadline` (seconds) for a wait."""

    where: Where
    id: str
    tail: int = 200
    deadline: float = 86_400.0
