"""The signals that interrupt a run: Ctrl-C, SIGTERM (`timeout`, systemd, CI) and SIGHUP (its terminal was closed)."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sparkops.errors import Interrupted

HOW = {
    "SIGINT": "interrupted",
    "SIGTERM": "interrupted by SIGTERM",
    "SIGHUP": "interrupted: the terminal was closed (SIGHUP)",
}
"""How an error says which signal came first."""


_working = True
"""Whether they interrupt; one assignment changes it, so that there is no moment between two handlers."""


def listen() -> None:
    """From now on, each of them raises KeyboardInterrupt in the main thread."""
    global _working  # noqa: PLW0603
    _working = True
    _handle(_interrupt)


def done() -> None:
    """The work of the run has ended: from now on they raise nothing, so that its exit code stands."""
    global _working  # noqa: PLW0603
    _working = False


def over() -> None:
    """The process ends: from now on they are ignored.

    Not by a handler of ours: Python takes these away while it ends, and then a signal would end it.
    """
    for number in _handle(lambda: None):
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def noted(note: Callable[[], None]) -> Iterator[None]:
    """Inside, each of them calls `note` instead."""
    before = _handle(note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def deferred() -> Iterator[None]:
    """Inside, they are noted, and raise KeyboardInterrupt at the end: for imports, where Python may wrap one."""
    heard: list[None] = []
    with noted(lambda: heard.append(None)):
        yield
    if heard:
        _interrupt()


def _interrupt() -> None:
    if _working:
        raise KeyboardInterrupt


def _handle(note: Callable[[], None]) -> dict[int, Any]:
    """Replace the handlers and return them; a signal that is ignored stays ignored, as `nohup` wants it.

    Does nothing outside the main thread, where Python handles no signal.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    there = {getattr(signal, name): how for name, how in HOW.items() if hasattr(signal, name)}
    heard = {number: how for number, how in there.items() if signal.getsignal(number) != signal.SIG_IGN}

    def handler(number: int, _frame: object) -> None:
        Interrupted.how = Interrupted.how or heard[number]
        note()

    return {number: signal.signal(number, handler) for number in heard}
