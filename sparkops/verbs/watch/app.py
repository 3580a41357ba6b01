"""The live screen: keys, resizing and drawing by Textual; what is shown comes from `page`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.events import Key
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from sparkops.core.watch.picture import Picture
from sparkops.verbs.watch.chart import Glyphs
from sparkops.verbs.watch.page import Line, drawn, rows_of
from sparkops.verbs.watch.rows import ScreenRow
from sparkops.verbs.watch.view import END, View
from sparkops.verbs.watch.watching import LOOK

LOOKS = {
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
    "dim": "dim",
    "bold": "bold",
    "chosen": "reverse",
    "": "",
}
STYLES = {meaning: Style.parse(look) for meaning, look in LOOKS.items()}
"""In the 16 colours of the terminal, so that its own theme holds."""


class PictureSource(Protocol):
    """What is drawn: see `Watching`."""

    def look(self, seldom: bool = False) -> Picture: ...

    def log(self, opened: tuple[str, str] | None) -> list[str]: ...

    def again(self, text: str) -> str: ...


class LinesOfText(Widget):
    """Sends only those lines to the terminal that changed."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: list[Line] = []

    def show(self, lines: Sequence[Line]) -> None:
        before, self._shown = self._shown, list(lines)
        if len(before) != len(lines):
            self.refresh()
        for y, (old, new) in enumerate(zip(before, lines, strict=False)):
            if old != new:
                self.refresh(Region(0, y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        line = self._shown[y] if y < len(self._shown) else ()
        return Strip([Segment(text, STYLES[how]) for text, how in line]).adjust_cell_length(self.size.width)


class WatchScreen(App[None]):
    """Draws the newest picture twice a second; while it is paused, the one that was there."""

    CSS = """
    Screen { background: ansi_default; }
    LinesOfText { width: 100%; height: 1fr; }
    Input { dock: bottom; height: 1; border: none; display: none; }
    """
    AUTO_FOCUS = None
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [
        Binding("ctrl+c,q", "quit", show=False),
        Binding("slash", "filter", show=False),
        Binding("c", "copy", show=False),
    ]

    def __init__(self, source: PictureSource, clock: Callable[[], str], glyphs: Glyphs) -> None:
        super().__init__(ansi_color=True)
        self._source, self._time, self._glyphs = source, clock, glyphs
        self._view, self._picture, self._said = View(), Picture(), ""
        self._lines: tuple[tuple[str, str] | None, list[str]] = None, []
        self._screenful = LinesOfText()  # kept, as a last tick may come when the screen has no widgets any more

    def compose(self) -> ComposeResult:
        yield self._screenful
        yield Input(placeholder="show only rows with this word", id="filter")

    def on_mount(self) -> None:
        self.set_interval(LOOK, self._tick)
        self._tick()

    def _tick(self) -> None:
        newest = self._source.look(self._view.paused)  # also while it is paused, so that nothing piles up
        if not self._view.paused:
            self._picture = newest
        self._draw()

    def _rows(self) -> list[ScreenRow]:
        return rows_of(self._view, self._picture, self._glyphs, self._log_lines())

    def _log_lines(self) -> list[str]:
        """The lines of the log that is opened; while it is paused or read above its end, those that were there."""
        opened, lines = self._lines
        if opened != self._view.opened or not (self._view.paused or self._view.chosen < END):
            lines = self._source.log(self._view.opened)
            self._lines = self._view.opened, lines
        return lines

    def _draw(self) -> None:
        size = (self.size.width, self.size.height)
        self._screenful.show(drawn(self._view, self._picture, self._rows(), size, self._time(), self._said))

    def on_key(self, event: Key) -> None:
        if self.query_one("#filter", Input).has_focus:
            if event.key == "escape":
                self._filtered(self._view.filter)
            return
        self._said = ""
        self._view = self._view.pressed(event.character or event.key if event.is_printable else event.key, self._rows())
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def action_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.value = self._view.filter
        box.styles.display = "block"
        box.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._filtered(event.value.strip())

    def _filtered(self, word: str) -> None:
        self._view = replace(self._view, filter=word, chosen=0)
        self.query_one("#filter", Input).styles.display = "none"
        self.set_focus(None)
        self._draw()

    def action_copy(self) -> None:
        row = self._view.on(self._rows())
        if row is not None and row.copy:
            text = self._source.again(row.copy)
            self.copy_to_clipboard(text)
            self._said = f"copied: {text}"
            self._draw()
