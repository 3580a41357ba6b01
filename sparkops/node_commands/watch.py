"""The stream of what changes on a node."""

from collections.abc import Iterable

from sparkops.core.plan import Command, Script, Word


def watch(seconds: float, ask: Iterable[tuple[str, str, str]], *, sudo: bool) -> Command:
    """A frame every so many seconds; `ask` has container, URL of its health and of its counters (or `-`)."""
    words: list[Word] = [Script("watch"), f"{seconds:g}", *(["--sudo"] if sudo else [])]
    for one in ask:
        words += ["--engine", *one]
    return Command(tuple(words), reads=True)
