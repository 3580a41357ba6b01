"""What `memory` is asked for."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class MemoryOptions:
    """`every`: look again after so many seconds, until interrupted."""

    where: Target
    every: float | None = None
