"""One row of the screen, and its cells. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from sparkops.core.printable import printable_line

Part = tuple[str, str]
"""A text and its meaning: good, bad, warn, dim, bold, or empty."""


@dataclass(frozen=True)
class ScreenRow:
    """One line. `about` is what it can be opened as; `copy` the command that mends or shows it."""

    parts: Sequence[Part]
    about: tuple[str, str] | None = None
    copy: str = ""
    words: str = ""
    """What a filter looks at, beside its text."""

    whole: bool = False
    """Whether its last part goes on in further lines where it is too long."""

    @property
    def choosable(self) -> bool:
        return self.about is not None or bool(self.copy)

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.parts)


def cell(value: object, width: int, *, right: bool = False) -> str:
    text = printable_line("-" if value is None or value == "" else str(value), max(width, 3))
    return (text.rjust(width) if right else text.ljust(width)) + "  "
