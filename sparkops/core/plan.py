"""Plans as data: commands, steps, phases, the plan, results and events.

Everything here is frozen and free of IO. `deploy` executes exactly what `plan` printed, so a plan contains no random
value, no time and no secret.
"""

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sparkops.core.playbook.expression import Expression
from sparkops.core.playbook.names import Path

SCHEMA = 1
"""Version of the plan's JSON shape."""

TOLD = "told"
"""Marks a field that is only shown, so it is no part of a plan's id."""


@dataclass(frozen=True)
class Script:
    """One of our node scripts (`sparkops/node/NAME.sh`) as a word; sent as `sh -c TEXT NAME`."""

    name: str


@dataclass(frozen=True)
class Secret:
    """A value that a plan may name but never hold; the world resolves it when the command is sent."""

    name: str

    def __str__(self) -> str:
        return "***"


@dataclass(frozen=True)
class Upload:
    """A file of the control machine as stdin: read while it is sent, so it may be larger than the memory."""

    path: str
    size: int


Word = str | Script


@dataclass(frozen=True)
class Command:
    """One command on one node.

    `stdin` is given to the command and then closed. `become` runs it through sudo. A command that `reads` changes
    nothing and needs no lock. `run.sh` enforces `timeout` (seconds) on the node. Ctrl-C ends commands that read or that
    have `ends`; it waits for the others.
    """

    words: tuple[Word, ...]
    stdin: str | Secret | Upload | None = None
    become: bool = False
    reads: bool = False
    timeout: float = 60.0
    ends: bool = False


@dataclass(frozen=True)
class WaitLimits:
    """Seconds to wait for a loading engine: `stall` while nothing changes, `deadline` in all."""

    stall: float = 600.0
    deadline: float = 2700.0


USUAL = WaitLimits()


@dataclass(frozen=True)
class Wait:
    """Poll `probe` every `every` seconds until its first line says `ready`.

    The probe's first stdout line is `ready`, `wait` or `never`, with an optional reason behind a space;
    what follows is evidence (state, last log lines). `never` ends the wait at once. Evidence that does not
    change for `stall` seconds (below a line `log` it may), or `deadline` seconds in all, ends it too.
    `through` is the id of the step that waits for the API of this rank: once it is done, this node need not answer.
    """

    probe: Command
    every: float = 2.0
    stall: float = USUAL.stall
    deadline: float = USUAL.deadline
    through: str | None = field(default=None, metadata={TOLD: True})


@dataclass(frozen=True)
class RebootWait(Wait):
    """A wait for a node that is expected to be away, or to refuse logins, until the deadline."""


@dataclass(frozen=True)
class Action:
    """A command, then an optional wait; a wait alone changes nothing.

    `proof` is a short wait of an undo that tells whether what came back answers; it does not fail the undo. `needs` are
    the nodes without which the undo's waits are for nothing.
    """

    command: Command | None = None
    wait: Wait | None = None
    proof: Wait | None = None
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Terms:
    """The keys of a playbook's step that are evaluated during the run.

    `when` uses results that earlier steps registered; values known before the run are already filled in. A step whose
    `unless` exits with 0 is not needed. `message` is shown when the step is done, with results filled in. `once`: its
    result is known on every node of the plan.
    """

    when: Expression | None = None
    unless: Command | None = None
    register: str | None = None
    message: tuple[str | Path, ...] = ()
    ignore_errors: bool = False
    once: bool = False


@dataclass(frozen=True)
class Undoing:
    """What a person reads while a step is undone, and when it is: what comes back. An empty text is not shown."""

    doing: str = ""
    done: str = ""


@dataclass(frozen=True)
class Step:
    """One action on one node. `id` is unique in its plan; `undo` is tried whenever `do` was sent."""

    id: str
    node: str
    title: str
    do: Action
    undo: Action | None = None
    terms: Terms | None = None
    undoing: Undoing | None = field(default=None, metadata={TOLD: True})
    """None: its title says what is undone."""

    @property
    def changes(self) -> bool:
        return self.do.command is not None and not self.do.command.reads


@dataclass(frozen=True)
class Phase:
    """Steps that belong together: one node's in order, all nodes at once, a barrier after.

    `serial` takes one node after the other instead.
    """

    name: str
    steps: tuple[Step, ...]
    serial: bool = False


@dataclass(frozen=True)
class Plan:
    """All that a verb will do.

    `on_failure`: `undo` what was sent; `stop` there; `go-on` with all that is left, as a removal must; or `drop` the
    node and go on while a phase has others.
    """

    verb: str
    revision: Mapping[str, Any] | None
    phases: tuple[Phase, ...]
    on_failure: Literal["undo", "stop", "go-on", "drop"] = "undo"
    replaces: str | None = None
    schema: int = SCHEMA

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(step for phase in self.phases for step in phase.steps)

    @property
    def changes(self) -> bool:
        return any(step.changes for step in self.steps)

    @property
    def id(self) -> str:
        """Twelve hex digits over everything that will be sent, so that `--expect` can hold a run to it."""
        shape = [self.schema, self.verb, self.on_failure, self.replaces, self.revision, _plain(self.phases)]
        text = json.dumps(shape, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


Ended = Literal["exited", "timeout", "cancelled"]


@dataclass(frozen=True)
class Result:
    """How a command ended. A nonzero exit code is a value; only a lost node is an exception."""

    ended: Ended
    code: int
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.ended == "exited" and self.code == 0


class NodeLost(Exception):
    """A node could not be reached, or the connection was lost. `sent`: the command may have run there.

    `heals`: the node may be back a moment later; a refused login or another host key never heals by itself.
    """

    def __init__(self, node: str, reason: str, *, sent: bool, heals: bool = True) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.sent = sent
        self.heals = heals


EventKind = Literal[
    "phase",  # a phase begins; step is its name, data has its number, of how many, and the name of the next
    "start",  # a step was sent
    "progress",  # a wait's evidence changed; text is what the probe printed
    "done",  # data may have its result in words
    "failed",
    "lost",  # the node went away; text says whether the step's result is known
    "undo",  # an undo was sent
    "undone",
    "stuck",  # an undo did not succeed
    "skipped",  # cancelled before it was sent, or its `when` does not hold
    "held",  # not needed: its `unless` holds
    "undecided",  # only the run can tell whether its `when` holds
    "note",  # one line for the person
    "warning",
]


@dataclass(frozen=True)
class Event:
    """One thing that happened, for the terminal and for the run log."""

    kind: EventKind
    text: str = ""
    node: str | None = None
    step: str | None = None
    title: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def shown(words: tuple[Word, ...]) -> str:
    """The command as a person reads it: shell-quoted, our scripts as `@name`."""
    return " ".join(f"@{word.name}" if isinstance(word, Script) else shlex.quote(word) for word in words)


def described(step: Step) -> Iterator[str]:
    """The lines that a plan prints for a step's commands."""
    if step.terms and step.terms.when is not None:
        yield f"when, decided in the run: {step.terms.when}"
    if step.terms and step.terms.unless is not None:
        yield f"unless: {shown(step.terms.unless.words)}"
    for action, mark in ((step.do, ""), (step.undo, "undo: ")):
        if action and action.command:
            sudo = "sudo " if action.command.become else ""
            yield f"{mark}{sudo}{shown(action.command.words)}"
        if action and action.wait:
            yield f"{mark}until ready: {shown(action.wait.probe.words)}"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Script):
        return {"script": value.name}
    if isinstance(value, Secret):
        return {"secret": value.name}
    if hasattr(value, "__dataclass_fields__"):
        sent = (name for name, one in value.__dataclass_fields__.items() if TOLD not in one.metadata)
        return {name: _plain(getattr(value, name)) for name in sent}
    return value
