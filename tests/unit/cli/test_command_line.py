"""What words on the command line become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest

from sparkops.asks import FactsOptions, KeyOptions, PlanOptions, Where
from sparkops.cli import table
from sparkops.cli.main import parsed
from sparkops.cli.shape import Ask, Line
from sparkops.cli.table import COMMANDS, SECTIONS, VERBS
from sparkops.cli.where import api_key
from sparkops.errors import UsageError

Run = Callable[..., Any]


def asked(*words: str) -> Any:
    ask = parsed(list(words), Line())
    assert isinstance(ask, Ask)
    return ask.options


def flags(*words: str) -> dict[str, Any]:
    line = Line()
    parsed(list(words), line)
    return line.flags


@pytest.mark.parametrize("words", [("-i", "x.yml", "--limit", "a", "--json", "status"),
                                   ("status", "-i", "x.yml", "--limit", "a", "--json"),
                                   ("--json", "status", "--limit", "a", "-i", "x.yml")])  # fmt: skip
def test_global_options_stand_before_or_behind_the_verb(words: tuple[str, ...]) -> None:
    assert asked(*words).where == Where("x.yml", "a")
    assert flags(*words) == {"inventory": "x.yml", "limit": "a", "json": True}


def test_the_later_of_two_global_options_wins() -> None:
    assert asked("-i", "a.yml", "status", "-i", "b.yml").where.inventory == "b.yml"


def test_global_options_reach_a_verb_of_two_words() -> None:
    assert flags("key", "--json", "rotate", "-v") == {"json": True, "verbose": True}


def test_what_stands_behind_the_dashes_goes_to_the_engine_as_it_is() -> None:
    options = asked("plan", "--topology", "solo", "--", "--seed", "7", "--json", "--", "-i")
    assert options.extra == ("--seed", "7", "--json", "--", "-i")
    assert options.where.inventory is None


def test_all_options_of_a_deploy_arrive() -> None:
    options = asked(
        "deploy", "--topology", "cluster", "--recipe", "r", "--name", "n", "--executor", "mp", "--set", "args.a=1",
        "--set", "env.B=2", "--allow", "x", "--allow", "y", "--expect", "abc", "--alongside", "--refresh",
        "--proxy", "all", "--stall", "90", "--deadline", "2h",
    )  # fmt: skip
    assert options == PlanOptions(
        where=Where(), topology="cluster", recipe="r", name="n", executor="mp", sets=("args.a=1", "env.B=2"),
        allow=frozenset({"x", "y"}), expect="abc", alongside=True, refresh=True, proxy="all",
        stall=90.0, deadline=7200.0,
    )  # fmt: skip


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


def test_key_alone_reads_and_key_rotate_writes() -> None:
    assert asked("key") == KeyOptions(Where())
    assert asked("key", "rotate") == KeyOptions(Where(), rotate=True)


def test_facts_of_one_node_may_be_raw() -> None:
    assert asked("facts", "spark1", "--raw") == FactsOptions(Where(), "spark1", raw=True)


@pytest.mark.parametrize(
    "words",
    [
        ("deploy",),
        ("deploy", "--topology", "solo", "stray"),
        ("deploy", "--topology", "solo", "--stall", "soon"),
        ("deploy", "--topology", "solo", "--deadline", "0"),
        ("deploy", "--topology", "solo", "--executor", "slurm"),
        ("facts", "--raw"),
        ("endpoint",),
        ("lab", "up", "--nodes", "0"),
        ("status", "--nonsense"),
        ("frobnicate",),
    ],
)
def test_wrong_usage_is_a_usage_error(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        parsed(list(words), Line())


BY_OPTION = {"preflight list", "preflight explain"}
"""Verbs that an option of another chooses."""


def test_every_command_has_a_verb_and_every_verb_a_command() -> None:
    found = set()
    for name in COMMANDS:
        command = table.command(name)
        below = command.list_commands(click.Context(command)) if isinstance(command, click.Group) else []
        found |= {f"{name} {sub}" for sub in below}
        if not below or getattr(command, "invoke_without_command", False):
            found.add(name)
    assert found == set(VERBS) - BY_OPTION


def test_every_command_shows_an_example_in_its_help(sparkops: Run) -> None:
    for verb in set(VERBS) - BY_OPTION:
        told = sparkops(*verb.split(), "--help")
        assert told.code == 0
        assert "Example" in told.out, verb


def test_help_shows_every_command_in_a_group(sparkops: Run) -> None:
    told = sparkops("--help").out
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)
    assert all(f"\n{title}:\n" in told for title in SECTIONS)


def test_the_line_of_a_command_in_the_help_is_how_its_own_help_begins() -> None:
    own = {name: (table.command(name).help or "").split("\n")[0] for name in COMMANDS}
    assert own == {name: text for name, (_, text) in COMMANDS.items()}


def test_a_mistyped_verb_names_the_nearest(sparkops: Run) -> None:
    told = sparkops("dploy")
    assert told.code == 2
    assert "did you mean `sparkops deploy`?" in told.err
    assert told.out == ""


def test_a_password_is_never_asked_for_without_a_terminal(sparkops: Run) -> None:
    told = sparkops("status", "--ask-become-pass")
    assert told.code == 2
    assert "$SPARKOPS_BECOME_PASSWORD" in told.err


def test_a_password_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKOPS_BECOME_PASSWORD", "hunter2")
    options = asked("status", "--ask-become-pass")
    assert options.where.become_password == "hunter2"
    assert "hunter2" not in repr(options)


def test_a_lab_that_is_not_up_is_said(sparkops: Run) -> None:
    told = sparkops("-i", "lab", "status")
    assert told.code == 2
    assert "sparkops lab up" in told.err
