"""Progress on a terminal: lines that stay, and below them one live line for each node."""

import time
from collections.abc import Callable, Iterable
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from sparkops.report.board import Rows
from sparkops.report.board import live as live_lines
from sparkops.report.screen import Screen


class LiveScreen(Screen):
    """Rich redraws the rows in its own thread; it reads one frozen mapping, so no lock is needed."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = Console(file=stream, highlight=False)
        self._clock = clock
        self._rows: Rows = {}
        self._live: Live | None = None

    def show(self, lines: Iterable[str], rows: Rows) -> None:
        self._rows = rows
        for line in lines:
            self._console.print(Text.from_ansi(line), soft_wrap=True)
        if rows and self._live is None:
            self._live = Live(get_renderable=self._drawn, console=self._console, refresh_per_second=2, transient=True)
            self._live.start()

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _drawn(self) -> Text:
        return Text("\n".join(live_lines(self._rows, self._clock(), self._console.width - 1)))
