"""Page caches: drop them, have cron drop them, and the right to do so, as commands."""

from sparkops.core.plan import Command, Script, Word
from sparkops.core.schedule import Schedule, times

LONGEST_DROP = 600.0
"""Seconds: what was just downloaded is written to the disk first."""


def drop(cache_dir: str | None) -> Command:
    """Needs no lock: it changes nothing that a plan is made from."""
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
    """What the scheduled runs wrote last."""
    return Command((Script("schedule"), "log", str(lines)), reads=True)


def permit(path: str, line: str) -> Command:
    return Command((Script("sudoers"), "write", path, line), become=True)


def forbid(path: str) -> Command:
    return Command((Script("sudoers"), "remove", path), become=True)


def permitted() -> Command:
    """Fails where the login user may not do what the line permits."""
    return Command((Script("sudoers"), "check"), reads=True)
