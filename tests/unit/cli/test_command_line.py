"""What words on the command line become, beside what parsed.txt and typed.txt hold."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from sparkops.cli import registry
from sparkops.cli.main import parsed
from sparkops.cli.registry import COMMANDS
from sparkops.cli.shape import CommandLine, Invocation
from sparkops.cli.where import api_key
from sparkops.errors import UsageError

Run = Callable[..., Any]


def asked(*words: str) -> Any:
    ask = parsed(list(words), CommandLine())
    assert isinstance(ask, Invocation)
    return ask.options


def test_the_key_comes_from_the_environment_and_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKOPS_API_KEY", "sk-very-secret")
    options = asked("deploy", "--topology", "solo")
    assert options.api_key == "sk-very-secret"
    assert "sk-very-secret" not in repr(options)


@pytest.mark.parametrize("value", ["two words", "line\n", 'a"quote', "back\\slash", "clé"])
def test_a_key_that_no_header_can_carry_is_refused_before_any_node(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKOPS_API_KEY", value)
    with pytest.raises(UsageError, match="SPARKOPS_API_KEY"):
        api_key()


WRONG = (
    "deploy", "deploy --topology solo stray", "deploy --topology solo --stall soon",
    "deploy --topology solo --deadline 0", "deploy --topology solo --executor slurm", "facts --raw", "endpoint",
    "lab up --nodes 0", "status --nonsense", "frobnicate",
)  # fmt: skip


@pytest.mark.parametrize("words", WRONG)
def test_wrong_usage_is_a_usage_error(words: str) -> None:
    with pytest.raises(UsageError):
        parsed(words.split(), CommandLine())


VERBS = {name for name, verb in registry.VERBS.items() if verb.run}
BY_OPTION = {"preflight list", "preflight explain"}
"""Verbs that an option of another chooses."""


def test_every_command_has_a_verb_and_every_verb_a_command() -> None:
    found = [one for name in COMMANDS for one in runs(name, registry.command(name))]
    assert sorted(found) == sorted(VERBS - BY_OPTION)


def runs(name: str, command: click.Command) -> Iterator[str]:
    """The command lines that do something, of a command and of all below it."""
    below = command.commands if isinstance(command, click.Group) else {}
    if not below or getattr(command, "invoke_without_command", False):
        yield name
    for sub, one in below.items():
        yield from runs(f"{name} {sub}", one)


def test_every_command_shows_an_example_in_its_help(sparkops: Run) -> None:
    for verb in VERBS - BY_OPTION:
        told = sparkops(*verb.split(), "--help")
        assert told.code == 0
        assert "Example" in told.out, verb


def test_help_shows_every_command_in_a_group(sparkops: Run) -> None:
    told = sparkops("--help").out
    shown = re.findall(r"^  ([a-z]+)  ", told.partition("First steps")[0], re.MULTILINE)
    assert sorted(shown) == sorted(COMMANDS)
    assert all(f"\n{verb.section}:\n" in told for verb in COMMANDS.values())


def test_the_line_of_a_command_in_the_help_is_how_its_own_help_begins() -> None:
    own = {name: (registry.command(name).help or "").split("\n")[0] for name in COMMANDS}
    assert own == {name: verb.summary for name, verb in COMMANDS.items()}


def test_a_password_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKOPS_BECOME_PASSWORD", "hunter2")
    options = asked("status", "--ask-become-pass")
    assert options.where.become_password == "hunter2"
    assert "hunter2" not in repr(options)


@pytest.mark.parametrize("words", ["preflight --list", "preflight --explain ray-port"])
def test_checks_are_shown_without_a_lab_and_without_a_password(words: str) -> None:
    assert parsed(["-i", "lab", *words.split(), "--ask-become-pass"], CommandLine()) is not None


@pytest.mark.parametrize("words", ["run", "memory --watch --json", "facts --raw", "logs --follow --json"])
def test_wrong_options_are_refused_before_the_password_is_asked_for(words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parsed(["-i", "lab", *words.split(), "--ask-become-pass"], CommandLine())
    assert "lab" not in refused.value.message
    assert "terminal" not in refused.value.message
