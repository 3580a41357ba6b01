"""What `memory` is asked for."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class MemoryOptions:
    """`every`: seconds between two looks, until interrupted; None looks once."""

    where: Target
    every: float | None = None
