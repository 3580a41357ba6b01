"""What makes way for a deploy comes back when that fails, and all of it: the same revision, several, by other names."""

from __future__ import annotations

from contextlib import suppress

import pytest

from sparkops.errors import Refused, SparkopsError, UsageError
from sparkops.testing import Boot, BootRule, Crash, SimulatedWorld, Trouble
from sparkops.testing.engine import Container
from sparkops.testing.operator import Operator
from sparkops.testing.sparks import sparks

QWEN = "qwen3-next-80b-a3b-instruct-fp8"
GPT = "openai-gpt-oss-120b"
ANOTHER = ("args.max-num-seqs=4",)


def ours(world: SimulatedWorld) -> list[Container]:
    return [one for node in world.nodes.values() for one in node.engine.listed(["label=sparkops.schema"])]


def running(world: SimulatedWorld) -> set[str]:
    return {one.id for one in ours(world) if one.state not in ("exited", "created")}


def older(world: SimulatedWorld) -> None:
    """As an older sparkops would have started what is there."""
    for one in ours(world):
        one.labels["sparkops.spec"] = "0"


def test_a_refresh_that_fails_leaves_what_served_serving() -> None:
    world = sparks()
    Operator(world).deploy("cluster")
    older(world)
    had = running(world)
    names = {one.name for one in ours(world)}
    world.boot(BootRule(lambda _image, _words: aside(world), Boot(crashes=True)))
    with pytest.raises(SparkopsError):
        Operator(world).deploy("cluster", refresh=True)
    assert running(world) == had
    assert {one.name for one in ours(world)} == names
    assert Operator(world).status() == {GPT: "serving"}


def aside(world: SimulatedWorld) -> bool:
    return any(one.name.endswith(".aside") for one in ours(world))


def test_a_refresh_leaves_nothing_aside() -> None:
    world = sparks()
    Operator(world).deploy("cluster")
    older(world)
    had = running(world)
    assert Operator(world).deploy("cluster", refresh=True).changes
    assert not running(world) & had
    assert sorted(one.name.rsplit("-", 2)[1] for one in ours(world)) == ["head", "worker"]


@pytest.mark.parametrize("at", range(2, 40))
def test_a_refresh_that_is_killed_anywhere_is_mended_by_the_next_deploy_or_ended_by_a_stop(at: int) -> None:
    world = sparks()
    Operator(world).deploy("2x-solo")
    older(world)
    tried = world.survivors(seed=at, troubles=[Trouble("crash-before" if at % 2 else "crash-after", at)])
    with suppress(Crash):
        Operator(tried).deploy("2x-solo", refresh=True)
    after = world.survivors()
    if at % 3:
        Operator(after).deploy("2x-solo")
        assert Operator(after).status() == {GPT: "serving"}
        assert len(ours(after)) == 3
    else:
        Operator(after).stop()
        assert not ours(after)


def test_a_rollback_brings_back_all_that_the_deploy_replaced_and_forward_again() -> None:
    world = sparks()
    Operator(world, "spark1").deploy("solo")
    Operator(world, "spark2").deploy("solo", recipe=QWEN)
    Operator(world).deploy("cluster", sets=ANOTHER, name="both")
    assert Operator(world).status() == {"both": "serving", GPT: "stopped", QWEN: "stopped"}
    answer = Operator(world).rollback()
    assert len(answer.document["restored"]) == len(answer.document["endpoints"]) == 2
    assert Operator(world).status() == {"both": "stopped", GPT: "serving", QWEN: "serving"}
    Operator(world).rollback()
    assert Operator(world).status() == {"both": "serving", GPT: "stopped", QWEN: "stopped"}


def test_what_had_replaced_several_does_not_come_back_beside_one_of_them() -> None:
    world = sparks()
    Operator(world, "spark1").deploy("solo")
    Operator(world, "spark2").deploy("solo", recipe=QWEN)
    Operator(world).deploy("cluster", sets=ANOTHER, name="both")
    Operator(world).rollback()
    with pytest.raises(UsageError, match=QWEN):
        Operator(world, "spark1").rollback()


def test_a_container_that_never_came_to_run_is_nothing_to_go_back_to() -> None:
    world = sparks()
    Operator(world).deploy("solo")
    Operator(world).deploy("solo", recipe=QWEN)
    for one in ours(world):
        if one.state == "exited":
            one.state = "created"
    with pytest.raises(Refused, match="nothing to go back to"):
        Operator(world).rollback()
    Operator(world).deploy("solo", sets=ANOTHER)
    assert {one.state for one in ours(world)} == {"running", "exited"}


def test_a_container_that_never_came_to_run_is_made_anew_when_it_is_wanted() -> None:
    world = sparks()
    Operator(world).deploy("solo")
    (one,) = ours(world)
    one.state = "created"
    Operator(world).deploy("solo")
    assert Operator(world).status() == {GPT: "serving"}
    assert [other.id for other in ours(world)] != [one.id]


def test_an_engine_that_served_before_may_need_several_starts_when_it_is_started_again() -> None:
    world = sparks()
    Operator(world).deploy("solo")
    Operator(world).deploy("solo", recipe=QWEN)
    world.boot(BootRule.flag("--max-num-seqs", Boot(looks=3, falls=2)))
    Operator(world).rollback()
    assert Operator(world).status() == {GPT: "serving", QWEN: "stopped"}


def renamed(world: SimulatedWorld, **names: str) -> SimulatedWorld:
    """The same machines under the names of another inventory."""
    other = world.survivors()
    other.nodes = {new: world.nodes[old] for old, new in names.items()}
    return other


def test_another_inventory_may_call_the_nodes_otherwise_even_by_each_others_names() -> None:
    world = sparks()
    Operator(world).deploy("2x-solo")
    for names in ({"spark1": "a", "spark2": "b"}, {"spark1": "spark2", "spark2": "spark1"}):
        other = Operator(renamed(world, **names))
        assert other.status() == {GPT: "serving"}
        assert other.key() == Operator(world).key()
    Operator(renamed(world, spark1="a", spark2="b")).deploy("solo", recipe=QWEN)
    other = Operator(renamed(world, spark1="b", spark2="a"))
    other.rollback()
    assert other.status() == {GPT: "serving", QWEN: "stopped"}
    other.rotate(GPT)
    other.stop()
    assert not running(world)


def test_a_stop_that_fails_on_one_node_tells_what_it_removed_on_the_other() -> None:
    world = sparks()
    Operator(world).deploy("cluster")
    for at in (3, 4):
        tried = world.survivors(seed=at, troubles=[Trouble("lost-unapplied", at)])
        answer = Operator(tried).stop()
        left = {(name, one.name) for name, node in world.nodes.items() for one in node.engine.containers.values()}
        told = {(entry["node"], entry["container"]) for entry in answer.document["removed"]}
        assert (answer.code, len(told) + len(left)) == (4, 2)
        assert not told & left
        Operator(world).deploy("cluster")


def test_the_hint_after_an_interrupt_says_what_serves_again_and_what_was_not_waited_for() -> None:
    hints = {}
    for interrupts in (1, 2):
        world = sparks()
        Operator(world).deploy("solo")
        troubles = [Trouble("interrupt", at) for at in range(12, 12 + interrupts)]
        with pytest.raises(SparkopsError) as stopped:
            Operator(world.survivors(troubles=troubles)).deploy("solo", recipe=QWEN)
        hints[interrupts] = stopped.value.hint or ""
    assert "serves again" in hints[1]
    assert "not waited for" in hints[2]
    assert "serves again" not in hints[2]
