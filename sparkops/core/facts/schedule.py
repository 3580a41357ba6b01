"""Whether the page cache is dropped by cron on a node, and what its last runs saw."""

import re
from dataclasses import dataclass

from sparkops.core.facts.raw import parts
from sparkops.core.facts.reading import lines, number

_RUN = re.compile(
    r"(?:(?P<time>\d{1,18}) \S+ )?page cache (?P<word>dropped|kept) \((?P<how>[^)]*)\): "
    r"MemFree (\d{1,18}) -> (\d{1,18}), MemAvailable (\d{1,18}) -> (\d{1,18}), Cached (\d{1,18}) -> (\d{1,18}) KiB"
)


@dataclass(frozen=True)
class Drop:
    """One drop, or a run that found no need or no right to it. Pairs are KiB before and after."""

    time: int
    dropped: bool
    how: str
    free: tuple[int, int]
    available: tuple[int, int]
    cached: tuple[int, int]


@dataclass(frozen=True)
class Scheduled:
    """`line` is our entry in the crontab, None without one. `barred` says why the crontab could not be read.

    `script` is the SHA-256 of what cron runs, `since` when it was placed (epoch), `last` the last run that was logged.
    """

    line: str | None
    barred: str | None
    script: str | None
    since: int | None
    last: Drop | None

    @property
    def installed(self) -> bool:
        """A commented line is ours but does nothing."""
        return self.line is not None and not self.line.startswith("#") and self.script is not None


def drop(text: str) -> Drop | None:
    """The last line that a drop printed or logged."""
    found = list(_RUN.finditer(text))
    return _drop(found[-1]) if found else None


def drops(text: str) -> tuple[Drop, ...]:
    """Every run in a log, oldest first."""
    return tuple(_drop(found) for found in _RUN.finditer(text))


def schedule(text: str) -> Scheduled:
    found = {part.name: part for part in parts(text)}
    table, script, log = found["crontab"], found.get("script"), found.get("log")
    absent = table.exit != 0 and re.search(r"no crontab for|can't open", table.text)
    ours = list(lines(table.text)) if table.exit == 0 else []
    words = script.text.split() if script else []
    return Scheduled(
        line=ours[-1] if ours else None,
        barred=None if table.exit == 0 or absent else " ".join(table.text.split()) or f"exit code {table.exit}",
        script=words[0] if len(words) > 1 else None,
        since=number(words[-1]) if len(words) > 1 else None,
        last=drop(log.text) if log else None,
    )


def _drop(found: re.Match[str]) -> Drop:
    sizes = [int(found[at]) for at in range(4, 10)]
    free, available, cached = (sizes[0], sizes[1]), (sizes[2], sizes[3]), (sizes[4], sizes[5])
    return Drop(int(found["time"] or 0), found["word"] == "dropped", found["how"], free, available, cached)
