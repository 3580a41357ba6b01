"""Playbooks from text as their reader sees them, and nodes on which their commands really run."""

from __future__ import annotations

import os
import subprocess
import textwrap
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sparkops.core.inventory import Node
from sparkops.core.plan import Command, Event, NodeLost, Plan, Result, Script, shown
from sparkops.core.playbook import reading
from sparkops.core.playbook.recap import Recap, recap
from sparkops.core.playbook.values import StepsPlay
from sparkops.located import parse
from sparkops.phases.operator import as_check, compile_play
from sparkops.remote.execute import Outcome, execute
from sparkops.remote.frame import script_text


@pytest.fixture
def read():
    """A playbook's text to its values; files beside it are `beside`."""

    def made(text, beside=None, extra=()):
        def file(name):
            try:
                return (beside or {})[name]
            except KeyError:
                raise FileNotFoundError(2, "No such file or directory") from None

        return reading.read(parse(textwrap.dedent(text).encode(), "play.yml"), file, extra)

    return made


@pytest.fixture
def run(read, homes):
    """Run or check the first play of a text; `known` are names that every node has."""

    def played(text, beside=None, **settings):
        return homes.play(read(text, beside).plays[0], **settings)

    return played


@dataclass
class Homes:
    """A world of nodes that are directories here: commands really run, in a shell of this machine, one after the other.

    `away` are nodes that nobody reaches; `sent` is every command that went out, as (node, words as a plan shows them).
    """

    place: Path
    nodes: tuple[Node, ...]
    away: set[str] = field(default_factory=set)
    sent: list[tuple[str, str]] = field(default_factory=list)
    clock: float = 0.0

    def home(self, node: str) -> Path:
        return self.place / node

    def send(self, node: str, command: Command, cancel: threading.Event) -> Result:
        if node in self.away:
            raise NodeLost(node, "no route to host", sent=False)
        self.sent.append((node, shown(command.words)))
        words: list[str] = []
        for one in command.words:
            text = script_text(one.name) if isinstance(one, Script) else ""
            words += ["sh", "-c", text, one.name] if isinstance(one, Script) else [one]
        done = subprocess.run(
            words, input=str(command.stdin or ""), capture_output=True, text=True, check=False, cwd=self.home(node),
            env={**os.environ, "HOME": str(self.home(node))}, timeout=120,
        )  # fmt: skip
        return Result("exited", done.returncode, done.stdout, done.stderr)

    def now(self) -> float:
        return self.clock

    def pause(self, seconds: float, cancel: threading.Event) -> None:
        self.clock += seconds

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def each(self, tasks: Mapping[str, Callable[[threading.Event], None]], cancel: threading.Event) -> None:
        for task in tasks.values():
            task(cancel)

    def cancel(self) -> threading.Event:
        return threading.Event()

    def play(self, play: StepsPlay, *, check: bool = False, known: Mapping[str, Any] | None = None) -> Ran:
        """Compile it with the play's vars and what is `known`, then run it or check it."""
        names = {node.name: {**play.vars, **(known or {}), "node": asdict(node)} for node in self.nodes}
        plan = compile_play(play, self.nodes, names, {})
        events: list[Event] = []
        outcome = execute(as_check(plan) if check else plan, self, events.append)
        return Ran(plan, outcome, tuple(events), recap(plan, events))


@dataclass(frozen=True)
class Ran:
    plan: Plan
    outcome: Outcome
    events: tuple[Event, ...]
    recap: Mapping[str, Recap]

    def told(self, kind: str) -> list[tuple[str | None, str]]:
        return [(event.node, event.text or event.title) for event in self.events if event.kind == kind]


@pytest.fixture
def homes(tmp_path):
    """Three nodes."""
    names = ("spark1", "spark2", "spark3")
    for name in names:
        (tmp_path / name).mkdir()
    return Homes(tmp_path, tuple(Node(name, f"10.0.0.{number}") for number, name in enumerate(names, 1)))
