"""Random commands, one after the other, also killed or with a node lost: what holds whatever was typed.

`SPARKOPS_SEQUENCES=1000` tries so many.
"""

import os
import random
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from sparkops.testing import Trouble
from support.world import Lab

RECIPES = ("openai-gpt-oss-120b", "qwen3-next-80b-a3b-instruct-fp8")
NAMES = (*RECIPES, "a", "b")
VERBS = ("stop", "start", "restart", "rollback", "rollback")
SEEDS = range(int(os.environ.get("SPARKOPS_SEQUENCES", "24")))


@pytest.fixture
def lab(lab_of: Any) -> Lab:
    return lab_of(3)


def deploy(chance: random.Random, nodes: list[str]) -> list[str]:
    topology, count = chance.choice((("solo", 1), ("solo", 1), ("cluster", 2), ("2x-solo", 2)))
    words = ["deploy", "--topology", topology, "--recipe", chance.choice(RECIPES)]
    words += ["--limit", ",".join(chance.sample(nodes, count))]
    return words + (["--name", chance.choice(NAMES[2:])] if chance.random() < 0.3 else [])


def command(chance: random.Random, nodes: list[str]) -> list[str]:
    if chance.random() < 0.4:
        return deploy(chance, nodes)
    words = [chance.choice(VERBS)]
    words += [chance.choice(NAMES)] if chance.random() < 0.3 else []
    return words + (["--limit", ",".join(chance.sample(nodes, chance.choice((1, 2))))] if chance.random() < 0.5 else [])


def advised(text: str) -> Iterator[list[str]]:
    """The commands that a text prints, without the inventory."""
    for one in re.findall(r"`sparkops ([^`]*)`", text):
        words = shlex.split(one)
        yield words[2:] if words[0] == "-i" else words


@pytest.mark.parametrize("seed", SEEDS)
def test_a_refusal_changes_nothing_and_names_what_works_and_a_second_rollback_undoes_the_first(
    lab: Lab, seed: int
) -> None:
    chance = random.Random(seed)
    for _ in range(10):
        words, before, containers = command(chance, lab.names), lab.running(), lab.containers()
        ran = lab.cli(*words, "--json")
        assert ran.code in (0, 2, 3), words
        assert lab.crowded() == [], words
        if ran.code:
            assert (lab.running(), lab.containers()) == (before, containers), words
            follow(lab, chance, str(ran.document["error"]["hint"]))
        elif words[0] == "rollback" and "--limit" not in words and before != lab.running() and before:
            again = lab.cli("rollback", "--json")
            for one in advised(str(again.document["error"]["hint"])) if again.code else ():
                lab.cli(*one)
                break
            assert again.code or lab.running() == before, words


def follow(lab: Lab, chance: random.Random, hint: str) -> None:
    """Type one of the printed commands; it may only be refused for what it would stop besides, and says how then."""
    printed = [one for one in advised(hint) if "--check" not in one and "..." not in one]
    if not printed:
        return
    typed = chance.choice(printed)
    ran = lab.cli(*typed, "--json")
    assert ran.code == 0 or "must also stop" in ran.document["error"]["message"], typed
    assert lab.crowded() == [], typed


@pytest.mark.parametrize("seed", SEEDS)
def test_after_a_kill_an_interrupt_or_a_lost_node_what_status_prints_works_until_all_is_well(
    lab: Lab, seed: int
) -> None:
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 3)):
        lab.cli(*deploy(chance, lab.names))
    words = chance.choice((command(chance, lab.names), ["key", "rotate"]))
    kind, at = (
        chance.choice(("crash-before", "crash-after", "interrupt", "lost-before", "lost-applied")),
        chance.randint(2, 40),
    )
    if kind.startswith("crash"):
        lab.killed(at, *words, kind=kind, seed=seed)
    else:
        lab.anew(seed=seed, troubles=[Trouble(kind, at, 1000.0)])  # type: ignore[arg-type]
        lab.cli(*words)
        for name in lab.names:
            lab.world.heal(name)
        lab.anew()
    for _ in range(6):
        shown = lab.cli("status", "--json").document
        unwell = [one["next"] for one in shown["deployments"] if one["state"] not in ("serving", "stopped")]
        steps = unwell + [one["next"] for one in shown["warnings"] if one["id"] == "keys-differ"]
        if not steps:
            return
        typed = next(advised(steps[0]))
        if typed[0] == "logs":
            lab.settle()
        else:
            lab.cli(*typed, code=0)
        assert lab.crowded() == [], typed
    pytest.fail(f"{words} {kind} {at}: {steps}")
