"""Detached work as `job list` prints it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

State = Literal["running", "done", "failed", "lost"]


@dataclass(frozen=True)
class Job:
    """`started` is in epoch seconds of the node; `exit` is None while it runs or when it was killed."""

    node: str
    id: str
    state: State
    exit: int | None
    started: int
    command: str


def listed(node: str, text: str) -> Iterator[Job]:
    """One job a line: ID, state, exit code, start, command; other lines are left out."""
    for line in text.splitlines():
        row = line.split("\t")
        if len(row) == 5 and row[3].isdigit():
            code = int(row[2]) if row[2].isdigit() else None
            yield Job(node, row[0], _state(row[1], code), code, int(row[3]), row[4].strip())


def _state(word: str, code: int | None) -> State:
    if word == "running":
        return "running"
    if code is None:
        return "lost"
    return "failed" if code else "done"
