"""Signals at any moment of a command that changes nodes: what served serves again, or one ordinary command mends it.

`SPARKOPS_SIGNALS=100:1` tries so many random moments with this seed as well, which takes an hour.
"""

import os
import random

import pytest

from support.signals import SCENARIOS, tried

COUNT, SEED = map(int, os.environ.get("SPARKOPS_SIGNALS", "0:0").split(":"))
FIXED = (
    ("deploy", "TERM", 14),
    ("deploy", "HUP", 21),
    ("deploy", "KILL", 12),
    ("switch", "HUP", 16),
    ("switch", "TERM", 20),
    ("switch", "PIPE", 8),
    ("rollback", "TERM", 12),
    ("rollback", "KILL", 14),
    ("stop", "HUP", 6),
    ("stop", "KILL", 6),
    ("rotate", "TERM", 9),
    ("distribute", "HUP", 8),
    ("fetch", "TERM", 8),
)


@pytest.fixture
def asks(hub):
    """What the tool is told of the hub, whatever proxies this machine has."""
    return {"HF_ENDPOINT": hub.endpoint} | {name: "" for name in os.environ if "proxy" in name.lower()}


@pytest.mark.parametrize(("name", "how", "moment"), FIXED)
def test_a_signal_after_so_many_commands_ends_clean(lab, asks, name, how, moment):
    assert tried(lab, name, how, moment, **asks).wrong == ()


@pytest.mark.parametrize("number", range(COUNT))
def test_a_signal_at_a_random_moment_ends_clean(lab, asks, number):
    chance = random.Random(f"{SEED} {number}")
    name = list(SCENARIOS)[number % len(SCENARIOS)]
    how = chance.choice(("TERM", "HUP", "INT", "PIPE", "KILL"))
    moment, delay = chance.randint(1, SCENARIOS[name].commands), chance.choice((0, 0, 0.05, 0.3))
    row = tried(lab, name, how, moment, delay, **asks)
    print(row)  # noqa: T201  for who counts them, with -s
    assert row.wrong == ()
