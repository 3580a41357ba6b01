"""What `cleanup` is asked for."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class CleanupOptions:
    where: Target
    yes: bool = False
