"""What the endpoint starts and stops, one decision at a time; tests/world/test_on_demand.py has whole afternoons."""

import pytest

from sparkops.node.gatewaykeys import Denied
from sparkops.node.gatewayscheduler import MOST_OF_ONE, MOST_WAITING, HeldRequest, NodeRoom, OnDemandSpec, Scheduler

ROOMS = {"spark1": NodeRoom(100), "spark2": NodeRoom(100)}
LEAST_STAY = OnDemandSpec("", {}).stay
BOTH = {"spark1": 90, "spark2": 90}


def scheduler(*specs: OnDemandSpec, awake: tuple[str, ...] = (), rooms: dict[str, NodeRoom] = ROOMS) -> Scheduler:
    found = Scheduler(specs, rooms)
    for one in specs:
        found.asleep(one.name, 0.0)
    for name in awake:
        found.awake(name, 0.0)
    return found


def acts(one: Scheduler, now: float) -> list[tuple[str, str]]:
    return [(act.verb, act.name) for act in one.decide(now)]


def ended(one: Scheduler, name: str, now: float) -> None:
    one.done(HeldRequest(one.residents[name], "", 0.0), now)


def on(node: str, name: str, need: int = 60, **more) -> OnDemandSpec:
    return OnDemandSpec(name, {node: need}, **more)


def test_the_first_request_starts_it_once_and_all_are_let_in_when_it_answers():
    one = scheduler(on("spark1", "chat"))
    asked = [one.ask("chat", who, now) for who, now in (("alice", 1.0), ("bob", 2.0))]
    assert acts(one, 2.0) == [("start", "chat")]
    assert acts(one, 3.0) == []
    assert one.admitted(3.0) == []
    one.awake("chat", 40.0, 38.0)
    assert one.admitted(40.0) == asked
    assert one.start_time("chat", 41.0) == 38.0


def test_what_fits_beside_it_stays():
    one = scheduler(on("spark1", "chat"), on("spark1", "coder", 40, alongside=True), awake=("chat",))
    one.ask("coder", "alice", 1.0)
    assert acts(one, 1.0) == [("start", "coder")]


def test_two_that_are_not_alongside_take_turns_whatever_their_memory():
    one = scheduler(on("spark1", "chat", 10), on("spark1", "coder", 10), awake=("chat",))
    one.ask("coder", "alice", 1.0)
    assert acts(one, LEAST_STAY) == [("stop", "chat")]
    assert acts(one, LEAST_STAY + 1) == []
    one.asleep("chat", LEAST_STAY + 2)
    assert acts(one, LEAST_STAY + 2) == [("start", "coder")]


@pytest.mark.parametrize(
    ("busy", "priority", "used", "stops"),
    [
        ("", (0, 0), ("b", "a"), "b"),
        ("", (0, 0), ("a", "b"), "a"),
        ("", (1, 0), ("a", "b"), "b"),
        ("b", (1, 0), ("a", "b"), "a"),
    ],
    ids=["longest unused", "longest unused, the other way", "lower priority", "idle before all"],
)
def test_which_of_two_stops(busy, priority, used, stops):
    specs = [on("spark1", name, 50, alongside=True, priority=rank) for name, rank in zip("ab", priority, strict=True)]
    one = scheduler(*specs, on("spark1", "new", 50), awake=("a", "b"))
    for now, name in enumerate(used, 1):
        one.ask(name, "alice", now)
        one.admitted(now)
        if name != busy:
            ended(one, name, now)
    one.ask("new", "alice", 3.0)
    assert acts(one, LEAST_STAY) == [("stop", stops)]


def test_a_busy_one_ends_its_requests_first_and_takes_no_new_ones():
    one = scheduler(on("spark1", "chat"), on("spark1", "coder"), awake=("chat",))
    one.ask("chat", "alice", 1.0)
    assert len(one.admitted(1.0)) == 1
    one.ask("coder", "bob", 2.0)
    assert acts(one, 2.0) == []
    one.ask("chat", "carol", 3.0)
    assert len(one.admitted(3.0)) == 1, "its stay is not over"
    assert acts(one, LEAST_STAY) == []
    late = one.ask("chat", "alice", LEAST_STAY)
    assert one.admitted(LEAST_STAY) == []
    ended(one, "chat", 50.0)
    assert acts(one, 50.0) == []
    ended(one, "chat", 60.0)
    assert acts(one, 60.0) == [("stop", "chat")]
    one.asleep("chat", 61.0)
    assert acts(one, 61.0) == [("start", "coder")]
    one.awake("coder", 70.0)
    assert [one.name for one in one.admitted(70.0)] == ["coder"]
    ended(one, "coder", 80.0)
    assert acts(one, 70.0 + LEAST_STAY) == [("stop", "coder")], "who was held comes next"
    one.leave(late)
    one.asleep("coder", 101.0)
    assert acts(one, 101.0) == []


def test_it_stays_as_long_as_its_start_took():
    one = scheduler(on("spark1", "chat"), on("spark1", "coder"))
    one.ask("chat", "alice", 0.0)
    one.decide(0.0)
    one.awake("chat", 300.0, 300.0)
    one.admitted(300.0)
    ended(one, "chat", 301.0)
    one.ask("coder", "bob", 301.0)
    assert acts(one, 599.0) == []
    assert acts(one, 600.0) == [("stop", "chat")]


def test_none_overtakes_another_that_waits_longer_for_one_of_its_nodes():
    one = scheduler(on("spark1", "first"), OnDemandSpec("large", BOTH), on("spark2", "late"))
    for now, name in enumerate(("first", "large", "late")):
        one.ask(name, "alice", now)
    assert acts(one, 2.0) == [("start", "first")]
    one.awake("first", 10.0)
    one.admitted(10.0)
    ended(one, "first", 11.0)
    assert acts(one, 11.0) == []
    assert acts(one, 10.0 + LEAST_STAY) == [("stop", "first")]
    one.asleep("first", 41.0)
    assert acts(one, 41.0) == [("start", "large")]


def test_an_idle_one_stops_by_itself():
    one = scheduler(on("spark1", "chat", idle=100.0), awake=("chat",))
    one.ask("chat", "alice", 10.0)
    one.admitted(10.0)
    assert acts(one, 300.0) == [], "a long answer"
    ended(one, "chat", 300.0)
    assert acts(one, 399.0) == []
    assert acts(one, 400.0) == [("stop", "chat")]


def test_engines_of_one_node_start_one_after_the_other():
    one = scheduler(on("spark1", "chat", 40, alongside=True), on("spark1", "coder", 40, alongside=True))
    for now, name in enumerate(("chat", "coder")):
        one.ask(name, "alice", now)
    assert acts(one, 1.0) == [("start", "chat")]
    one.awake("chat", 20.0)
    assert acts(one, 20.0) == [("start", "coder")]


def test_nothing_starts_where_something_is_unknown():
    one = scheduler(on("spark1", "chat", 40), on("spark1", "coder", 40, alongside=True))
    one.unknown("chat", 0.0)
    one.ask("coder", "alice", 1.0)
    assert acts(one, 1.0) == []
    one.asleep("chat", 2.0)
    assert acts(one, 2.0) == [("start", "coder")]


def test_who_did_not_want_to_wait_counts_for_no_bound_and_only_once():
    one = scheduler(on("spark1", "chat"))
    for _ in range(MOST_WAITING + 10):
        one.goes(one.ask("chat", "alice", 0.0))
    assert len(one.residents["chat"].waiting) == 1
    assert acts(one, 0.0) == [("start", "chat")]


def test_a_start_that_fails_is_not_tried_at_once():
    one = scheduler(on("spark1", "chat"))
    asked = one.ask("chat", "alice", 0.0)
    one.decide(0.0)
    assert one.failed("chat", 10.0) == [asked]
    for state in ("stopping", "asleep"):
        assert one.residents["chat"].state == state
        with pytest.raises(Denied, match="did not start") as denied:
            one.ask("chat", "alice", 12.0)
        assert (denied.value.status, denied.value.after) == (503, 13.0)
        one.asleep("chat", 12.0)
    one.ask("chat", "alice", 26.0)
    assert acts(one, 26.0) == [("start", "chat")]
    one.failed("chat", 30.0)
    one.asleep("chat", 31.0)
    with pytest.raises(Denied) as denied:
        one.ask("chat", "alice", 31.0)
    assert denied.value.after == 29.0


@pytest.mark.parametrize("rooms", [{"spark1": NodeRoom(50)}, {"spark1": NodeRoom(100, owned=True)}, {}], ids=str)
def test_without_room_nothing_waits(rooms):
    with pytest.raises(Denied, match="no room") as denied:
        scheduler(on("spark1", "chat"), rooms=rooms).ask("chat", "alice", 0.0)
    assert denied.value.status == 503


def test_only_so_many_wait():
    one = scheduler(on("spark1", "chat"))
    for _ in range(MOST_OF_ONE):
        one.ask("chat", "alice", 0.0)
    with pytest.raises(Denied) as denied:
        one.ask("chat", "alice", 0.0)
    assert denied.value.status == 429
    for number in range(MOST_WAITING - MOST_OF_ONE):
        one.ask("chat", f"person {number}", 0.0)
    with pytest.raises(Denied) as denied:
        one.ask("chat", "bob", 0.0)
    assert denied.value.status == 429
