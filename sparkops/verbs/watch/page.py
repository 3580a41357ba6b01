"""One screenful: title, the page's rows around the chosen one, the keys. Pure."""

from collections.abc import Iterator, Sequence
from itertools import islice
from textwrap import wrap

from sparkops.core.printable import printable, printable_line
from sparkops.core.watch.picture import Picture
from sparkops.verbs.watch import detail, problems, tables
from sparkops.verbs.watch.chart import Glyphs
from sparkops.verbs.watch.rows import Part, ScreenRow
from sparkops.verbs.watch.view import View

MOST_PROBLEMS = 5
"""Rows of problems above the rest on the first page."""

KEYS = "? help  q quit  enter open  {}  / filter  s sort  p pause  c copy"

Line = Sequence[Part]


def rows_of(view: View, shown: Picture, glyphs: Glyphs, log: Sequence[str] = ()) -> list[ScreenRow]:
    """All rows of the page, or of what is opened; `log` are the last lines of a container that is opened."""
    if view.opened and view.opened[0] == "log":
        lines = [printable_line(line, 2000) or " " for line in log]
        return [ScreenRow([(line, "")], copy=line) for line in lines] or [ScreenRow([("no line yet", "dim")])]
    if view.opened:
        return list(detail.rows(view.opened, shown, glyphs))
    found: dict[str, Iterator[ScreenRow]] = {
        "fleet": _fleet(shown, glyphs),
        "nodes": tables.nodes(shown, glyphs, by_load=view.by_load),
        "deployments": tables.deployments(shown, glyphs, ranks=True),
        "problems": problems.problems(shown.alerts),
    }
    return list(found[view.page]) or [ScreenRow([("nothing is wrong", "good")])]


def _fleet(shown: Picture, glyphs: Glyphs) -> Iterator[ScreenRow]:
    """What is wrong first, then what serves, then the nodes."""
    alerts = list(problems.problems(shown.alerts))
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
    if view.filter and not any(row.choosable for row in kept):
        kept = [*kept, ScreenRow([(f"no row has {view.filter}", "dim")])]
    chosen = view.on(kept)
    body = _around(kept, chosen, height - 3)
    shown_rows = (part for row in body for part in _lines(row, row is chosen, width))
    lines = [_title(view, shown, width, time), [], *islice(shown_rows, max(0, height - 3))]
    lines += [[] for _ in range(height - 1 - len(lines))]
    return [
        _clipped(line, width)
        for line in [*lines, [(said or KEYS.format("esc back" if view.opened else "1-4 pages"), "dim")]]
    ]


def _title(view: View, shown: Picture, width: int, time: str) -> Line:
    """What is opened is cut first; what is wrong and how the page is changed stand in any case."""
    live = sum(not node.problem for node in shown.nodes.values())
    grave = any(alert.grave for alert in shown.alerts)
    count = len(shown.alerts)
    wrong = f"{count} problem{'s' if count != 1 else ''}" if count else "nothing is wrong"
    rest = f"{'  filter: ' + view.filter if view.filter else ''}{'  PAUSED' if view.paused else ''}"
    nodes = f"{live} of {len(shown.nodes)} nodes  "
    where = detail.title(view.opened, shown) if view.opened else view.page
    where = printable_line(where, max(8, width - len(nodes) - len(wrong) - len(rest) - len(time) - 14))
    left = f"sparkops  {where}  {nodes}"
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


def _lines(row: ScreenRow, chosen: bool, width: int) -> Iterator[Line]:
    """Its line; the last part of a row that is to be read whole goes on in further ones."""
    *first, (text, how) = row.parts or [("", "")]
    indent = sum(len(part) for part, _ in first)
    pieces = wrap(text, max(10, width - indent - 1)) if row.whole else [text]
    for number, piece in enumerate(pieces or [""]):
        mark = [(">", "chosen")] if chosen and not number else [(" ", "")]
        parts = [*(first if not number else [(" " * indent, "")]), (piece, how)]
        yield [*mark, *((part, "chosen" if chosen else meaning) for part, meaning in parts)]


def _clipped(line: Line, width: int) -> Line:
    """The line within the width, with nothing that a terminal obeys."""
    kept: list[Part] = []
    for raw, how in line:
        text = printable(raw).replace("\n", " ").replace("\t", " ")
        if text[:width]:
            kept.append((text[:width], how))
        width -= len(text[:width])
    return kept
