"""The report of a run that reaches nodes: events as they come, then how it ends."""

import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sparkops.core import masking
from sparkops.core.plan import Event
from sparkops.core.printable import all_printable, printable
from sparkops.errors import SparkopsError
from sparkops.report import board, failure
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.report.screen import PlainScreen, Screen


class Report(Ending):
    """`emit` may be called from any thread, everything else from the main thread only."""

    def __init__(self, verb: str, *, screen: Screen | None = None, words: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(verb, **settings)
        self._words = words
        self._screen = screen or PlainScreen(self._err)
        self._lock = threading.RLock()
        self._board = board.Board()
        self._failed: list[Event] = []

    @property
    def typed(self) -> str:
        """The command line of this run, without secrets."""
        return self.masked(masking.typed(self._words))

    def emit(self, event: Event) -> None:
        """Show the event and write it to the run log."""
        with self._lock:
            self._keep(event)
            event = _printable(event)
            now = self._clock()
            before, self._board = self._board, board.advance(self._board, event, now)
            old, new = before.rows.get(event.node or ""), self._board.rows.get(event.node or "")
            lines = list(board.kept(event, old, now, self._err_ink, self.how.verbose))
            if event.kind == "progress" and new and not self._screen.moves and board.due(old, new, now):
                lines.append(board.plain(self._board, new, now))
                self._board = board.printed(self._board, new.node, now)
            self._screen.show(lines, self._board)

    def expect(self, seconds: float | None) -> None:
        """Tell from now on how much is left of so many seconds; None: not known."""
        with self._lock:
            until = None if seconds is None else self._clock() + seconds
            self._board = replace(self._board, until=until)

    def rest(self) -> None:
        """No plan is under way."""
        with self._lock:
            self._board = board.Board()

    def line(self, label: str, text: str) -> None:
        """Print a line of the answer before the rest is known."""
        with self._lock:
            self._write(self._out, [f"{self._out_ink.dim(f'{printable(label)}:')} {printable(text)}"])

    def note(self, text: str, node: str | None = None) -> None:
        self.emit(Event("note", self.how.again(text), node))

    def warn(self, text: str, node: str | None = None) -> None:
        self.emit(Event("warning", self.how.again(text), node))

    def show_answer(self, verb: str, answer: Answer) -> None:
        """Show the answer of a verb that ran as part of this run."""
        with self._lock:
            lines = self.lines(verb, self._advised(answer.document), self._err_ink) if answer.document else ()
            self._screen.show(list(lines), self._board)

    def confirm(self, question: str) -> bool:
        """Ask on the terminal; without a terminal the answer is no."""
        if sys.stdin is None or not sys.stdin.isatty() or not self._err.isatty():
            return False
        self._screen.stop()
        self._err.write(f"{printable(question)} [y/N] ")
        self._err.flush()
        try:
            return sys.stdin.readline().strip().lower() in ("y", "yes")
        except OSError:  # the terminal was closed
            return False

    def finish(self, answer: Answer) -> int:
        self._screen.stop()
        return super().finish(answer)

    def _keep(self, event: Event) -> None:
        if event.kind == "failed" or event.data.get("log"):
            self._failed.append(event)
        if self._log and (self._log.path or event.kind != "note"):  # a monitor's `status` has notes only
            self._log.write(
                event.kind, node=event.node, step=event.step, title=event.title, text=event.text, data=dict(event.data)
            )

    def _error_document(self, error: SparkopsError) -> dict[str, Any]:
        found = failure.read(error, self._failed)
        return {**super()._error_document(error), **failure.document(found)}

    def _last_words(self, error: SparkopsError) -> Iterator[str]:
        return failure.lines(failure.read(error, [_printable(event) for event in self._failed]), self._err_ink)


def _printable(event: Event) -> Event:
    """The event as a terminal may show it; the run log keeps the original."""
    node, step = all_printable(event.node), all_printable(event.step)
    text, title = printable(event.text), printable(event.title or "")
    return replace(event, text=text, node=node, step=step, title=title, data=all_printable(event.data))
