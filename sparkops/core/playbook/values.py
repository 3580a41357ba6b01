"""A playbook as the operator wrote it: plays that run a verb, and plays of steps on hosts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sparkops.core.playbook.expression import Expression

Words = tuple[str, ...]
OnFailure = Literal["drop", "stop", "undo", "go-on"]


@dataclass(frozen=True)
class RunPhase:
    """One of the built-in phases, by name."""

    phase: str


@dataclass(frozen=True)
class RunCommand:
    """Words for the node, without a shell. `reads` promises that it changes nothing."""

    words: Words
    reads: bool = False


@dataclass(frozen=True)
class CopyFile:
    """A text to a file on the node; `source` is a file beside the playbook, read when the playbook is."""

    dest: str
    content: str
    mode: str = "0644"
    source: str | None = None


@dataclass(frozen=True)
class RebootNode:
    """RebootNode the node and wait until it has booted again."""


@dataclass(frozen=True)
class Say:
    """Only the step's message."""


Action = RunPhase | RunCommand | CopyFile | RebootNode | Say


@dataclass(frozen=True)
class PlayStep:
    """One step on every host of its play. `delay` and `timeout` are seconds."""

    name: str
    where: str
    action: Action
    when: Expression | None = None
    unless: Words = ()
    until: Words = ()
    undo: Words = ()
    retries: int = 30
    delay: float = 10.0
    timeout: float = 300.0
    register: str | None = None
    message: str | None = None
    become: bool = False
    ignore_errors: bool = False
    run_once: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepsPlay:
    """`serial` hosts at a time, all of them when None. `on_failure`: drop the host, stop, undo, or go on."""

    name: str
    where: str
    steps: tuple[PlayStep, ...]
    hosts: str | None = None
    serial: int | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)
    on_failure: OnFailure = "drop"


@dataclass(frozen=True)
class VerbPlay:
    """A verb with the options that it has on the command line."""

    name: str
    where: str
    verb: str
    options: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()


Play = StepsPlay | VerbPlay


@dataclass(frozen=True)
class Playbook:
    source: str
    plays: tuple[Play, ...]
