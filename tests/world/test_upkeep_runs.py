"""Schedules and cleanups over simulated nodes, with nodes that go away at any moment."""

from __future__ import annotations

from contextlib import suppress

import pytest

from sparkops.core.plan import Result, Word
from sparkops.errors import Refused, SparkopsError, StepFailed, Unreachable
from sparkops.testing import SCRIPTS, Crash, SimulatedNode, SimulatedWorld, Trouble
from sparkops.testing.operator import Operator
from sparkops.testing.scripts import said
from sparkops.testing.upkeep import CRONTAB

MODEL = "openai/gpt-oss-120b"
IMAGE = "vllm-node-mxfp4"
MINE = "5 4 * * * /bin/backup\n"


def fresh(**settings: object) -> SimulatedWorld:
    world = SimulatedWorld(("spark1", "spark2"), **settings)  # type: ignore[arg-type]
    for node in world.nodes.values():
        node.engine.add_image(IMAGE)
        node.add_model(MODEL)
        node.files[CRONTAB] = MINE
    return world


def entries(world: SimulatedWorld) -> dict[str, int]:
    return {name: node.files.get(CRONTAB, "").count("drop.sh") for name, node in world.nodes.items()}


def test_a_schedule_is_set_once_on_every_node_and_taken_away_again() -> None:
    world = fresh()
    operator = Operator(world)
    assert operator.schedule(1800).document["changed"] is True
    assert operator.schedule(1800).document["changed"] is False
    assert entries(world) == {"spark1": 1, "spark2": 1}
    status = operator.cache_status().document
    assert (status["same"], [node["every_seconds"] for node in status["nodes"]]) == (True, [1800, 1800])
    operator.schedule(None)
    assert [node.files[CRONTAB] for node in world.nodes.values()] == [MINE, MINE]


def test_a_drop_takes_no_lock() -> None:
    world = fresh()
    world.nodes["spark1"].lock = "a deploy of somebody else"
    told = Operator(world).drop()
    assert (told.code, [node["dropped"] for node in told.document["nodes"]]) == (0, [True, True])


def test_one_node_that_may_not_use_crontab_does_not_keep_the_others_from_it() -> None:
    def barred(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
        if node.name == "spark1":
            return said(code=1, errors="crontab -l: You (nvidia) are not allowed to use this program (crontab)\n")
        return SCRIPTS["schedule"](node, words, stdin)

    world = fresh(scripts={**SCRIPTS, "schedule": barred})
    told = Operator(world).schedule(1800)
    assert isinstance(told.error, StepFailed)
    assert "You (nvidia) are not allowed" in told.error.message
    assert entries(world) == {"spark1": 0, "spark2": 1}


@pytest.mark.parametrize("kind", ["lost-before", "lost-unapplied", "lost-applied", "crash-before", "crash-after"])
def test_a_schedule_that_was_interrupted_is_whole_after_the_next(kind: str) -> None:
    for at in range(1, 9):
        world = fresh(troubles=[Trouble(kind, at)])  # type: ignore[arg-type]
        with suppress(SparkopsError, Crash):
            Operator(world).schedule(1800)
        after = world.survivors()
        assert Operator(after).schedule(1800).code == 0
        assert entries(after) == {"spark1": 1, "spark2": 1}, (kind, at)


def test_a_cleanup_is_refused_while_a_deployment_runs_and_leaves_nothing_after_its_stop() -> None:
    world = fresh()
    operator = Operator(world)
    before = {name: dict(node.files) for name, node in world.nodes.items()}
    operator.deploy("cluster")
    operator.schedule(1800)
    with pytest.raises(Refused, match="runs on spark"):
        operator.cleanup()
    operator.stop()
    assert operator.cleanup().document["removed"] is True
    assert {name: dict(node.files) for name, node in world.nodes.items()} == before
    assert all(not node.engine.containers for node in world.nodes.values())


def test_what_was_kept_for_rollback_goes_with_a_cleanup() -> None:
    world = fresh()
    operator = Operator(world)
    operator.deploy("cluster")
    operator.deploy("cluster", sets=("args.max-model-len=4096",))
    operator.stop()
    assert any(node.engine.containers for node in world.nodes.values())
    operator.cleanup()
    assert all(not node.engine.containers for node in world.nodes.values())


def test_a_job_that_runs_is_not_pulled_the_floor_from_under() -> None:
    world = fresh()
    SCRIPTS["job"](world.nodes["spark2"], ("start", "model-fetch", "3600", "true"), "")
    with pytest.raises(Refused, match="the job model-fetch runs on spark2"):
        Operator(world).cleanup()


def test_where_nothing_is_a_cleanup_does_nothing() -> None:
    world = fresh()
    told = Operator(world).cleanup()
    assert (told.code, told.document["removed"]) == (0, False)
    assert all(sent.command.reads for sent in world.sent)


def test_a_cleanup_leaves_a_node_that_is_away_and_says_so() -> None:
    world = fresh()
    Operator(world).schedule(1800)
    world.lose("spark1")
    told = Operator(world).cleanup()
    assert isinstance(told.error, Unreachable)
    assert entries(world) == {"spark1": 1, "spark2": 0}
