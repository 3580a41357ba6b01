"""`playbook`: read playbooks without any node. A play with `run:` is a command line of that verb."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from typing import Any

from sparkops.cli.main import parsed
from sparkops.cli.shape import CommandLine, Invocation
from sparkops.core import topology
from sparkops.core.inventory import Node
from sparkops.core.playbook.names import BadExpression, fill
from sparkops.core.playbook.values import Playbook, RunPhase, StepsPlay, VerbPlay
from sparkops.core.schema import did_you_mean, one_line
from sparkops.core.target import Target
from sparkops.errors import UsageError
from sparkops.files import playbooks
from sparkops.phases import PHASES
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.play.options import PlaybookOptions

OUTSIDE = ("inventory", "i", "json", "verbose", "v", "help", "h", "ask-become-pass", "K")
"""Options of every verb that a play cannot give."""

OTHER_BUILT_INS = ("stop", "start", "restart", "rollback", "key rotate")
"""Verbs whose phases an operator's playbook cannot use, because the verb finds what they act on."""


def lint(options: PlaybookOptions, report: Ending) -> Answer:
    """Read a playbook as `play` would; an included one may use the phases of its verb."""
    book = playbooks.playbook(options.name, options.extra)
    ours = playbooks.is_packaged(options.name) or options.name in playbooks.packaged_names()
    for one in book.plays:
        if isinstance(one, VerbPlay):
            _lint(one, options.extra)
        elif not ours:
            _refuse_unknown_phases(one)
    return Answer({"file": book.source, "plays": list(listing(book))})


def _lint(one: VerbPlay, extra: Mapping[str, Any]) -> None:
    """Refuse what the verb refuses, but not the text of a variable that only `play` is given."""
    given, unset = _filled(one.options, extra)
    try:
        whole = replace(one, options=given | unset)
        return refuse_bad_topology(whole, ask_of(whole))
    except UsageError as error:
        told = error.message.removeprefix(f"{one.where}: play {one.name!r}")
        if not any(str(value) in told for value in unset.values()):
            raise
    rest = replace(one, options=given)
    try:
        refuse_bad_topology(rest, ask_of(rest))
    except UsageError as error:
        if not any(f"missing option '--{name}'" in error.message.lower() for name in unset):
            raise


def _filled(options: Mapping[str, Any], extra: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options with their variables filled, and those with a variable that is not given."""
    given, unset = dict[str, Any](), dict[str, Any]()
    for name, value in options.items():
        try:
            given[name] = fill(value, extra) if isinstance(value, str) else value
        except BadExpression:
            unset[name] = value
    return given, unset


def show(options: PlaybookOptions, report: Ending) -> Answer:
    """Print an included playbook."""
    return Answer({"name": options.name, "text": playbooks.packaged_text(options.name)})


def names(options: PlaybookOptions, report: Ending) -> Answer:
    """List the included playbooks with the first line of each."""
    found = []
    for name in playbooks.packaged_names():
        first = playbooks.packaged_text(name).partition("\n")[0]
        found.append({"name": name, "title": first.removeprefix("#").strip()})
    return Answer({"playbooks": found})


def listing(book: Playbook) -> Iterator[dict[str, Any]]:
    """Plays and steps by name."""
    for one in book.plays:
        if isinstance(one, VerbPlay):
            yield {"name": one.name, "verb": one.verb, "with": dict(one.options), "tags": list(one.tags)}
        else:
            steps = [{"name": step.name, "tags": list(step.tags)} for step in one.steps]
            yield {"name": one.name, "hosts": one.hosts or "all", "serial": one.serial, "steps": steps}


def ask_of(one: VerbPlay, extra: Mapping[str, Any] | None = None) -> Invocation:
    """Parse the play as a command line of its verb. Without `extra`, `{{ names }}` are not replaced."""
    place = f"{one.where}: play {one.name!r}: run {one.verb}"
    try:
        _refuse_foreign(one)
        with redirect_stderr(StringIO()):  # a group of verbs answers with its help
            ask = parsed(list(words(one, extra)), CommandLine())
    except (UsageError, BadExpression) as error:
        message = error.message if isinstance(error, UsageError) else str(error)
        hint = error.hint if isinstance(error, UsageError) else "set the variable with `-e NAME=VALUE`"
        raise UsageError(one_line(f"{place}: {message}"), hint=hint) from None
    if not isinstance(ask, Invocation):
        raise UsageError(f"{place}: this is a group of commands", hint=f"name one: `sparkops {one.verb} --help`")
    return ask


def refuse_bad_topology(
    one: VerbPlay, ask: Invocation, select: Callable[[Target], Sequence[Node]] | None = None
) -> None:
    """Refuse a wrong topology, unless it contains a variable; and one for which `select` finds too few nodes."""
    text = getattr(ask.options, "topology", None)
    if not isinstance(text, str) or "{{" in text:
        return
    try:
        wanted = topology.parse(text)
        if select is not None and hasattr(ask.options, "where"):
            topology.place(wanted, select(ask.options.where))
    except UsageError as error:
        raise UsageError(f"{one.where}: play {one.name!r}: {error.message}", hint=error.hint) from None


def _refuse_unknown_phases(one: StepsPlay) -> None:
    for step in one.steps:
        if isinstance(step.action, RunPhase) and step.action.phase not in PHASES:
            near = did_you_mean(step.action.phase, PHASES)
            message = f"{step.where}: play {one.name!r}: deploy has no phase {step.action.phase!r}{near}"
            raise UsageError(one_line(message), hint=_whose(step.action))


def refuse_verbs(name: str) -> None:
    """Refuse to play an included playbook that only shows the steps of a command."""
    verb = name.replace("-", " ")
    if verb in OTHER_BUILT_INS:
        raise UsageError(f"the playbook {name} shows the steps of a command", hint=f"run `sparkops {verb}`")


def _whose(phase: RunPhase) -> str:
    for verb in OTHER_BUILT_INS:
        if any(step.action == phase for step in playbooks.built_in(verb).steps):
            return f"this phase belongs to `sparkops {verb}`; use a play with `run: {verb}`"
    return "list the phases: `sparkops playbook show deploy`"


def _refuse_foreign(one: VerbPlay) -> None:
    """Refuse nested playbooks and options that belong to the command line of `play`."""
    words = one.verb.split()
    if not words or any(not word[0].isalpha() for word in words):
        raise UsageError("`run:` takes a command without options", hint="write its options below `with:`")
    if words[0] == "play":
        raise UsageError("a playbook cannot run another playbook", hint="copy its plays into this file")
    for key in one.options:
        if key in OUTSIDE:
            raise UsageError(f"with: {key} cannot be set here; give it to `sparkops play`")
        if not key[:1].isalpha():
            raise UsageError(f"with: {key!r} is not the name of an option", hint="omit the dashes: `topology: solo`")


def words(one: VerbPlay, extra: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield `with:` as words: options by name, `args:` as arguments, `flags:` after `--`."""
    yield from one.verb.split()
    behind: list[str] = []
    for key, value in one.options.items():
        texts = (_word(key, item) for item in (value if isinstance(value, list) else [value]))
        values = list(texts) if extra is None else [fill(text, extra) for text in texts]
        if key == "args":
            yield from values
        elif key == "flags":
            behind = ["--", *values]
        elif value is True:
            yield f"--{key}"
        elif value is not False and value is not None:
            yield from (word for item in values for word in (f"--{key}", item))
    yield from behind


def _word(key: str, value: Any) -> str:
    if isinstance(value, (dict, list)):
        raise UsageError(f"with: {key} must be one value, or a list of values")
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
