"""Asks of `jobs`: detached work on the nodes."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class JobOptions:
    """One job by its ID, on whichever of the nodes it is. `tail` is for its log, `deadline` (seconds) for a wait."""

    where: Target
    id: str
    tail: int = 200
    deadline: float = 86_400.0
