"""Signals while nodes work: counted and raised at the end of a wave, so that steps can be undone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sparkops import signals
from sparkops.remote import Cancel


class CancelFlag:
    """A Cancel without a lock, since a signal handler sets it: another signal within that would wait for itself."""

    def __init__(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True


class Interrupts:
    """Does nothing outside the main thread, where Python raises no interrupt."""

    def __init__(self) -> None:
        self._held = False
        self._heard: list[None] = []  # a list, as a signal in the middle of `+=` would be lost
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
            self._held, self._heard = False, []

    @contextmanager
    def wave(self, cancel: Cancel) -> Iterator[None]:
        """Set the cancel on an interrupt; raise KeyboardInterrupt(count) at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with self.held():
            self._cancel = cancel
            if self._heard:
                cancel.set()
            try:
                yield
            finally:
                self._cancel = None
            heard, self._heard = self._heard, []
            if heard:
                raise KeyboardInterrupt(len(heard))

    def _note(self) -> None:
        self._heard.append(None)
        if self._cancel is not None:
            self._cancel.set()
