"""Options of `watch`."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class WatchOptions:
    """`every`: seconds between two frames of a node. `once`: show one picture and end."""

    where: Target
    every: float = 2.0
    once: bool = False
