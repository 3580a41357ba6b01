"""Commands for the page cache: drop it, schedule drops with cron, permit them in sudoers."""

from sparkops.core.plan import Command, Script, Word
from sparkops.core.schedule import Schedule, times

LONGEST_DROP = 600.0
"""Seconds; recently downloaded files are written to disk first."""


def drop(cache_dir: str | None) -> Command:
    """`reads`: it needs no lock, since no plan depends on it."""
    return Command((Script("cache"), "drop", *([cache_dir] if cache_dir else [])), reads=True, timeout=LONGEST_DROP)


def schedule(wanted: Schedule, cache_dir: str | None) -> Command:
    when = wanted.when
    condition = (when.field, when.operator, str(when.kib)) if when else ("", "", "")
    words: tuple[Word, ...] = (
        Script("schedule"),
        "set",
        times(wanted.every),
        *condition,
        cache_dir or "",
        Script("cache"),
    )
    return Command(words)


def unschedule() -> Command:
    return Command((Script("schedule"), "remove"))


def runs(lines: int) -> Command:
    """The last log lines of the scheduled runs."""
    return Command((Script("schedule"), "log", str(lines)), reads=True)


def permit(path: str, line: str) -> Command:
    return Command((Script("sudoers"), "write", path, line), become=True)


def forbid(path: str) -> Command:
    return Command((Script("sudoers"), "remove", path), become=True)


def permitted() -> Command:
    """Fails unless the login user may run the permitted command."""
    return Command((Script("sudoers"), "check"), reads=True)
