"""Schedules and cleanups over simulated nodes, with nodes that go away at any moment."""

import contextlib
from pathlib import Path

import pytest

from sparkops.testing import Crash, Trouble
from sparkops.testing.upkeep import CRONTAB
from support.world import Lab

MINE = "5 4 * * * /bin/backup\n"
EVERY = ("cache", "schedule", "--every", "30m")


def fresh(lab: Lab) -> Lab:
    for node in lab.world.nodes.values():
        node.files[CRONTAB] = MINE
    return lab


def entries(lab: Lab) -> dict[str, int]:
    return {name: node.files.get(CRONTAB, "").count("drop.sh") for name, node in lab.world.nodes.items()}


@pytest.mark.parametrize("kind", ["lost-before", "lost-unapplied", "lost-applied", "crash-before", "crash-after"])
def test_a_schedule_that_was_interrupted_is_whole_after_the_next(tmp_path: Path, kind: str) -> None:
    for at in range(1, 9):
        lab = fresh(Lab(tmp_path / str(at)))
        lab.anew(troubles=[Trouble(kind, at)])  # type: ignore[arg-type]
        with contextlib.suppress(Crash):
            lab.cli(*EVERY)
        lab.anew()
        lab.cli(*EVERY, code=0)
        assert entries(lab) == {"node1": 1, "node2": 1}, (kind, at)


def test_what_a_schedule_and_a_deploy_left_goes_with_a_cleanup_and_nothing_else(lab: Lab) -> None:
    before = {name: dict(node.files) for name, node in fresh(lab).world.nodes.items()}
    lab.deploy("cluster")
    for _ in range(2):
        lab.cli(*EVERY, code=0)
    assert entries(lab) == {"node1": 1, "node2": 1}
    lab.cli("cache", "unschedule", code=0)
    assert {node.files[CRONTAB] for node in lab.world.nodes.values()} == {MINE}
    lab.cli(*EVERY, code=0)
    lab.cli("stop", code=0)
    lab.cli("cleanup", "--yes", code=0)
    assert {name: dict(node.files) for name, node in lab.world.nodes.items()} == before
    assert lab.containers() == set()


def test_a_model_is_removed_from_a_node_where_no_deployment_needs_it(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    prune = ("model", "prune", "openai/gpt-oss-120b", "--yes", "--limit")
    assert lab.json(*prune, "node1", code=3)["kept"] == ["openai/gpt-oss-120b"]
    assert list(lab.json(*prune, "node2")["models"]) == ["node2"]


def test_without_a_limit_a_model_that_a_deployment_needs_stays_on_every_node(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    kept = lab.json("model", "prune", "openai/gpt-oss-120b", "--yes", code=3)
    assert (kept["removed"], kept["kept"]) == (False, ["openai/gpt-oss-120b"])
