"""Options of `history`."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class HistoryOptions:
    """`tail`: the most runs to show; `node`: only those that locked it."""

    where: Target
    node: str | None = None
    tail: int = 20
