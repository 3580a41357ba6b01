"""What is said of a lock that another run has."""

import os

from sparkops.core.plan import NodeLost
from sparkops.errors import Locked
from sparkops.remote.lock import Held, owner_here, refusal

OWNER = {"user": "ada", "machine": "laptop", "run": "cafe0001", "pid": 42, "since": "2026-11-23T10:00:00+00:00"}
TOLD = "ada@laptop since 2026-11-23 10:00:00 UTC (run cafe0001, pid 42)"


def test_the_owner_of_a_lock_is_named_with_the_command_and_cannot_steer_the_terminal() -> None:
    assert Held("a", OWNER).holder == TOLD
    assert Held("a", {}).holder == "somebody@somewhere since ? (run ?, pid ?)"
    held = Held("a", {**OWNER, "command": "sparkops stop \x1b[2J", "user": ["x"]})
    assert held.holder == TOLD.replace("ada", "somebody") + ': "sparkops stop \\x1b[2J"'
    assert held.owner["command"] == "sparkops stop \\x1b[2J"


def test_another_run_comes_before_a_node_that_is_lost_and_is_named_once_for_all_its_nodes() -> None:
    lost = NodeLost("c", "no route", sent=False)
    error = refusal({"c": lost, "b": Held("b", OWNER), "a": Held("a", OWNER)})
    assert isinstance(error, Locked)
    assert (error.message, error.node, error.exit_code) == (f"a, b are locked by {TOLD}", "a", 6)
    assert error.holder == OWNER
    found = refusal({"c": lost})
    assert (found.node, found.exit_code) == ("c", 4)


def test_a_run_tells_who_since_when_and_what() -> None:
    owner = owner_here("cafe0001", "2026-11-23T10:00:00+00:00", "stop", "sparkops stop")
    assert (owner.run, owner.pid, owner.since) == ("cafe0001", os.getpid(), OWNER["since"])
    begin = owner.begin("tiny")
    assert (begin.operator, begin.deployment) == (f"{owner.user}@{owner.machine}", "tiny")
    assert (begin.verb, begin.command) == ("stop", "sparkops stop")
