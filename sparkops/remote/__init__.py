"""The only code that touches a node; here what a world is, of which there are two: `fleet` and `sparkops.testing`."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from sparkops.core.plan import Command, Result


class Cancel(Protocol):
    """Set once, from any thread; every wait looks at it."""

    def is_set(self) -> bool: ...

    def set(self) -> None: ...


class World(Protocol):
    """Transport, clock, fan-out and cancel: all that executing a plan needs of the outside."""

    def reach(self, node: str, cancel: Cancel) -> None:
        """Make sure of a connection, so that the time of what is sent next is its own; raises NodeLost.

        A cancel that is set before prevents it, as it does what is sent then.
        """

    def send(self, node: str, command: Command, cancel: Cancel) -> Result:
        """Run a command; a bad exit is a Result, only an unreachable node raises NodeLost.

        A cancel that is set before the command is sent prevents it (`ended` is `cancelled`). Later it drops a
        command that only reads or that `ends`; another that changes something is awaited, since its effect would be
        unknown.
        """

    def now(self) -> float:
        """Monotonic seconds."""

    def pause(self, seconds: float, cancel: Cancel) -> None:
        """Returns early when cancelled."""

    def held(self) -> AbstractContextManager[None]:
        """Inside, an interrupt between two `each` is raised by the next one; one after the last is forgotten."""

    def each(self, tasks: Mapping[str, Callable[[Cancel], None]], cancel: Cancel) -> None:
        """Run all tasks at once and wait for all.

        An interrupt sets the cancel; KeyboardInterrupt is raised when all tasks have ended, its argument is how
        many interrupts there were.
        """

    def cancel(self) -> Cancel:
        """A fresh one."""
