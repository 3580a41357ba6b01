"""What is said of a lock that another run has."""

import os

from sparkops.core.plan import NodeLost
from sparkops.remote.lock import Held, owner_here, refusal

OWNER = {"user": "ada", "machine": "laptop", "run": "cafe0001", "pid": 42, "since": "2026-11-23T10:00:00+00:00"}
TOLD = "a is locked by ada@laptop since 2026-11-23T10:00:00+00:00 (run cafe0001, pid 42)"


def test_the_owner_of_a_lock_is_named() -> None:
    assert str(Held("a", OWNER)) == TOLD
    assert str(Held("a", {})) == "a is locked by somebody@somewhere since ? (run ?, pid ?)"


def test_another_run_comes_before_a_node_that_is_lost() -> None:
    error = refusal({"b": NodeLost("b", "no route", sent=False), "a": Held("a", OWNER)})
    assert (error.message, error.node, error.exit_code) == (TOLD, "a", 6)
    lost = refusal({"b": NodeLost("b", "no route", sent=False)})
    assert (lost.node, lost.exit_code) == ("b", 4)


def test_a_run_tells_who_and_since_when() -> None:
    owner = owner_here("cafe0001")
    assert (owner.run, owner.pid) == ("cafe0001", os.getpid())
    assert owner.user
    assert owner.machine
    assert owner.since
