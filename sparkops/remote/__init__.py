"""The only code that touches a node. `World` is what executing a plan needs: `fleet`, or `sparkops.testing`."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from sparkops.core.plan import Command, Result


class Cancel(Protocol):
    """Set once, from any thread; every wait looks at it."""

    def is_set(self) -> bool: ...

    def set(self) -> None: ...


class World(Protocol):
    """Transport, clock, fan-out and cancel: everything outside that executing a plan needs."""

    def reach(self, node: str, cancel: Cancel) -> None:
        """Connect, so that the time of the next command does not include it; raises NodeLost.

        Does nothing if `cancel` is set already.
        """

    def send(self, node: str, command: Command, cancel: Cancel) -> Result:
        """Run a command; a nonzero exit code is a Result, only a lost node raises NodeLost.

        If `cancel` is set before, the command is not sent (`ended` is `cancelled`). If it is set later, a command that
        `reads` or `ends` is dropped; others are awaited, since their effect would be unknown.
        """

    def now(self) -> float:
        """Monotonic seconds."""

    def pause(self, seconds: float, cancel: Cancel) -> None:
        """Wait; returns early if `cancel` is set."""

    def held(self) -> AbstractContextManager[None]:
        """Inside, the next `each` raises an interrupt that came between two; one after the last is ignored."""

    def each(self, tasks: Mapping[str, Callable[[Cancel], None]], cancel: Cancel) -> None:
        """Run all tasks at once and wait for all.

        An interrupt sets `cancel`; when all tasks have ended, raises KeyboardInterrupt(number of interrupts).
        """

    def cancel(self) -> Cancel:
        """A new Cancel, not set."""
