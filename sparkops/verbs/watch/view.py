"""What the user looks at: the page, the row, the filter. Pure: a key in, another view out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sparkops.verbs.watch.rows import ScreenRow

END = 1_000_000
"""The last row, whatever number it has, also when more come."""

PAGES = ("fleet", "nodes", "deployments", "problems")


@dataclass(frozen=True)
class View:
    """`chosen` is the row, among those that can be chosen. `opened` is what is shown alone, in front of `back`."""

    page: str = "fleet"
    chosen: int = 0
    opened: tuple[str, str] | None = None
    filter: str = ""
    paused: bool = False
    by_load: bool = False
    back: "View | None" = None

    def visible(self, rows: Sequence[ScreenRow]) -> list[ScreenRow]:
        """Rows that the filter keeps; heads, which cannot be chosen, stay."""
        word = self.filter.lower()
        return [row for row in rows if not row.choosable or word in f"{row.text} {row.words}".lower()]

    def on(self, rows: Sequence[ScreenRow]) -> ScreenRow | None:
        """The row that the cursor is on."""
        choices = [row for row in self.visible(rows) if row.choosable]
        return choices[min(self.chosen, len(choices) - 1)] if choices else None

    def pressed(self, key: str, rows: Sequence[ScreenRow]) -> "View":
        """The view after a key; `rows` are all of this page, or of what is opened."""
        row = self.on(rows)
        match key:
            case "enter" if row is not None and row.about is not None:
                return self._opened(row.about)
            case "?":
                return self._opened(("keys", ""))
            case "escape" | "backspace":
                return self._closed()
        return replace(self, **self._changes(rows).get(key, {}))

    def _changes(self, rows: Sequence[ScreenRow]) -> Mapping[str, dict[str, Any]]:
        """What each of the other keys changes."""
        last = max(sum(row.choosable for row in self.visible(rows)) - 1, 0)
        chosen = min(self.chosen, last)
        below, above = chosen + 1 if chosen + 1 < last else END, max(chosen - 1, 0)
        steps = {"down": below, "j": below, "up": above, "k": above, "home": 0, "g": 0, "end": END, "G": END}
        pages = {str(number): page for number, page in enumerate(PAGES, 1)}
        pages["tab"] = PAGES[(PAGES.index(self.page) + 1) % len(PAGES)]
        return {
            **{key: {"chosen": row} for key, row in steps.items()},
            **{key: {"page": page, "chosen": 0, "opened": None, "back": None} for key, page in pages.items()},
            **dict.fromkeys(("p", "space"), {"paused": not self.paused}),
            "s": {"by_load": not self.by_load, "chosen": 0},
        }

    def _opened(self, about: tuple[str, str]) -> "View":
        """A log opens at its end."""
        if about == self.opened:
            return self
        return replace(self, opened=about, chosen=END if about[0] == "log" else 0, filter="", back=self)

    def _closed(self) -> "View":
        """The filter ends first, then what is opened."""
        if self.filter or self.back is None:
            return replace(self, filter="", chosen=0)
        return replace(self.back, paused=self.paused, by_load=self.by_load)
