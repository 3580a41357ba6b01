"""Tasks that take turns in a seeded order on a virtual clock: repeatable concurrency."""

import random
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from sparkops.remote import Cancel

_THREADS = ThreadPoolExecutor(max_workers=256, thread_name_prefix="simulated")


class Crash(BaseException):
    """The control process was killed; nothing may handle this."""


@dataclass
class _Turn:
    """One task: it runs only from `go` until it yields."""

    task: Callable[[], None]
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    wakes: float = 0.0
    cancel: Cancel | None = None
    ended: bool = False
    error: BaseException | None = None

    def ready(self, now: float) -> bool:
        return self.wakes <= now or (self.cancel is not None and self.cancel.is_set())


class ThreadSchedule:
    """Runs tasks one at a time; they yield at every send and pause, and the next one is drawn at random."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.dead = False
        self._random = random.Random(seed)
        self._current: _Turn | None = None
        self._back = threading.Semaphore(0)

    def yield_(self, seconds: float = 0.0, cancel: Cancel | None = None) -> None:
        """Let others run; return after so many virtual seconds, or as soon as cancelled."""
        turn = self._current
        if turn is None:
            if cancel is None or not cancel.is_set():
                self.now += seconds
        else:
            turn.wakes, turn.cancel = self.now + seconds, cancel
            self._back.release()
            turn.go.acquire()
        if self.dead:
            raise Crash

    def run(self, tasks: Mapping[str, Callable[[], None]]) -> None:
        """Run all tasks to their ends; then raise the first error."""
        if self.dead:
            raise Crash
        if len(tasks) == 1:
            next(iter(tasks.values()))()
            return
        turns = [_Turn(task) for task in tasks.values()]
        for turn in turns:
            _THREADS.submit(self._live, turn)
        waiting = list(turns)
        while waiting:
            turn = self._next(waiting)
            self._current = turn
            turn.go.release()
            self._back.acquire()
            if turn.ended:
                waiting.remove(turn)
        self._current = None
        for turn in turns:
            if turn.error is not None:
                raise turn.error

    def _next(self, waiting: list[_Turn]) -> _Turn:
        if self.dead:
            return waiting[0]
        ready = [turn for turn in waiting if turn.ready(self.now)]
        if not ready:
            self.now = min(turn.wakes for turn in waiting)
            ready = [turn for turn in waiting if turn.ready(self.now)]
        return self._random.choice(ready)

    def _live(self, turn: _Turn) -> None:
        turn.go.acquire()
        try:
            if self.dead:
                raise Crash
            turn.task()
        except BaseException as error:
            turn.error = error
        turn.ended = True
        self._back.release()
