"""A failure on nodes as text or document: what, where, the nodes' last lines, the known cause, what to do. Pure.

The last lines of every failed node are shown. `session/execute.py` chooses the failure that the error names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sparkops.core.diagnosis import Diagnosis, best, diagnose
from sparkops.core.plan import Event
from sparkops.errors import SparkopsError
from sparkops.report.text import Ink, indented, tail

LAST_LINES = 12


@dataclass(frozen=True)
class ToldFailure:
    """An error with the output of the failed steps by node, and the best diagnosis of it."""

    error: SparkopsError
    evidence: tuple[tuple[str, str], ...]
    diagnosis: Diagnosis | None

    @property
    def hints(self) -> tuple[str, ...]:
        found = (self.diagnosis and self.diagnosis.hint, self.error.hint)
        return tuple(dict.fromkeys(hint for hint in found if hint))


def read(error: SparkopsError, failed: Sequence[Event]) -> ToldFailure:
    texts = [(event.node or "", event.text) for event in failed if event.text]
    readings = [found for _, text in texts if (found := diagnose(text.splitlines()))]
    shown = tuple((node, tail(text, LAST_LINES)) for node, text in texts if tail(text, LAST_LINES) not in error.message)
    return ToldFailure(error, shown, best(readings))


def document(told: ToldFailure) -> dict[str, Any]:
    """The keys that the output of failed steps adds to `error`."""
    found: dict[str, Any] = {"hint": "; ".join(told.hints) or None}
    if told.diagnosis:
        found["diagnosis"] = {"id": told.diagnosis.id, "cause": told.diagnosis.cause, "line": told.diagnosis.line}
    if told.evidence:
        found["logs"] = [{"node": node, "tail": text} for node, text in told.evidence]
    return found


def lines(told: ToldFailure, ink: Ink) -> Iterator[str]:
    """The last lines that the user sees."""
    for node, text in told.evidence:
        yield ink.bold(f"last lines of {node}:" if node else "last lines:")
        yield from indented(text, "  ")
    yield f"{ink.bad('error:')} {told.error.message}"
    where = [part for part in (told.error.node, told.error.step) if part and part not in told.error.message]
    if where:
        yield "  at " + ", ".join(where)
    if told.diagnosis:
        yield f"{ink.bold('cause:')} {told.diagnosis.cause}"
    for hint in told.hints:
        yield f"{ink.bold('next:')} {hint}"
