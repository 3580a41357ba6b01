"""Options of `watch`."""

from dataclasses import dataclass

from sparkops.core.target import Target
from sparkops.core.watch.notice import QuietHours
from sparkops.core.watch.receiver import Receiver


@dataclass(frozen=True)
class WatchOptions:
    """`every`: seconds between two frames of a node. `once`: show one picture and end.

    `metrics`: host and port at which a Prometheus may ask. `notify`: who is told of alerts, over HTTP or as the words
    of a command line, but not within `quiet_hours`.
    """

    where: Target
    every: float = 2.0
    once: bool = False
    metrics: tuple[str, int] | None = None
    notify: tuple[Receiver | tuple[str, ...], ...] = ()
    quiet_hours: QuietHours | None = None
