"""Options of `cache drop`, `cache schedule` and `cache unschedule`."""

from dataclasses import dataclass

from sparkops.core.schedule import Schedule
from sparkops.core.target import Target


@dataclass(frozen=True)
class DropOptions:
    """`quiet` prints nothing on success, so that cron mails only failures."""

    where: Target
    quiet: bool = False


@dataclass(frozen=True)
class ScheduleOptions:
    where: Target
    schedule: Schedule | None
    """None removes the schedule."""
