"""Signals while nodes work: counted and raised at the end of a wave, so that steps can be undone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sparkops import signals
from sparkops.remote import Cancel


class Interrupts:
    """Does nothing outside the main thread, where Python raises no interrupt."""

    def __init__(self) -> None:
        self._held = False
        self._count = 0
        self._cancel: Cancel | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, the next wave raises an interrupt that came between two waves; one after the last is ignored."""
        if self._held or threading.current_thread() is not threading.main_thread():
            yield
            return
        self._held = True
        try:
            with signals.noted(self._note):
                yield
        finally:
            self._held, self._count = False, 0

    @contextmanager
    def wave(self, cancel: Cancel) -> Iterator[None]:
        """Set the cancel on an interrupt; raise KeyboardInterrupt(count) at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with self.held():
            self._cancel = cancel
            if self._count:
                cancel.set()
            try:
                yield
            finally:
                self._cancel = None
            count, self._count = self._count, 0
            if count:
                raise KeyboardInterrupt(count)

    def _note(self) -> None:
        self._count += 1
        if self._cancel is not None:
            self._cancel.set()
