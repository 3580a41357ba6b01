"""Progress on a terminal: lines that stay, and below them one live line for each node and one for the phase."""

import time
from collections.abc import Callable, Iterable
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from sparkops.report.board import Board
from sparkops.report.board import live as live_lines
from sparkops.report.screen import Screen


class LiveScreen(Screen):
    """Rich redraws the board in its own thread; it reads one frozen value, so no lock is needed."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = Console(file=stream, highlight=False)
        self._clock = clock
        self._board = Board()
        self._live: Live | None = None

    def show(self, lines: Iterable[str], board: Board) -> None:
        self._board = board
        for line in lines:
            self._console.print(Text.from_ansi(line), soft_wrap=True)
        if board.rows and self._live is None:
            self._live = Live(get_renderable=self._drawn, console=self._console, refresh_per_second=2, transient=True)
            self._live.start()

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _drawn(self) -> Text:
        return Text("\n".join(live_lines(self._board, self._clock(), self._console.width - 1)))
