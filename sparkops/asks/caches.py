"""What a person asked for of page caches, memory, and what sparkops leaves on nodes."""

from __future__ import annotations

from dataclasses import dataclass

from sparkops.asks import Where
from sparkops.core.schedule import Schedule


@dataclass(frozen=True)
class DropOptions:
    """`quiet`: nothing is printed while all goes well, so that cron mails only what is worth it."""

    where: Where
    quiet: bool = False


@dataclass(frozen=True)
class ScheduleOptions:
    where: Where
    schedule: Schedule | None
    """None takes it away."""


@dataclass(frozen=True)
class ScheduleStatusOptions:
    where: Where


@dataclass(frozen=True)
class PermitOptions:
    """`yes` writes without asking; without it the person is asked, and without a terminal nothing is written."""

    where: Where
    yes: bool = False


@dataclass(frozen=True)
class MemoryOptions:
    """`every`: look again after so many seconds, until interrupted."""

    where: Where
    every: float | None = None


@dataclass(frozen=True)
class CleanupOptions:
    where: Where
    yes: bool = False
