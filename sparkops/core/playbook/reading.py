"""From a playbook's file to a Playbook. An error is one line: file, line, play, step, and what to write instead."""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from sparkops.core import schema
from sparkops.core.playbook import shape, steps
from sparkops.core.playbook.names import BadExpression, places
from sparkops.core.playbook.scope import Scope
from sparkops.core.playbook.values import OnFailure, Play, Playbook, PlayStep, RebootNode, RunPhase, StepsPlay, VerbPlay
from sparkops.core.playbook.words import Readers, known, settings, tags
from sparkops.core.schema import Located, fail
from sparkops.errors import UsageError

_STEPS = shape.keys(shape.StepsPlayShape)
_VERB = shape.keys(shape.VerbPlay)
_MOST_HOSTS = 10_000


def read(document: Located, beside: steps.Beside, extra: Iterable[str] = ()) -> Playbook:
    """`extra` are the names that `-e` gives."""
    plays = schema.listed(document)
    if not plays:
        fail(document, "", "has no plays: a playbook is a list of plays")
    return Playbook(document.file, tuple(_play(play, number, beside, extra) for number, play in enumerate(plays, 1)))


def _play(value: Located, number: int, beside: steps.Beside, extra: Iterable[str]) -> Play:
    path = f"play {number}"
    entries = known(value, path, tuple(dict.fromkeys((*_STEPS, *_VERB))))
    name = schema.text(entries["name"], f"{path}: name") if "name" in entries else ""
    path += f" ({name})" if name else ""
    if ("run" in entries) == ("steps" in entries):
        fail(value, path, "needs either `run:` (a command of sparkops) or `steps:`, not both")
    if "run" in entries:
        return _verb(value, known(value, path, _VERB), name, path)
    return _steps(value, known(value, path, _STEPS), name or path, path, beside, extra)


def _verb(value: Located, entries: Mapping[str, Located], name: str, path: str) -> VerbPlay:
    verb = schema.text(entries["run"], f"{path}: run")
    given = schema.mapping(entries["with"], f"{path}: with") if "with" in entries else {}
    for key, item in given.items():
        _refuse_bad_names(item, f"{path}: with.{key}")
    options = {key: _value(item) for key, item in given.items()}
    return VerbPlay(name or verb, value.where, verb, options, tags(entries, path))


def _refuse_bad_names(value: Located, path: str) -> None:
    """Refuse bad names in braces in a verb's options. Whether a name exists is known only with the run's `-e`."""
    for item in value.value if isinstance(value.value, tuple) else (value,):
        try:
            places(str(item.value))
        except BadExpression as error:
            fail(item, path, str(error))


def _steps(
    value: Located,
    entries: Mapping[str, Located],
    name: str,
    path: str,
    beside: steps.Beside,
    extra: Iterable[str],
) -> StepsPlay:
    own = _vars(entries, path)
    scope = Scope((*own, *extra))
    listed = schema.listed(entries["steps"], f"{path}: steps")
    if not listed:
        fail(entries["steps"], f"{path}: steps", "is empty")
    made = tuple(steps.read(one, f"{path}, step {number}", scope, beside) for number, one in enumerate(listed, 1))
    _refuse_reboots(made)
    readers: Readers = {
        "hosts": _hosts,
        "serial": lambda value, where: schema.integer(value, where, 1, _MOST_HOSTS),
        "on_failure": lambda value, where: schema.choice(value, where, get_args(OnFailure)),
    }
    return StepsPlay(name, value.where, made, vars=own, **settings(entries, path, readers))


def _refuse_reboots(made: tuple[PlayStep, ...]) -> None:
    """Refuse a second reboot, which would compare with the boot before the first, and one amid a deploy."""
    reboots = [step for step in made if isinstance(step.action, RebootNode)]
    if len(reboots) > 1:
        raise UsageError(f"{reboots[1].where}: a play has only one step with `reboot`", hint="write it in another play")
    if reboots and any(isinstance(step.action, RunPhase) for step in made):
        hint = "write the reboot in a play before it"
        raise UsageError(f"{reboots[0].where}: a play with phases of deploy cannot reboot its nodes", hint=hint)


def _vars(entries: Mapping[str, Located], path: str) -> dict[str, Any]:
    given = schema.mapping(entries["vars"], f"{path}: vars") if "vars" in entries else {}
    scope = Scope(())
    return {scope.define(item, f"{path}: vars", name): _value(item) for name, item in given.items()}


def _value(value: Located) -> Any:
    """A var as it was written: 1.10 stays 1.10."""
    if isinstance(value.value, dict):
        return {key: _value(item) for key, item in value.value.items()}
    if isinstance(value.value, tuple):
        return [_value(item) for item in value.value]
    return schema.exact(value.text) if value.text is not None and not value.style else value.value


def _hosts(value: Located, path: str) -> str:
    """A pattern as `--limit` takes it, perhaps with names in braces; a list is several."""
    items = value.value if isinstance(value.value, tuple) else (value,)
    found = ",".join(schema.text(item, path) for item in items)
    try:
        places(found)
    except BadExpression as error:
        fail(value, path, str(error))
    return found
