"""A failure on nodes as text or document: what, where, the nodes' last lines, the known cause, what to do. Pure.

The last lines of every failed node are shown. `most_telling` in `core/diagnosis.py` chooses the log that is diagnosed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sparkops.core.diagnosis import Diagnosis, most_telling
from sparkops.core.plan import Event
from sparkops.errors import SparkopsError
from sparkops.report.text import Ink, indented, tail

LAST_LINES = 12
WHOLE_LOG = "read the engine's whole log: `sparkops logs --previous`"


@dataclass(frozen=True)
class ReadFailure:
    """An error with the output by node of steps that failed or still waited, and the best diagnosis of it."""

    error: SparkopsError
    evidence: tuple[tuple[str, str], ...]
    diagnosis: Diagnosis | None
    node: str | None = None
    """The node of the diagnosed log."""

    engine: bool = False
    """An engine did not come up, and its container was removed again; its log was kept."""

    @property
    def hints(self) -> tuple[str, ...]:
        known = self.diagnosis.hint if self.diagnosis else ""
        whole = WHOLE_LOG if self.engine and "logs --previous" not in known else ""
        return tuple(dict.fromkeys(hint for hint in (known, whole, self.error.hint) if hint))


def read(error: SparkopsError, failed: Sequence[Event]) -> ReadFailure:
    """`failed` are the failures, and with `log` the steps that still waited: they count if their log explains most."""
    logs = [event for event in failed if event.data.get("log") or event.text]
    texts = [(event.node or "", str(event.data.get("log") or event.text)) for event in logs]
    index, diagnosis = most_telling(text for _, text in texts) or (None, None)
    node = None if index is None else texts[index][0]
    told = [one for at, one in enumerate(texts) if at == index or not logs[at].data.get("log")]
    shown = tuple((node, tail(text, LAST_LINES)) for node, text in told if tail(text, LAST_LINES) not in error.message)
    loads = [event for event in failed if event.kind == "failed" and (event.step or "").startswith("load.")]
    engine = bool(error.rolled_back and loads)
    return ReadFailure(error, shown, diagnosis, node, engine)


def document(failure: ReadFailure) -> dict[str, Any]:
    """The keys that the output of failed steps adds to `error`."""
    found: dict[str, Any] = {"hint": "; ".join(failure.hints) or None}
    if known := failure.diagnosis:
        found["diagnosis"] = {"id": known.id, "cause": known.cause, "line": known.line}
    if failure.evidence:
        found["logs"] = [{"node": node, "tail": text} for node, text in failure.evidence]
    return found


def lines(failure: ReadFailure, ink: Ink) -> Iterator[str]:
    """The last lines that the user sees."""
    for node, text in failure.evidence:
        yield ink.bold(f"last lines of {node}:" if node else "last lines:")
        yield from indented(text, "  ")
    yield f"{ink.bad('error:')} {failure.error.message}"
    where = [part for part in (failure.error.node, failure.error.step) if part and part not in failure.error.message]
    if where:
        yield "  at " + ", ".join(where)
    if failure.diagnosis:
        where_else = f"on {failure.node}: " if failure.node not in (None, "", failure.error.node) else ""
        yield f"{ink.bold('cause:')} {where_else}{failure.diagnosis.cause}"
    yield from [failure.error.rolled_back] if failure.error.rolled_back else []
    for hint in failure.hints:
        yield f"{ink.bold('next:')} {hint}"
