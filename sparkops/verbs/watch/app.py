"""The live screen: keys, resizing and drawing by Textual; what is shown comes from `page`."""

from collections.abc import Callable, Sequence
from dataclasses import replace

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
from sparkops.verbs.watch.view import View

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

LOOK = 0.5
"""Seconds between two drawings."""

Look = Callable[[bool], Picture]
"""The newest picture; with True, nodes may tell less often until the next look."""

Log = Callable[[tuple[str, str] | None], list[str]]
"""The last lines of the container whose log is opened; none if something else is."""


class LinesOfText(Widget):
    """LinesOfText of text, of which only those that changed are sent to the terminal."""

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

    def __init__(self, look: Look, log: Log, clock: Callable[[], str], glyphs: Glyphs) -> None:
        super().__init__(ansi_color=True)
        self._look, self._tail, self._time, self._glyphs = look, log, clock, glyphs
        self._view, self._picture, self._said = View(), Picture(), ""

    def compose(self) -> ComposeResult:
        yield LinesOfText()
        yield Input(placeholder="show only rows with this word", id="filter")

    def on_mount(self) -> None:
        self.set_interval(LOOK, self._tick)
        self._tick()

    def _tick(self) -> None:
        newest = self._look(self._view.paused)  # also while it is paused, so that nothing piles up
        if not self._view.paused:
            self._picture = newest
        self._draw()

    def _rows(self) -> list[ScreenRow]:
        return rows_of(self._view, self._picture, self._glyphs, self._tail(self._view.opened))

    def _draw(self) -> None:
        size = (self.size.width, self.size.height)
        self.query_one(LinesOfText).show(drawn(self._view, self._picture, self._rows(), size, self._time(), self._said))

    def on_key(self, event: Key) -> None:
        if self.query_one("#filter", Input).has_focus:
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
        self._view = replace(self._view, filter=event.value.strip(), chosen=0)
        event.input.styles.display = "none"
        self.set_focus(None)
        self._draw()

    def action_copy(self) -> None:
        row = self._view.on(self._rows())
        if row is not None and row.copy:
            self.copy_to_clipboard(row.copy)
            self._said = f"copied: {row.copy}"
            self._draw()
