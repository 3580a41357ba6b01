"""Signals at any moment of a command that changes nodes: what served serves again, or one ordinary command mends it.

`SPARKOPS_SIGNALS=100:1` tries so many random moments with this seed, and prints how each of them ended.
"""

import collections
import os
import random

import pytest

from support.signals import SCENARIOS, tried

FIXED = (
    ("deploy", "TERM", 14),
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


def test_a_signal_at_any_moment_ends_clean(lab, asks):
    rows = [tried(lab, *row, **asks) for row in FIXED]
    assert [row for row in rows if row.wrong] == []


@pytest.mark.skipif("SPARKOPS_SIGNALS" not in os.environ, reason="for an afternoon: SPARKOPS_SIGNALS=COUNT:SEED")
def test_many_signals_at_random_moments_end_clean(lab, asks):
    count, seed = map(int, os.environ["SPARKOPS_SIGNALS"].split(":"))
    chance, rows = random.Random(seed), []
    for number in range(count):
        name = list(SCENARIOS)[number % len(SCENARIOS)]
        how = chance.choice(("TERM", "HUP", "INT", "PIPE", "KILL"))
        moment = chance.randint(1, SCENARIOS[name].commands)
        row = tried(lab, name, how, moment, chance.choice((0, 0, 0.05, 0.3)), **asks)
        print(number, row, flush=True)  # noqa: T201
        rows.append(row)
    print(collections.Counter((row.signal, row.end, bool(row.wrong)) for row in rows))  # noqa: T201
    assert [row for row in rows if row.wrong] == []
