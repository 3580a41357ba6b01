"""What a run decides when a node is locked, away or slow: all nodes or none, and each answer a value."""

from dataclasses import asdict
from pathlib import Path

import pytest

from sparkops.core.plan import Action, Command, NodeLost, Phase, Plan, Result, Step, Wait
from sparkops.errors import Locked, Unreachable
from sparkops.remote.execute import execute
from sparkops.remote.gather import connect, gather
from sparkops.remote.lock import Owner
from sparkops.testing import COMMANDS, BootRule, EngineBoot, SimulatedWorld
from support.world import Lab


def owner(run: str) -> Owner:
    return Owner(run, "me", "desk", 1, "2026-01-01T00:00:00+00:00")


def locks(world: SimulatedWorld) -> list[str | None]:
    return [node.lock for node in world.nodes.values()]


def test_a_lock_is_taken_of_all_nodes_or_of_none_and_its_owner_is_told_before_a_node_that_is_away() -> None:
    world = SimulatedWorld()
    second = world.nodes["spark2"]
    second.lock, second.owner = "run1", asdict(owner("run1"))
    world.lose("spark1", 100.0)
    with pytest.raises(Locked, match="spark2 is locked by me@desk since 2026-01-01") as locked:
        world.lock(owner("run2"))
    assert (locked.value.node, "--wait" in str(locked.value.hint)) == ("spark2", True)
    second.lock = None
    with pytest.raises(Unreachable, match="spark1: no answer"):
        world.lock(owner("run2"))
    assert locks(world) == [None, None]
    world.pause(100.0, world.cancel())
    world.lock(owner("run2"))
    assert locks(world) == ["run2", "run2"]
    world.close()
    assert locks(world) == [None, None]


def test_a_second_lock_that_is_refused_keeps_the_first() -> None:
    world = SimulatedWorld()
    second = world.nodes["spark2"]
    second.lock, second.owner = "run1", asdict(owner("run1"))
    world.lock(owner("run2"), ["spark1"])
    with pytest.raises(Locked):
        world.lock(owner("run2"), ["spark2"])
    assert locks(world) == ["run2", "run1"]


def test_a_whole_run_is_refused_by_the_lock_of_another_changes_nothing_and_may_still_read(lab: Lab) -> None:
    lab.node("node2").lock, lab.node("node2").owner = "run1", asdict(owner("run1"))
    told = lab.cli("deploy", "--topology", "cluster")
    assert (told.code, "node2 is locked by me@desk since 2026-01-01" in told.told) == (Locked.exit_code, True)
    assert (lab.changed(), lab.node("node1").lock) == ([], None)
    assert lab.state() == {}
    lab.node("node2").lock = None
    lab.deploy("cluster")
    assert locks(lab.world) == [None, None]


def test_a_node_that_is_away_is_a_value_beside_the_answers_of_the_others() -> None:
    world = SimulatedWorld()
    world.lose("spark1")
    assert [str(lost) for lost in connect(world, world.nodes).values()] == ["no answer from the node"]
    answers = gather(world, dict.fromkeys(world.nodes, Command(("true",), reads=True)))
    assert isinstance(answers["spark1"], NodeLost)
    assert answers["spark2"] == Result("exited", 0)
    assert world.connections == 1


def test_a_command_that_runs_into_its_time_limit_is_told_so_and_what_was_sent_before_is_undone() -> None:
    slow = Result("timeout", 124, "", "bad\n")
    world = SimulatedWorld(commands={**COMMANDS, "slow": lambda *_: slow, "undo": lambda *_: Result("exited", 0)})
    undo = Action(Command(("undo",)))
    steps = [Step(word, "spark1", word, Action(Command((word,))), undo) for word in ("true", "slow")]
    outcome = execute(Plan("deploy", None, (Phase("all", tuple(steps)),)), world, lambda _event: None)
    (failure,) = outcome.failures
    assert (outcome.status, failure.reason, failure.evidence) == (
        "failed", "the command exceeded its time limit and was stopped", "bad"
    )  # fmt: skip
    assert outcome.undone == ("slow", "true")


def test_a_copy_that_serves_while_the_ssh_of_its_worker_is_silent_is_not_undone_in_its_turn(tmp_path: Path) -> None:
    lab = Lab(tmp_path, nodes=4)
    lab.world.boot(BootRule(lambda *_: True, EngineBoot(looks=60)))
    lab.deploy("2x-cluster")
    began = lab.starts()
    lab.anew()
    lab.world.later(60.0, lambda: lab.world.lose("node2"))
    told = lab.cli("restart", code=0)
    assert "the model serves, so this run goes on without this node" in told.err
    lab.world.heal("node2")
    assert lab.state() == {"openai-gpt-oss-120b": "serving"}
    assert all(lab.starts()[part] != at for part, at in began.items() if "proxy" not in str(part))


@pytest.mark.parametrize("does", ["deploy", "start", "restart"])
def test_a_cluster_that_serves_while_the_ssh_of_its_worker_is_silent_is_not_undone(lab: Lab, does: str) -> None:
    lab.world.boot(BootRule(lambda *_: True, EngineBoot(looks=60)))
    if does != "deploy":
        lab.deploy("cluster")
    if does == "start":
        lab.cli("stop", code=0)
    lab.anew()
    lab.world.later(60.0, lambda: lab.world.lose("node2"))
    told = lab.cli(does, *(("--topology", "cluster") if does == "deploy" else ()), code=0)
    assert "node2: wait for sparkops-openai-gpt-oss-120b-worker" in told.err
    assert "the model serves, so this run goes on without this node" in told.err
    lab.world.heal("node2")
    assert (lab.serves(), lab.state()) == (True, {"openai-gpt-oss-120b": "serving"})


def test_a_wait_gives_up_at_its_deadline_also_without_contact() -> None:
    waited = []
    for deadline in (30.0, 120.0):
        world = SimulatedWorld()
        world.lose("spark1", float("inf"))
        asks = Action(wait=Wait(Command(("true",), reads=True), deadline=deadline))
        began = world.now()
        execute(Plan("test", None, (Phase("wait", (Step("ask", "spark1", "ask", asks),)),)), world, lambda _: None)
        waited.append(world.now() - began)
    assert 30 <= waited[0] < 60
    assert 120 <= waited[1] < 150
