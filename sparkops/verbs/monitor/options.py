"""Options of the monitor verbs."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class TargetsOptions:
    """`metrics`: host and port where `watch --metrics` answers."""

    where: Target
    metrics: tuple[str, int]
