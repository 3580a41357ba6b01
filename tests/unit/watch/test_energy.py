"""Joules for each token, and when nothing is said."""

import pytest

from sparkops.core.energy import energy_text
from sparkops.core.watch.spent import Spent, joules_per


def node(count: int, joules: float, written: float, deployment: str = "chat") -> list[Spent]:
    return [Spent(2.0 * at, deployment, joules, written, 0.0) for at in range(count)]


@pytest.mark.parametrize(
    ("nodes", "joules"),
    [
        ([node(16, 100.0, 200.0)], 0.5),
        ([node(20, 100.0, 200.0), node(20, 60.0, 0.0)], 0.8),  # a worker writes nothing, and takes power
        ([node(15, 100.0, 200.0)], None),
        ([node(16, 100.0, 200.0), []], None),  # of one node no power is known
        ([node(16, 100.0, 200.0), node(20, 60.0, 0.0, "other")], None),
        ([node(16, 100.0, 6.0)], None),  # too little was done
        ([], None),
    ],
)
def test_joules_are_the_power_of_all_over_what_they_do(nodes, joules):
    assert joules_per("chat", nodes, "written") == (None if joules is None else pytest.approx(joules))


def test_two_digits_are_shown():
    assert energy_text(0.03123, 1234.5) == "0.031 J per generated token, 1,234 J per request"
    assert energy_text(12.34, None) == "12 J per generated token"
