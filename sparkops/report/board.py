"""What each node is doing now, from events: one row for each node, the phase, and the lines that stay. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sparkops.core.enginelog import progress
from sparkops.core.plan import Event
from sparkops.report.text import Ink, clip, clip_line, clock, indented

VERDICTS = ("ready", "wait", "never")
LOST = "lost"
"""The first word of what is told of a node that does not answer any more."""
A_MINUTE = 60.0
_GROWS = re.compile(r"[0-9.,]+|\[[#-]*\]")


@dataclass(frozen=True)
class BoardRow:
    """One node: the step under way, the latest text of its wait, and when it began (monotonic seconds).

    `printed` is when a line without a terminal last told of it.
    """

    node: str
    title: str
    since: float
    text: str = ""
    phase: str = ""
    percent: int | None = None
    printed: float | None = None


Rows = Mapping[str, BoardRow]


@dataclass(frozen=True)
class Board:
    """The rows of the nodes, the phase under way, and `until`: when the run should end, if that is known."""

    rows: Rows = field(default_factory=dict)
    phase: Event | None = None
    until: float | None = None


def advance(board: Board, event: Event, now: float) -> Board:
    """The board after this event. Only steps under way have a row."""
    if event.kind == "phase":
        return replace(board, rows={}, phase=event)
    if event.node is None:
        return board
    rows = _rows(board.rows, event, now)
    return Board(rows) if event.kind == "undo" else replace(board, rows=rows)


def _rows(rows: Rows, event: Event, now: float) -> Rows:
    assert event.node is not None, "the event is one of a node"
    title = event.title or event.step or ""
    match event.kind:
        case "start":
            return {**rows, event.node: BoardRow(event.node, title, now)}
        case "undo":
            return {**rows, event.node: BoardRow(event.node, event.title or "rolling back", now)}
        case "progress":
            row = rows.get(event.node) or BoardRow(event.node, title, now)
            return {**rows, event.node: _progressed(row, event.text)}
        case "note" | "warning":
            return rows
    return {name: row for name, row in rows.items() if name != event.node}


def _progressed(row: BoardRow, evidence: str) -> BoardRow:
    """The row after a probe's output: its verdict and reason, then the engine's last lines."""
    first, _, rest = evidence.partition("\n")
    verdict, _, reason = first.strip().partition(" ")
    if verdict == LOST:  # how far the engine was is old news
        return replace(row, text=first, phase="", percent=None)
    if verdict not in VERDICTS:
        rest, reason = evidence, ""
    phase = progress(rest.splitlines())
    if phase is not None:
        return replace(row, text=phase.text, phase=phase.name, percent=phase.percent)
    if reason and not row.phase:
        return replace(row, text=reason)
    return row


def due(before: BoardRow | None, after: BoardRow, now: float) -> bool:
    """Whether to print a line without a terminal: for another phase of the engine, and each minute."""
    if not after.text:
        return False
    return before is None or _stage(after) != _stage(before) or now - (after.printed or after.since) >= A_MINUTE


def printed(board: Board, node: str, now: float) -> Board:
    """The board after a line told of this node."""
    return replace(board, rows={**board.rows, node: replace(board.rows[node], printed=now)})


def _stage(row: BoardRow) -> str:
    """The phase and the text without numbers and progress bar."""
    return f"{row.phase} {re.sub(_GROWS, '', row.text)}"


def live(board: Board, now: float, width: int) -> Iterator[str]:
    """The lines that change in place: one for each node, then what is still to come."""
    name_width = max((len(name) for name in board.rows), default=0)
    for row in board.rows.values():
        yield clip_line(f"{row.node:<{name_width}}  {clock(now - row.since):>5}  {row.text or row.title}", width)
    if board.phase:
        following = board.phase.data.get("next")
        told = (_numbered(board.phase), _left(board, now), f"then {following}" if following else "")
        yield clip_line(", ".join(filter(None, told)), width)


def plain(board: Board, row: BoardRow, now: float) -> str:
    left = _left(board, now)
    return f"{row.node}: {clip(row.text or row.title, 160)} ({clock(now - row.since)}{left and f', {left}'})"


def _left(board: Board, now: float) -> str:
    """How long the run will still take, if that is known."""
    if board.until is None:
        return ""
    left = board.until - now
    if left <= -A_MINUTE:
        return f"{clock(-left)} longer than last time"
    if left < 1:
        return "about as long as last time"
    return f"about {left / A_MINUTE:.0f} min left" if left >= 1.5 * A_MINUTE else f"about {left:.0f} s left"


def _numbered(phase: Event) -> str:
    """The name of a phase, after its number where the plan has several."""
    number, of = phase.data.get("number"), phase.data.get("of")
    return f"[{number}/{of}] {phase.step}" if of not in (None, 1) else f"[{phase.step}]"


def kept(event: Event, row: BoardRow | None, now: float, ink: Ink, verbose: bool) -> Iterator[str]:
    """The lines of an event that stay on the screen."""
    where = f"{event.node}: " if event.node else ""
    title = event.title or event.step or ""
    spent = f" ({clock(now - row.since)})" if row and now - row.since >= 1 else ""
    match event.kind:
        case "phase":
            yield ink.bold(_numbered(event))
        case "start" if verbose:
            yield ink.dim(f"{where}{title} ...")
            yield from (ink.dim(line) for line in indented(event.text))
        case "done":
            yield f"{where}{title}: {event.data.get('result') or ink.good('done')}{spent}"
        case "failed" | "lost" | "stuck":
            yield ink.bad(f"{where}{event.kind}: {title}{spent}")
            yield from indented(clip(event.text.partition("\n")[0], 200))
        case "undo" if event.title:
            yield ink.warn(f"{where}{title}")
        case "undone" if event.title:
            yield f"{where}{title}{spent}"
        case "skipped":
            reason = "given up" if row else "skipped" if event.text else "not started"
            yield ink.dim(f"{where}{reason}: {title}")
        case "held":
            yield f"{where}{title}: nothing to do"
        case "undecided":
            yield f"{where}{title}: the run decides whether this is needed"
        case "warning":
            yield ink.warn(f"{where}warning: {event.text}")
        case "note":
            yield f"{where}{event.text}"
