"""Why a deployment does not serve: the order of causes, reboots by the clocks of a node, exit codes by logs."""

from dataclasses import replace
from datetime import UTC, datetime

from sparkops.core.condition import MemberContainer
from sparkops.core.facts import Boot, Clock, Container, absent
from sparkops.core.stored import Stored, StoredMember
from sparkops.verbs.status.causes import Reason, cause, last_exit_code, seconds

NOW = 1_767_225_600.0
MEMBER = StoredMember("node1", "192.0.2.1", "server", 8000)
SOLO = Stored("a", "1" * 64, {"topology": "solo"})
FAILED = "torch.OutOfMemoryError: CUDA out of memory"


def at(ago: float) -> str:
    return datetime.fromtimestamp(NOW - ago, UTC).isoformat()


def why(created: float, started: float, booted: float, log: str = "") -> Reason | None:
    """The cause for a container with these times, in seconds before now."""
    facts = replace(absent("x"), clock=Clock(NOW, True), boot=Boot("1", booted))
    one = Container("1", "c", "running", "image", created_at=at(created), started_at=at(started))
    return cause(SOLO, [(MEMBER, one)], (), {"node1": facts}, {("node1", "c"): log}, "gpt")


def test_a_reboot_is_the_cause_only_if_it_ended_the_container_and_was_a_short_time_ago() -> None:
    found = {
        "rebooted after its creation": why(7200, 100, 120),
        "created after the boot": why(100, 100, 120),
        "started long after the boot": why(7200, 100, 3000),
        "booted long ago": why(90_000, 8_000, 8_010),
    }
    assert {name for name, one in found.items() if one} == {"rebooted after its creation"}
    told = found["rebooted after its creation"]
    assert told is not None
    assert told.text == "node1 rebooted 2 min ago, and the model loads again"


def test_a_reboot_explains_more_than_the_log_and_the_log_more_than_nothing() -> None:
    both, log = why(7200, 100, 120, FAILED), why(100, 100, 9000, FAILED)
    assert both is not None
    assert log is not None
    assert both.text.startswith("node1 rebooted")
    assert log.text == "node1: the unified memory is used up"
    assert why(100, 100, 9000) is None


def test_the_last_exit_code_is_that_in_the_log_else_dockers() -> None:
    one = Container("1", "c", "exited", "image", exit_code=3)
    log = (
        "sparkops: the engine ended with exit code 1\nsparkops: the engine ended with exit code 137 after it had served"
    )
    assert (last_exit_code(one, log), last_exit_code(one, "")) == (137, 3)


def test_a_time_that_is_none_is_before_everything() -> None:
    assert (seconds(""), seconds("garbage"), seconds("2026-01-01T00:00:00.123456789Z")) == (0, 0, NOW + 0.123456)


def test_a_container_on_a_silent_node_is_unreachable_not_missing() -> None:
    assert MemberContainer("node1", "server", False, None, "missing").shown == "unreachable"
