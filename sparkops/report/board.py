"""What each node is doing now, from events: one row for each node, and the lines that stay. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sparkops.core.enginelog import progress
from sparkops.core.plan import Event
from sparkops.report.text import Ink, clip, clip_line, clock, indented

VERDICTS = ("ready", "wait", "never")
_GROWS = re.compile(r"[0-9.,]+|\[[#-]*\]")


@dataclass(frozen=True)
class BoardRow:
    """One node: the step under way, the latest text of its wait, and when it began (monotonic seconds)."""

    node: str
    title: str
    since: float
    text: str = ""
    phase: str = ""
    percent: int | None = None


Rows = Mapping[str, BoardRow]


def advance(rows: Rows, event: Event, now: float) -> Rows:
    """The rows after this event. Only steps under way have a row."""
    if event.node is None:
        return {} if event.kind == "phase" else rows
    title = event.title or event.step or ""
    match event.kind:
        case "start":
            return {**rows, event.node: BoardRow(event.node, title, now)}
        case "undo":
            return {**rows, event.node: BoardRow(event.node, event.title or "rolling back", now)}
        case "progress":
            row = rows.get(event.node) or BoardRow(event.node, title, now)
            return {**rows, event.node: _progressed(row, event.text)}
        case "phase" | "note" | "warning":
            return rows
    return {name: row for name, row in rows.items() if name != event.node}


def _progressed(row: BoardRow, evidence: str) -> BoardRow:
    """The row after a probe's output: its verdict and reason, then the engine's last lines."""
    first, _, rest = evidence.partition("\n")
    verdict, _, reason = first.strip().partition(" ")
    if verdict not in VERDICTS:
        rest, reason = evidence, ""
    phase = progress(rest.splitlines())
    if phase is not None:
        return replace(row, text=phase.text, phase=phase.name, percent=phase.percent)
    if reason and not row.phase:
        return replace(row, text=reason)
    return row


def moved(before: BoardRow | None, after: BoardRow | None) -> bool:
    """Whether to print a line without a terminal: for another phase, not for another percentage."""
    if after is None or not after.text:
        return False
    return before is None or _stage(after) != _stage(before)


def _stage(row: BoardRow) -> str:
    """The phase and the text without numbers and progress bar."""
    return f"{row.phase} {re.sub(_GROWS, '', row.text)}"


def live(rows: Rows, now: float, width: int) -> Iterator[str]:
    """The lines that change in place, one for each node."""
    name_width = max((len(name) for name in rows), default=0)
    for row in rows.values():
        yield clip_line(f"{row.node:<{name_width}}  {clock(now - row.since):>5}  {row.text or row.title}", width)


def plain(row: BoardRow, now: float) -> str:
    return f"{row.node}: {clip(row.text or row.title, 160)} ({clock(now - row.since)})"


def kept(event: Event, row: BoardRow | None, now: float, ink: Ink, verbose: bool) -> Iterator[str]:
    """The lines of an event that stay on the screen."""
    where = f"{event.node}: " if event.node else ""
    title = event.title or event.step or ""
    spent = f" ({clock(now - row.since)})" if row and now - row.since >= 1 else ""
    match event.kind:
        case "phase":
            yield ink.bold(f"[{title}]")
        case "start" if verbose:
            yield ink.dim(f"{where}{title} ...")
            yield from (ink.dim(line) for line in indented(event.text))
        case "done":
            yield f"{where}{title}{spent}"
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
