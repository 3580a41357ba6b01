"""What runs leave on each node that they lock: one line when they begin, one when they end.

A line is a JSON object with `schema`, `event` and `run`; readers ignore keys and events that they do not know.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sparkops.core.printable import printable_line

SCHEMA = 1
OF_ANY = ("stop", "play")
"""Verbs that are about any deployment if they name none."""

EVERYTHING = "*"
"""In `settled`: whatever is deployed on the node. No deployment has this name."""

COMMAND, OUTCOME, WORD = 1000, 200, 100
"""Longest texts in characters: command lines, outcomes, all others."""

LONGEST_LOAD, LARGEST_NODE = 86_400, 131_072
"""Seconds, and MiB; what says more is damaged."""


@dataclass(frozen=True)
class Load:
    """What a deploy started, and the seconds from the first stop to the last answer. Equal ones should take as long.

    `seconds` is None if some engine ran already. `revision` is the hash of what answered, empty in notes of earlier
    versions. `beyond_mib` is the most that an engine then held on one node beyond the share of memory that it requests;
    None if that was not measured.
    """

    recipe: str
    image: str
    topology: str
    seconds: int | None = field(compare=False)
    revision: str = field(default="", compare=False)
    beyond_mib: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Note:
    """One line of a node's history: `begin` has who and what, `end` has how. `at` is in UTC.

    `deployment` is the one that the run is about, empty if it is about all or none. `settled` are those that it left in
    a known state, whatever an earlier run had left half done. A run that finds out which deployment it is about adds an
    `about`; that of a rollback has the hashes of what it starts (`started`) and of what it stops for that, that of a
    `restart` and of a `key rotate` those of what it stops and starts again (`restarts`), that of a deploy those of
    what it stops (`replaces`). The end of an `apply` names its `fleet` and, if its file was as in a commit of git, that
    `commit`.
    """

    event: str
    run: str
    at: str
    operator: str = ""
    verb: str = ""
    command: str = ""
    deployment: str = ""
    exit_code: int | None = None
    changed: bool | None = None
    outcome: str = ""
    settled: tuple[str, ...] = ()
    load: Load | None = None
    started: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    restarts: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    fleet: str = ""
    commit: str = ""

    @property
    def of_any(self) -> bool:
        """Whether it begins a run that is about whatever is deployed there."""
        return self.verb in OF_ANY and not self.deployment


@dataclass(frozen=True)
class NodeHistory:
    """The notes of one node, oldest first; `holder` is the run that holds its lock now."""

    notes: tuple[Note, ...] = ()
    holder: str | None = None


def line(note: Note) -> str:
    """The note as its node keeps it, without the keys that it lacks."""
    keys = {name: value for name, value in asdict(note).items() if value not in ("", None, ())}
    return json.dumps({"schema": SCHEMA, **keys}, separators=(",", ":"))


def notes(text: str) -> tuple[Note, ...]:
    """The notes of a node's history; damaged lines are left out, and control characters are written as escapes."""
    return tuple(note for one in text.splitlines() if (note := _note(one)))


def _note(text: str) -> Note | None:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, Mapping) or told.get("event") not in ("begin", "about", "end") or not _text(told, "run"):
        return None
    code, changed = told.get("exit_code"), told.get("changed")
    return Note(
        told["event"],
        _text(told, "run"),
        _text(told, "at"),
        _text(told, "operator"),
        _text(told, "verb"),
        _text(told, "command", COMMAND),
        _text(told, "deployment"),
        code if isinstance(code, int) and not isinstance(code, bool) else None,
        changed if isinstance(changed, bool) else None,
        _text(told, "outcome", OUTCOME),
        _names(told.get("settled")),
        _load(told.get("load")),
        _names(told.get("started")),
        _names(told.get("stopped")),
        _names(told.get("restarts")),
        _names(told.get("replaces")),
        _text(told, "fleet"),
        _text(told, "commit"),
    )


def _load(told: Any) -> Load | None:
    if not isinstance(told, Mapping):
        return None
    names = (_text(told, "recipe"), _text(told, "image", OUTCOME), _text(told, "topology"))
    seconds, beyond = _count(told, "seconds", LONGEST_LOAD), _count(told, "beyond_mib", LARGEST_NODE)
    return Load(*names, seconds, _text(told, "revision"), beyond)


def _count(told: Mapping[str, Any], key: str, most: int) -> int | None:
    value = told.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else None


def _names(told: Any) -> tuple[str, ...]:
    return tuple(printable_line(name, WORD) for name in told if isinstance(name, str)) if isinstance(told, list) else ()


def _text(told: Mapping[str, Any], key: str, most: int = WORD) -> str:
    value = told.get(key)
    return printable_line(value, most) if isinstance(value, str) else ""
