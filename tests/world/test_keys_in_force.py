"""The key that `sparkops key` prints is the one that all that serves was given, whoever asks and whatever fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from sparkops.errors import Refused, SparkopsError
from sparkops.testing import Crash, SimulatedWorld, Trouble
from sparkops.testing.engine import Container
from sparkops.testing.operator import Operator
from sparkops.testing.sparks import sparks

QWEN = "qwen3-next-80b-a3b-instruct-fp8"
GPT = "openai-gpt-oss-120b"
HALF = ("args.gpu-memory-utilization=0.4",)


def ours(world: SimulatedWorld) -> list[Container]:
    found = (one for node in world.nodes.values() for one in node.engine.listed(["label=sparkops.schema"]))
    return [one for one in found if one.running]


def keys(world: SimulatedWorld) -> set[str | None]:
    """What is in force: the keys of all that serves and asks for one."""
    return {one.key for one in ours(world) if one.key_file}


def files(world: SimulatedWorld) -> set[str]:
    return {
        node.files[f"{node.state_dir}/key"] for node in world.nodes.values() if f"{node.state_dir}/key" in node.files
    }


def as_written(world: SimulatedWorld) -> bool:
    """Whether on each node the file says what is in force there."""
    serving = [(node, one) for node in world.nodes.values() for one in node.engine.listed(["label=sparkops.schema"])]
    return all(one.key == node.files[one.key_file] for node, one in serving if one.running and one.key_file)


def as_user(world: SimulatedWorld, name: str) -> SimulatedWorld:
    """The same nodes, to whoever logs in as this user."""
    other = world.survivors()
    for node in other.nodes.values():
        node.home = f"/home/{name}"
    return other


def rotated(person: Operator) -> object:
    return person.rotate()


def with_another(person: Operator) -> object:
    return person.deploy("2x-solo", api_key="sk-another")


def switched(person: Operator) -> object:
    return person.deploy("2x-solo", recipe=QWEN, api_key="sk-another")


@pytest.mark.parametrize("verb", [rotated, with_another, switched], ids=lambda verb: verb.__name__)
@pytest.mark.parametrize("kind", ["interrupt", "lost-unapplied", "lost-applied"])
def test_whatever_interrupts_a_change_of_the_key_the_file_says_what_is_in_force(
    verb: Callable[[Operator], object], kind: str
) -> None:
    for at in range(1, 45):
        world = sparks()
        Operator(world).deploy("2x-solo")
        (old,) = keys(world)
        tried = world.survivors(seed=at, troubles=[Trouble(kind, at, 30.0)])  # type: ignore[arg-type]
        failed = False
        try:
            verb(Operator(tried))
        except (SparkopsError, KeyboardInterrupt):
            failed = True
        assert as_written(world), at
        if failed and kind == "interrupt":
            assert keys(world) == {old}, at


@pytest.mark.parametrize("at", range(1, 30, 2))
def test_a_change_of_the_key_that_is_killed_is_mended_by_the_next_deploy(at: int) -> None:
    world = sparks()
    Operator(world).deploy("2x-solo")
    with suppress(Crash):
        Operator(world.survivors(seed=at, troubles=[Trouble("crash-after", at)])).rotate()
    after = world.survivors()
    Operator(after).deploy("2x-solo")
    assert Operator(after).status() == {GPT: "serving"}
    assert keys(after) == files(after) == {Operator(after).key()}


def test_what_serves_alongside_with_the_same_key_follows_its_rotation() -> None:
    world = sparks()
    Operator(world).deploy("2x-solo", sets=HALF)
    Operator(world, "spark2").deploy("solo", recipe=QWEN, alongside=True, sets=HALF)
    had = {one.id for one in ours(world)}
    answer = Operator(world).rotate(QWEN)
    assert answer.document["restarted"] == [GPT, QWEN]
    assert keys(world) == {answer.document["key"]} == files(world)
    assert {one.id for one in ours(world)} == had
    assert Operator(world).status() == {GPT: "serving", QWEN: "serving"}


def test_another_key_for_one_of_two_that_share_a_node_is_refused() -> None:
    world = sparks()
    Operator(world).deploy("solo", sets=HALF)
    with pytest.raises(Refused, match=GPT):
        Operator(world).deploy("solo", recipe=QWEN, alongside=True, sets=HALF, api_key="sk-another")
    Operator(world).deploy("solo", recipe=QWEN, alongside=True, sets=HALF)
    assert len(keys(world)) == 1


def test_who_deploys_as_another_user_reads_the_key_from_what_serves() -> None:
    world = sparks()
    Operator(world).deploy("2x-solo")
    (key,) = keys(world)
    bob = as_user(world, "bob")
    assert Operator(bob).key() == key
    assert not Operator(bob).deploy("2x-solo").changes
    assert Operator(bob).status() == {GPT: "serving"}


@pytest.mark.parametrize("stale", [False, True])
def test_a_changed_deploy_by_another_user_keeps_the_key(stale: bool) -> None:
    world = sparks()
    Operator(world).deploy("2x-solo")
    (key,) = keys(world)
    bob = as_user(world, "bob")
    if stale:
        for node in bob.nodes.values():
            node.files["/home/bob/.local/state/sparkops/key"] = "sk-of-an-earlier-time"
    Operator(bob).deploy("2x-solo", sets=("args.max-num-seqs=4",))
    assert keys(bob) == {key} == {Operator(bob).key()}
    alice = as_user(world, "nvidia")
    assert Operator(alice).key() == key
    Operator(alice).rollback()
    assert keys(alice) == {key}


def test_another_key_from_another_user_makes_the_containers_anew() -> None:
    world = sparks()
    Operator(world).deploy("solo")
    bob = as_user(world, "bob")
    Operator(bob).deploy("solo", api_key="sk-bobs")
    assert keys(bob) == {"sk-bobs"} == {Operator(bob).key()}
    assert {one.key_file for one in ours(bob)} == {"/home/bob/.local/state/sparkops/key"}


def test_rotating_another_users_key_is_refused_with_what_works_instead() -> None:
    world = sparks()
    Operator(world).deploy("solo")
    (key,) = keys(world)
    with pytest.raises(Refused, match="another user"):
        Operator(as_user(world, "bob")).rotate()
    assert keys(world) == {key}


def test_a_key_that_nobody_can_read_is_no_reason_to_make_another() -> None:
    world = sparks()
    Operator(world).deploy("solo")
    for one in ours(world):
        one.key = None
    with pytest.raises(Refused, match="does not show it"):
        Operator(as_user(world, "bob")).deploy("solo", sets=("args.max-num-seqs=4",))
