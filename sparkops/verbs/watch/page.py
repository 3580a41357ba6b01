"""One screenful: title, the page's rows around the chosen one, the keys. Pure."""

from collections.abc import Iterator, Sequence

from sparkops.core.printable import printable, printable_line
from sparkops.core.watch.picture import Picture
from sparkops.verbs.watch import detail, problems, tables
from sparkops.verbs.watch.chart import Glyphs
from sparkops.verbs.watch.rows import Part, ScreenRow
from sparkops.verbs.watch.view import View

MOST_PROBLEMS = 5
"""Rows of problems above the rest on the first page."""

KEYS = "enter open  / filter  s sort  p pause  c copy  ? keys  q quit"

Line = Sequence[Part]


def rows_of(view: View, shown: Picture, glyphs: Glyphs, log: Sequence[str] = ()) -> list[ScreenRow]:
    """All rows of the page, or of what is opened; `log` are the last lines of a container that is opened."""
    if view.opened and view.opened[0] == "log":
        shown_lines = [printable_line(line, 2000) for line in log]
        return [ScreenRow([(line, "")], copy=line or " ") for line in shown_lines] or [
            ScreenRow([("no line yet", "dim")])
        ]
    if view.opened:
        return list(detail.rows(view.opened, shown, glyphs))
    found: dict[str, Iterator[ScreenRow]] = {
        "fleet": _fleet(shown, glyphs),
        "nodes": tables.nodes(shown, glyphs, by_load=view.by_load),
        "deployments": tables.deployments(shown, glyphs, ranks=True),
        "problems": problems.problems(shown),
    }
    return list(found[view.page]) or [ScreenRow([("nothing is wrong", "good")])]


def _fleet(shown: Picture, glyphs: Glyphs) -> Iterator[ScreenRow]:
    """What is wrong first, then what serves, then the nodes."""
    alerts = list(problems.problems(shown))
    yield from alerts[:MOST_PROBLEMS]
    if len(alerts) > MOST_PROBLEMS:
        yield ScreenRow([(f"  and {len(alerts) - MOST_PROBLEMS} more: press 4", "dim")])
    if alerts:
        yield ScreenRow([])
    yield from tables.deployments(shown, glyphs)
    if shown.deployments:
        yield ScreenRow([])
    yield from tables.nodes(shown, glyphs)


def drawn(
    view: View, shown: Picture, found: Sequence[ScreenRow], size: tuple[int, int], time: str, said: str
) -> list[Line]:
    """A screen of `size` characters and lines of these rows; `said` stands in place of the keys."""
    width, height = size
    kept = view.visible(found)
    chosen = view.on(kept)
    body = _around(kept, chosen, height - 3)
    lines = [_title(view, shown, width, time), [], *(_line(row, row is chosen) for row in body)]
    lines += [[] for _ in range(height - 1 - len(lines))]
    return [
        _clipped(line, width)
        for line in [*lines, [(said or f"{'esc back' if view.opened else '1-4 pages'}  {KEYS}", "dim")]]
    ]


def _title(view: View, shown: Picture, width: int, time: str) -> Line:
    live = sum(not node.problem for node in shown.nodes.values())
    grave = any(alert.grave for alert in shown.alerts)
    count = len(shown.alerts)
    wrong = f"{count} problem{'s' if count != 1 else ''}" if count else "nothing is wrong"
    where = detail.title(view.opened, shown) if view.opened else view.page
    left = f"sparkops  {where}  {live} of {len(shown.nodes)} nodes  "
    rest = f"{'  filter: ' + view.filter if view.filter else ''}{'  PAUSED' if view.paused else ''}"
    room = max(1, width - len(left) - len(wrong) - len(rest) - len(time))
    meaning = "bad" if grave else "warn" if count else "good"
    return [(left, "bold"), (wrong, meaning), (rest, "warn"), (" " * room + time, "dim")]


def _around(found: Sequence[ScreenRow], chosen: ScreenRow | None, height: int) -> Sequence[ScreenRow]:
    """So many rows, among them the chosen one; the first row of the page stays on top if there is room."""
    if len(found) <= height:
        return found
    at = next((index for index, row in enumerate(found) if row is chosen), 0)
    start = min(max(0, at - height // 2), len(found) - height)
    return found[start : start + height]


def _line(row: ScreenRow, chosen: bool) -> Line:
    mark = [(">", "chosen")] if chosen else [(" ", "")]
    return [*mark, *((text, "chosen" if chosen else how) for text, how in row.parts)]


def _clipped(line: Line, width: int) -> Line:
    """The line within the width, with nothing that a terminal obeys."""
    kept: list[Part] = []
    for raw, how in line:
        text = printable(raw).replace("\n", " ").replace("\t", " ")
        if text[:width]:
            kept.append((text[:width], how))
        width -= len(text[:width])
    return kept
