"""How a node's memory changes over hours, read from what the scheduled drops logged."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression

from sparkops.core.facts.schedule import Drop
from sparkops.core.sizes import GIB_KIB

JUMP_KIB = 4 * GIB_KIB
"""A change of this size between two samples is an engine that started or ended, not growth."""

TROUBLE_KIB = 4 * GIB_KIB
"""Below this a GB10 does not kill a process but freezes: the driver livelocks before the kernel's OOM killer."""

WORRY_SECONDS = 24 * 3600
"""A node that runs short of memory within this time deserves a warning."""

SAMPLES = 500
"""Lines of a node's log that growth is read from: ten days of a run every half hour."""

SHORTEST_HOURS = 1.0
FEWEST = 3
HOUR = 3600.0


@dataclass(frozen=True)
class Growth:
    """KiB an hour, over `hours`: memory that nothing can reclaim, and page cache between drops."""

    used: float
    cache: float
    hours: float
    samples: int

    def seconds_left(self, available_kib: int) -> float | None:
        """Seconds until `TROUBLE_KIB` is reached; None if memory use grows by less than 1 MiB an hour."""
        if self.used < 1024:
            return None
        return max(0.0, (available_kib - TROUBLE_KIB) / self.used * HOUR)


def growth(log: Sequence[Drop], booted: float = 0) -> Growth | None:
    """The growth since the last reboot or jump, by least squares over MemAvailable; None if the log is too short."""
    steady: list[Drop] = []
    for sample in reversed(log):
        if sample.time < booted or (steady and _jumps(sample, steady[-1])):
            break
        steady.append(sample)
    steady.reverse()
    hours = (steady[-1].time - steady[0].time) / HOUR if steady else 0.0
    if len(steady) < FEWEST or hours < SHORTEST_HOURS:
        return None
    between = zip(steady, steady[1:], strict=False)
    cached = sum(max(0, later.cached[0] - before.cached[1]) for before, later in between)
    times = [(sample.time - steady[0].time) / HOUR for sample in steady]
    slope, _ = linear_regression(times, [sample.available[1] for sample in steady])
    return Growth(-slope, cached / hours, hours, len(steady))


def _jumps(before: Drop, after: Drop) -> bool:
    return after.time <= before.time or abs(after.available[0] - before.available[1]) > JUMP_KIB
