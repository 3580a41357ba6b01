"""What shows progress: a screen takes the lines that stay and the rows under way."""

from collections.abc import Iterable
from typing import Protocol, TextIO

from sparkops.report.board import Rows


class Screen(Protocol):
    """`moves` says that rows are redrawn in place, so that their changes need no lines of their own."""

    moves: bool

    def show(self, lines: Iterable[str], rows: Rows) -> None: ...
    def stop(self) -> None: ...


class NoScreen:
    """Nobody looks any more: the pipe or the terminal is gone, the run goes on."""

    moves = True

    def show(self, lines: Iterable[str], rows: Rows) -> None:
        pass

    def stop(self) -> None:
        pass


class PlainScreen:
    """Lines only, for a pipe or a log of CI."""

    moves = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, lines: Iterable[str], rows: Rows) -> None:
        for line in lines:
            self._stream.write(line + "\n")
        self._stream.flush()

    def stop(self) -> None:
        self._stream.flush()
