"""Schedules and cleanups over simulated nodes, with nodes that go away at any moment."""

import contextlib
import json
import re
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


def test_a_directory_that_no_node_has_must_be_copied_to_one_before_it_can_be_fetched(lab: Lab) -> None:
    hint = lab.json("model", "verify", "/srv/my models/one", code=3)["error"]["hint"]
    assert re.fullmatch(r"copy the directory to one node, then: `sparkops .* model fetch '/srv/my models/one'`", hint)


def test_an_entry_that_most_nodes_do_not_have_is_to_be_removed_and_one_of_two_is_not(tmp_path: Path) -> None:
    three, two = Lab(tmp_path / "three", nodes=3), Lab(tmp_path / "two")
    for lab in (three, two):
        lab.cli(*EVERY, "--limit", "node2", code=0)
    assert "cache unschedule --limit node2`" in three.cli("cache", "status", code=5).err
    assert "cache schedule --every 30m`" in two.cli("cache", "status", code=5).err


def test_nodes_with_model_directories_of_their_own_have_the_same_schedule(lab: Lab) -> None:
    known = json.loads(lab.inventory.read_text())
    known["all"]["hosts"]["node2"]["cache_dir"] = "~/my models"
    lab.inventory.write_text(json.dumps(known))
    lab.cli(*EVERY, code=0)
    assert "my models" in lab.world.nodes["node2"].files[CRONTAB]
    assert lab.json("cache", "status")["same"]
    lab.cli(*EVERY, "--when", "MemFree < 10GiB", "--limit", "node2", code=0)
    assert not lab.json("cache", "status", code=5)["same"]


def test_the_key_to_log_in_stays_until_root_has_undone_the_rest(lab: Lab) -> None:
    node = lab.node("node1")
    entries = "sudoers /etc/sudoers.d/sparkops-drop-caches-nvidia\nauthorized-key ssh-ed25519 AAAA mine\n"
    node.files[f"{node.state_dir}/manifest"] = f"sparkops-manifest 1\n{entries}"
    node.probes["sudo"] = (0, "true 1 sudo: a password is required")
    told = lab.cli("cleanup", "--limit", "node1", code=0).out
    assert "cleanup --yes --ask-become-pass`" in told
    lab.mark()
    lab.cli("cleanup", "--limit", "node1", "--yes")
    cleaned = [one.shown for one in lab.received() if one.shown.startswith("@manifest clean")]
    assert cleaned[0].endswith("--keep authorized-key sudoers")
