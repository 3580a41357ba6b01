"""What shows progress: a screen takes the lines that stay and the board of what is under way."""

from collections.abc import Iterable
from typing import TextIO

from sparkops.report.board import Board


class Screen:
    """Shows nothing. Others inherit from it.

    `moves`: rows are redrawn in place, so their changes need no lines of their own.
    """

    moves = True

    def show(self, lines: Iterable[str], board: Board) -> None:
        """Print `lines`, which stay, and show what is under way."""

    def stop(self) -> None:
        """Stop redrawing."""


class PlainScreen(Screen):
    """Lines only, for a pipe or a log of CI."""

    moves = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, lines: Iterable[str], board: Board) -> None:
        for line in lines:
            self._stream.write(line + "\n")
        self._stream.flush()
