"""What a person asked for of page caches, memory, and what sparkops leaves on nodes."""

from dataclasses import dataclass

from sparkops.core.schedule import Schedule
from sparkops.core.target import Target


@dataclass(frozen=True)
class DropOptions:
    """`quiet`: nothing is printed while all goes well, so that cron mails only what is worth it."""

    where: Target
    quiet: bool = False


@dataclass(frozen=True)
class ScheduleOptions:
    where: Target
    schedule: Schedule | None
    """None takes it away."""
