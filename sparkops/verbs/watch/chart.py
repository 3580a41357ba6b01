"""Bars and small charts of characters. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Glyphs:
    """`levels` from nothing to all; a bar is of the last one and of `empty`."""

    levels: str
    empty: str

    def bar(self, share: float, width: int) -> str:
        """A bar of so many characters; anything above nothing shows."""
        full = min(width, max(round(share * width), 1 if share > 0 else 0))
        return self.levels[-1] * full + self.empty * (width - full)

    def trend(self, values: Sequence[float], width: int, top: float = 0.0) -> str:
        """The last values, one a character; the highest of them, or `top` if that is more, is the whole height."""
        shown = values[-width:]
        highest = max([top, *shown])
        marks = [self.levels[self._level(value / highest)] if highest > 0 else self.levels[0] for value in shown]
        return "".join(marks).rjust(width)

    def _level(self, share: float) -> int:
        return min(len(self.levels) - 1, max(0, round(share * (len(self.levels) - 1))))


BLOCKS = Glyphs(" ▁▂▃▄▅▆▇█", "░")
PLAIN = Glyphs(" .:-=+*#", ".")
"""For terminals without UTF-8."""
