"""One step of a play, from its file to its value."""

from collections.abc import Callable, Mapping
from typing import Any

from sparkops.core import schema
from sparkops.core.playbook import shape
from sparkops.core.playbook.scope import Scope
from sparkops.core.playbook.values import Action, CopyFile, PlayStep, RebootNode, RunCommand, RunPhase, Say
from sparkops.core.playbook.words import Readers, flag, known, settings, tags
from sparkops.core.schema import Located, fail

ACTIONS = ("command", "copy", "phase", "reboot", "message")
KEYS = shape.keys(shape.StepShape)

_A_DAY = 86_400
_REBOOT_SECONDS = 900.0
_FIT = {
    RunPhase: ("tags",),
    RebootNode: ("tags", "when", "message", "run_once", "ignore_errors", "timeout"),
    Say: ("tags", "when", "message", "run_once"),
}
"""Keys that are allowed beside an action that is no command."""

Beside = Callable[[str], str]
"""Reads a file beside the playbook."""


def read(value: Located, path: str, scope: Scope, beside: Beside) -> PlayStep:
    """A step with its names checked; later steps may use the result that it registers."""
    entries = known(value, path, KEYS)
    name = schema.text(entries["name"], f"{path}: name") if "name" in entries else ""
    path += f" ({name})" if name else ""
    action = _action(value, entries, path, scope, beside)
    given = _settings(entries, path, scope)
    _refuse_useless(entries, action, path)
    if isinstance(action, RebootNode):
        given.setdefault("timeout", _REBOOT_SECONDS)
    if register := given.get("register"):
        scope.registered.add(register)
    return PlayStep(name or _title(action), value.where, action, **given)


def _action(value: Located, entries: Mapping[str, Located], path: str, scope: Scope, beside: Beside) -> Action:
    named = [key for key in ACTIONS if key in entries and key != "message"]
    if len(named) > 1 or not (named or "message" in entries):
        fail(value, path, f"needs one of {', '.join(ACTIONS)}{', not ' + ' and '.join(named) if named else ''}")
    if not named:
        return Say()
    if named[0] == "phase":
        return RunPhase(schema.text(entries["phase"], f"{path}: phase"))
    if named[0] == "reboot":
        if not flag(entries["reboot"], f"{path}: reboot"):
            fail(entries["reboot"], f"{path}: reboot", "must be true; to skip the step, write `when:`")
        return RebootNode()
    if named[0] == "copy":
        return _copy(entries["copy"], f"{path}: copy", scope, beside)
    reads = "reads" in entries and flag(entries["reads"], f"{path}: reads")
    return RunCommand(scope.words(entries["command"], f"{path}: command"), reads)


def _copy(value: Located, path: str, scope: Scope, beside: Beside) -> CopyFile:
    entries = known(value, path, shape.keys(shape.CopyShape))
    if ("src" in entries) == ("content" in entries):
        fail(value, path, "needs either src (a file beside the playbook) or content (a text), not both")
    if "dest" not in entries:
        fail(value, f"{path}.dest", "is required")
    source = schema.text(entries["src"], f"{path}.src") if "src" in entries else None
    try:
        content = scope.text(entries["content"], f"{path}.content") if source is None else beside(source)
    except OSError as error:
        fail(entries["src"], f"{path}.src", f"{source}: {(error.strerror or 'cannot be read').lower()}")
    mode = schema.text(entries["mode"], f"{path}.mode") if "mode" in entries else "0644"
    if not 3 <= len(mode) <= 4 or not set(mode) <= set("01234567"):  # noqa: PLR2004
        fail(entries["mode"], f"{path}.mode", f"must be octal such as '0644', not {mode!r}")
    return CopyFile(scope.text(entries["dest"], f"{path}.dest"), content, mode.zfill(4), source)


def _settings(entries: Mapping[str, Located], path: str, scope: Scope) -> dict[str, Any]:
    readers: Readers = {
        **dict.fromkeys(("unless", "until", "undo"), scope.words),
        **dict.fromkeys(("become", "ignore_errors", "run_once"), flag),
        **dict.fromkeys(("delay", "timeout"), _seconds),
        "when": scope.condition,
        "message": lambda value, where: scope.text(value, where, in_the_run=True),
        "register": lambda value, where: scope.define(value, where, schema.text(value, where)),
        "retries": lambda value, where: schema.integer(value, where, 1, 100_000),
        "environment": scope.texts,
    }
    return {"tags": tags(entries, path), **settings(entries, path, readers)}


def _seconds(value: Located, path: str) -> float:
    return float(schema.integer(value, path, 0, _A_DAY))


def _refuse_useless(entries: Mapping[str, Located], action: Action, path: str) -> None:
    """Refuse keys that would have no effect."""
    fit = _FIT.get(type(action), tuple(key for key in KEYS if "until" in entries or key not in ("retries", "delay")))
    for key, item in entries.items():
        if key not in ("name", *ACTIONS) and key not in fit:
            fail(item, f"{path}: {key}", "has no effect" + (" without until" if key in ("retries", "delay") else ""))


def _title(action: Action) -> str:
    match action:
        case RunPhase(phase):
            return phase
        case RunCommand(words):
            return " ".join(words)[:60]
        case CopyFile(dest):
            return f"copy {dest}"
        case RebootNode():
            return "reboot"
    return "message"
