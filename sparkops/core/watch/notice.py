"""An alert that is told to somebody elsewhere, and when not to tell it."""

from dataclasses import dataclass
from datetime import time

from sparkops.core.printable import printable_line
from sparkops.core.watch.alerts import Alert

LONGEST = 1000


def span(seconds: float) -> str:
    """A time that something took, as people say it: `45 s`, `12 min`, `3.5 h`."""
    if seconds < 60:
        return f"{max(1, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True)
class Notice:
    """An alert that began, or is `over` after so many `seconds`."""

    alert: Alert
    over: bool = False
    seconds: float = 0.0

    @property
    def where(self) -> str:
        return self.alert.node or self.alert.deployment or "fleet"

    @property
    def title(self) -> str:
        return f"{self.where}: {self.alert.id}{' is over' if self.over else ''}"

    @property
    def text(self) -> str:
        """What is wrong and what to do; texts of nodes are in it, so it is one line without anything unprintable."""
        return self.end if self.over else printable_line(f"{self.alert.text}; {self.alert.next}", LONGEST)

    @property
    def end(self) -> str:
        """Such as `over after 12 min`."""
        return f"over after {span(self.seconds)}"


def document(notice: Notice, at: str) -> dict[str, object]:
    """What a webhook and a program get."""
    alert = notice.alert
    return {
        "alert": alert.id,
        "state": "over" if notice.over else "began",
        "at": at,
        "node": alert.node or None,
        "deployment": alert.deployment or None,
        "grave": alert.grave,
        "text": notice.end if notice.over else printable_line(alert.text, LONGEST),
        "next": None if notice.over else printable_line(alert.next, LONGEST),
    }


@dataclass(frozen=True)
class QuietHours:
    """From one time of the day to another, of the operator's machine; over midnight if the end is before the start."""

    start: time
    end: time

    def hold(self, now: time) -> bool:
        if self.start <= self.end:
            return self.start <= now < self.end
        return now >= self.start or now < self.end
