"""Options of the verbs of `jobs`."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class JobOptions:
    """One job by its ID, on all nodes that have it. `tail` lines of its log; `deadline` in seconds for `wait`."""

    where: Target
    id: str
    tail: int = 200
    deadline: float = 86_400.0
