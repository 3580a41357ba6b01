"""Options of `memory`."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class MemoryOptions:
    """`every`: seconds between two reads, until interrupted; None reads once."""

    where: Target
    every: float | None = None
