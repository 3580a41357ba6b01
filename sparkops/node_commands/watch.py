"""The stream of what changes on a node."""

from collections.abc import Iterable

from sparkops.core.plan import Command, Script, Word


def watch(
    seconds: float, ask: Iterable[tuple[str, str, str]], *, sudo: bool = False, become: bool = False, cache: str = ""
) -> Command:
    """A frame every so many seconds; `ask` has container, URL of its health and of its counters (or `-`).

    With `sudo` the script calls Docker through `sudo -n`; with `become` all of it runs through sudo.
    """
    words: list[Word] = [Script("watch"), f"{seconds:g}", *(["--sudo"] if sudo else [])]
    words += ["--cache", cache] if cache else []
    for one in ask:
        words += ["--engine", *one]
    return Command(tuple(words), reads=True, become=become)
