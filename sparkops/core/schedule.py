"""When the page cache is dropped by cron: a period that cron can keep, and an optional condition on /proc/meminfo."""

import re
from dataclasses import dataclass

from sparkops.core.sizes import PER_UNIT, kib_text
from sparkops.errors import UsageError

MINUTE, HOUR, DAY = 60, 3600, 86_400
OPERATORS = {"<": "-lt", "<=": "-le", ">": "-gt", ">=": "-ge"}
FIELDS = ("MemAvailable", "MemFree", "Cached", "Buffers", "SwapFree", "Dirty", "Shmem", "AnonPages")


def _every(n: int) -> str:
    """The field of a crontab line for every `n` minutes or hours."""
    return "*" if n == 1 else f"*/{n}"


PERIODS = {
    **{n * MINUTE: f"{_every(n)} * * * *" for n in range(1, 60) if 60 % n == 0},
    **{n * HOUR: f"0 {_every(n)} * * *" for n in range(1, 24) if 24 % n == 0},
    DAY: "0 0 * * *",
}
"""The five fields of a crontab line by the period in seconds, for every period that divides an hour or a day."""

_WHEN = re.compile(r"\s*([A-Za-z]+)\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*(?:([KMGT]?)(?:i?B)?)\s*", re.I)


@dataclass(frozen=True)
class When:
    """`field` of /proc/meminfo compared (`-lt`, as for `test`) with `kib`."""

    field: str
    operator: str
    kib: int

    def __str__(self) -> str:
        sign = next(sign for sign, word in OPERATORS.items() if word == self.operator)
        return f"{self.field} {sign} {kib_text(self.kib)}"


@dataclass(frozen=True)
class Schedule:
    every: int
    when: When | None = None


def duration(text: str) -> float:
    """Seconds for a number, or for a number with s, m or h; raises UsageError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    seconds = float(found[1]) * {"": 1, "s": 1, "m": MINUTE, "h": HOUR}[found[2]] if found else 0
    if not seconds:
        raise UsageError(f"{text!r} is not a duration; write seconds (90 or 90s), minutes (10m) or hours (1h)")
    return seconds


def times(seconds: float) -> str:
    """The five fields of a crontab line; raises UsageError for a period that cron cannot keep evenly."""
    if seconds in PERIODS:
        return PERIODS[int(seconds)]
    if seconds < MINUTE or seconds % MINUTE:
        raise UsageError(f"cron counts in whole minutes, so {_spoken(seconds)} is not possible", hint="try --every 30m")
    near = min(PERIODS, key=lambda other: abs(other - seconds))
    hint = f"use the nearest possible period: --every {_spoken(near)}"
    raise UsageError(f"cron cannot run a command every {_spoken(seconds)} at even intervals", hint=hint)


def every(line: str) -> int | None:
    """The period in seconds of our crontab line; None if somebody changed it to another period."""
    first = " ".join(line.split()[:5])
    return next((seconds for seconds, fields in PERIODS.items() if fields == first), None)


def when(text: str) -> When:
    """`MemFree < 10GiB` as a value."""
    found = _WHEN.fullmatch(text)
    if found is None:
        raise UsageError(f"--when {text!r} is not a condition", hint='try --when "MemFree < 10GiB"')
    field = next((name for name in FIELDS if name.lower() == found[1].lower()), None)
    if field is None:
        raise UsageError(f"--when cannot test {found[1]}", hint=f"use one of {', '.join(FIELDS)}")
    unit = (found[4] or "").lower()
    if not unit:
        raise UsageError(f"--when {text!r}: the size needs a unit", hint='try --when "MemFree < 10GiB"')
    return When(field, OPERATORS[found[2]], round(float(found[3]) * PER_UNIT[unit]))


def _spoken(seconds: float) -> str:
    for unit, letter in ((HOUR, "h"), (MINUTE, "m")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds // unit:.0f}{letter}"
    return f"{seconds:g}s"
