"""A deploy over running copies: one after the other behind their endpoint, and when all at once."""

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Literal

import pytest

from sparkops.testing import BootRule, EngineBoot, Trouble
from support.world import Lab

SHORTER = ("--set", "args.max-model-len=2048")


class Watched:
    """Before every send: the fewest servers that answer, and the sends at which the endpoint did not."""

    def __init__(self, lab: Lab, sends: int) -> None:
        self.lab, self.fewest, self.silent = lab, len(lab.names), list[bool]()
        lab.anew(troubles=[Trouble("meets", at, then=self.look) for at in range(1, sends)])

    def look(self) -> None:
        self.fewest = min(self.fewest, sum(self.lab.serves(name, 8001) for name in self.lab.names))
        self.silent.append(not self.lab.serves("node1"))


def stops(lab: Lab) -> list[str]:
    """The nodes of the stops, in order; a proxy's with a star."""
    sent = [one for one in lab.changed() if one.shown.startswith("@container stop")]
    return [one.node + ("*" if "-proxy-" in one.shown else "") for one in sent]


@pytest.mark.parametrize("nodes", [2, 3])
def test_all_but_one_copy_serve_while_a_setting_changes(lab_of: Callable[[int], Lab], nodes: int) -> None:
    lab = lab_of(nodes)
    lab.deploy(f"{nodes}x-solo")
    old = lab.running()
    plan = lab.json("plan", "--topology", f"{nodes}x-solo", *SHORTER)
    assert plan["impact"]["in_turns"] is True
    watched = Watched(lab, 200)
    lab.mark()
    lab.json("deploy", "--topology", f"{nodes}x-solo", *SHORTER)
    assert watched.fewest == nodes - 1
    assert stops(lab) == [*lab.names, "node1*"]
    # The endpoint is away only in the proxy's own turn, after the last server.
    assert [silent for silent, _ in groupby(watched.silent)] == [False, True, False]
    assert lab.running().isdisjoint(old)
    assert lab.serves()
    lab.json("rollback")
    assert lab.running() == old


def test_a_copy_that_does_not_load_ends_it_before_the_next_one(lab: Lab) -> None:
    lab.deploy("2x-solo")
    before = lab.starts()
    watched = Watched(lab, 200)
    lab.world.boot(BootRule.flag("2048", EngineBoot(crashes=True, log=("boom",))))
    failed = lab.json("deploy", "--topology", "2x-solo", *SHORTER, code=5)
    assert failed["error"]["rolled_back"]
    assert (watched.fewest, any(watched.silent)) == (1, False)
    after = lab.starts()
    assert after.keys() == before.keys()
    assert {key for key in before if after[key] != before[key]} == {
        one for one in before if one[0] == "node1" and "-server-" in one[1]
    }


def test_the_copy_that_is_down_is_replaced_first(lab: Lab) -> None:
    lab.deploy("2x-solo")
    (server,) = (name for node, name in lab.running() if node == "node2")
    lab.on("node2", "docker", "stop", server)
    lab.mark()
    lab.json("deploy", "--topology", "2x-solo", *SHORTER)
    started = [one.node for one in lab.changed() if one.shown.startswith("docker run") and "-server-" in one.shown]
    assert started == ["node2", "node1"]


@pytest.mark.parametrize(
    "words",
    [
        ("--at-once", *SHORTER),
        ("--set", "args.served-model-name=other"),
        ("--port", "9000", *SHORTER),
        ("--proxy", "all", *SHORTER),
        ("--no-api-key", *SHORTER),
    ],
)
def test_all_at_once_where_asked_or_where_the_old_proxy_cannot_reach_the_new_servers(
    lab: Lab, words: tuple[str, ...]
) -> None:
    lab.deploy("2x-solo")
    plan = lab.json("plan", "--topology", "2x-solo", *words)
    assert plan["impact"]["in_turns"] is False
    assert not any(" of 2)" in step["phase"] or " of 3)" in step["phase"] for step in plan["steps"])
    lab.json("deploy", "--topology", "2x-solo", *words)


def test_a_new_key_or_another_deployment_replaces_all_at_once(lab: Lab) -> None:
    lab.deploy("2x-solo")
    key = {"SPARKOPS_API_KEY": "sk-another-key"}
    assert lab.json("plan", "--topology", "2x-solo", *SHORTER, **key)["impact"]["in_turns"] is False
    assert lab.json("plan", "--topology", "2x-solo", "--name", "other")["impact"]["in_turns"] is False


def test_a_deploy_that_was_killed_between_two_copies_is_finished_by_the_next_one(lab: Lab) -> None:
    lab.deploy("2x-solo")
    words = ("deploy", "--topology", "2x-solo", *SHORTER)
    at = 1
    while lab.killed(at, *words):
        lab.anew()
        lab.json(*words)
        assert lab.serves()
        assert len(lab.running()) == 3
        lab.json("rollback")
        at += 5


@pytest.mark.parametrize(("before", "in_turns"), [("settle", True), ("wait for the engines", False)])
def test_a_play_with_its_own_step_between_the_phases_of_a_copy_replaces_all_at_once(
    lab: Lab, tmp_path: Path, before: str, in_turns: bool
) -> None:
    recipe = "model: openai/gpt-oss-120b\ncontainer: vllm-node-mxfp4\nargs: {max-model-len: %d}\n"
    for name, length in ("mine", 4096), ("shorter", 2048):
        (tmp_path / f"{name}.yml").write_text(recipe % length)
    lab.deploy("2x-solo", "--recipe", str(tmp_path / "mine.yml"))
    phase = f"    - phase: {before}\n"
    play = lab.cli("playbook", "show", "deploy", code=0).out
    assert phase in play
    (tmp_path / "play.yml").write_text(play.replace(phase, f'    - name: ours\n      command: ["true"]\n{phase}'))
    given = ("topology=2x-solo", f"recipe={tmp_path}/shorter.yml", "name=mine")
    ran = lab.cli("play", str(tmp_path / "play.yml"), *(word for one in given for word in ("-e", one)), code=0)
    assert ("start containers (1 of 3)" in ran.told) is in_turns


def test_a_deploy_that_is_run_again_stops_no_old_server_while_a_new_one_loads(lab: Lab) -> None:
    lab.deploy("2x-solo")
    words = ("deploy", "--topology", "2x-solo", *SHORTER)
    cut = 0
    for at in range(8, 15):
        assert lab.killed(at, *words)
        if lab.serves("node2", 8001) and not lab.serves("node1", 8001):
            cut += 1
            watched = Watched(lab, 200)
            lab.json(*words)
            assert watched.fewest == 1, at
            assert [silent for silent, _ in groupby(watched.silent)] in ([False, True, False], [False]), at
        lab.anew()
        lab.deploy("2x-solo")
    assert cut > 1


def test_an_old_server_that_still_loads_is_replaced_first(lab: Lab) -> None:
    lab.deploy("2x-solo")
    with lab.trouble("node2", "reboot"):
        assert not lab.serves("node2", 8001)
    lab.mark()
    watched = Watched(lab, 200)
    lab.json("deploy", "--topology", "2x-solo", *SHORTER)
    assert stops(lab)[:2] == ["node2", "node1"]
    assert [silent for silent, _ in groupby(watched.silent)] == [False, True, False]


def test_a_rollback_after_a_killed_deploy_goes_back_to_what_served_before(lab: Lab) -> None:
    lab.deploy("2x-solo", "--set", "args.max-model-len=1024")
    lab.deploy("2x-solo")
    served, words = lab.running(), ("deploy", "--topology", "2x-solo", *SHORTER)
    for at in range(6, 40):  # before, it only reads
        if not lab.killed(at, *words):
            break
        lab.anew()
        if any("-proxy-" in name and (node, name) in served for node, name in lab.running()):
            lab.json("rollback")
            assert lab.running() == served, at
        else:
            lab.json(*words)
            lab.json("rollback")


def test_a_copy_that_fails_leaves_the_configuration_that_the_proxy_reads(lab: Lab) -> None:
    lab.deploy("2x-solo")
    for node in lab.world.nodes.values():
        for one in node.engine.containers.values():
            one.labels = {**one.labels, "sparkops.spec": "1"}
    files = {path for path in lab.node("node1").files if "/config/" in path}
    assert lab.json("plan", "--topology", "2x-solo")["changed"] is False
    lab.world.boot(BootRule.flag("4096", EngineBoot(crashes=True, log=("boom",))))
    assert lab.json("plan", "--topology", "2x-solo", "--refresh")["impact"]["in_turns"] is True
    lab.json("deploy", "--topology", "2x-solo", "--refresh", code=5)
    assert {path for path in lab.node("node1").files if "/config/" in path} == files


def test_a_refresh_with_nothing_to_do_announces_nothing(lab: Lab) -> None:
    lab.deploy("2x-solo")
    assert lab.json("plan", "--topology", "2x-solo", "--refresh")["impact"]["in_turns"] is False


def test_two_deployments_of_one_name_on_different_nodes_are_never_taken_for_one(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(3)
    lab.deploy("2x-solo", "--limit", "node1,node2", "--name", "d")
    lab.deploy("solo", "--limit", "node3", "--name", "d")
    for words in (("restart", "d"), ("key", "--deployment", "d"), ("key", "rotate", "--deployment", "d")):
        assert "several deployments" in lab.json(*words, code=2)["error"]["message"]


@pytest.mark.parametrize("topology", ["2x-solo", "cluster"])
def test_a_killed_deploy_back_to_a_kept_revision_is_rolled_back_to_what_served(lab: Lab, topology: str) -> None:
    lab.deploy(topology, *SHORTER)
    lab.deploy(topology)
    served, words = lab.running(), ("deploy", "--topology", topology, *SHORTER)
    for at in range(6, 40):  # before, it only reads
        if not lab.killed(at, *words):
            break
        lab.anew()
        now = lab.running()
        if served.isdisjoint(now):  # past the last stop of the old one
            lab.deploy(topology)
            continue
        lab.json("rollback")
        assert lab.running() == served, at


def test_what_a_person_stopped_earlier_is_not_taken_for_half_replaced(lab: Lab) -> None:
    half = ("--set", "args.gpu-memory-utilization=0.4", "--allow", "memory-fits")
    lab.deploy("2x-solo", "--name", "x", *half)
    (server,) = (name for node, name in lab.running() if node == "node2")
    lab.on("node2", "docker", "stop", server)
    lab.deploy("solo", "--name", "y", "--limit", "node1", "--alongside", *half)
    served = lab.running()
    words = ("deploy", "--topology", "solo", "--name", "y", "--limit", "node1", "--alongside", *half, *SHORTER)
    assert any(lab.killed(at, *words) and lab.running() != served for at in range(5, 15))
    lab.anew()
    lab.json("rollback", "y")
    assert lab.running() == served


@pytest.mark.parametrize("proxy", ["first", "all"])
def test_going_back_serves_again(lab: Lab, proxy: str) -> None:
    lab.deploy("2x-solo", "--proxy", proxy)
    served = lab.running()
    lab.deploy("2x-solo", "--proxy", proxy, *SHORTER)
    lab.json("rollback")
    assert lab.running() == served


@pytest.mark.parametrize("topology", ["2x-solo", "cluster"])
def test_a_deploy_that_is_killed_while_it_fails_is_rolled_back_to_what_served(tmp_path: Path, topology: str) -> None:
    words = ("deploy", "--topology", topology, *SHORTER)
    for at in range(6, 45):  # before, it only reads
        lab = Lab(tmp_path / str(at))
        lab.deploy(topology, "--set", "args.max-model-len=1024")
        lab.deploy(topology)
        served = lab.running()
        lab.world.boot(BootRule.flag("2048", EngineBoot(crashes=True, log=("boom",))))
        if not lab.killed(at, *words):
            break
        lab.anew()
        lab.json("rollback")
        assert lab.running() == served, at


def test_a_reboot_after_a_killed_deploy_changes_nothing_about_where_a_rollback_goes(lab: Lab) -> None:
    lab.deploy("2x-solo", "--set", "args.max-model-len=1024")
    lab.deploy("2x-solo")
    served = lab.running()
    words = ("deploy", "--topology", "2x-solo", *SHORTER)
    assert any(lab.killed(at, *words) and lab.running() < served for at in range(5, 12))
    lab.anew()
    for node in lab.world.nodes.values():
        node.reboot()
    lab.json("rollback", code=None)
    assert lab.running() == served


@pytest.mark.parametrize("kind", ["lost-applied", "lost-unapplied"])
@pytest.mark.parametrize("more", [(), ("--at-once",)])
def test_a_deploy_that_loses_a_node_and_cannot_be_undone_is_rolled_back_once_the_node_is_there(
    tmp_path: Path, kind: Literal["lost-applied", "lost-unapplied"], more: tuple[str, ...]
) -> None:
    for at in range(6, 36, 3):
        lab = Lab(tmp_path / str(at))
        lab.deploy("2x-solo", "--set", "args.max-model-len=1024")
        lab.deploy("2x-solo")
        served = lab.running()
        lab.anew(troubles=[Trouble(kind, at)])
        if lab.cli("deploy", "--topology", "2x-solo", *more, *SHORTER).code == 0:
            break
        lab.anew()
        if lab.running() == served:
            continue
        lab.json("rollback")
        assert lab.running() == served, at


def test_all_that_a_killed_deploy_was_to_replace_comes_back(tmp_path: Path) -> None:
    for at in range(6, 40):
        lab = Lab(tmp_path / str(at))
        lab.deploy("solo", "--name", "a", "--limit", "node1", *SHORTER)
        lab.deploy("solo", "--name", "a", "--limit", "node1")
        lab.deploy("solo", "--name", "b", "--limit", "node2")
        served = lab.running()
        if not lab.killed(at, "deploy", "--topology", "2x-solo", "--name", "c"):
            break
        lab.anew()
        lab.json("rollback")
        assert lab.running() == served, at
        assert lab.json("status")["cut_off"] == []


def test_after_two_killed_deploys_a_rollback_starts_what_served_before_both(tmp_path: Path) -> None:
    for at in range(2, 8):
        lab = Lab(tmp_path / str(at))
        lab.deploy("solo")
        served = lab.running()
        lab.world.boot(BootRule.flag("2048", EngineBoot(crashes=True, log=("boom",))))
        assert lab.killed(8, "deploy", "--topology", "solo", *SHORTER)
        assert lab.killed(at, "deploy", "--topology", "solo", "--set", "args.max-model-len=3000")
        lab.anew()
        lab.json("rollback")
        assert lab.running() == served, at


@pytest.mark.parametrize("at", [6, 8, 10])
def test_a_deploy_that_is_run_again_after_a_kill_and_killed_again_is_rolled_back_to_what_served(
    tmp_path: Path, at: int
) -> None:
    words = ("deploy", "--topology", "2x-solo", *SHORTER)
    for again in range(2, 40, 3):
        lab = Lab(tmp_path / str(again))
        lab.deploy("2x-solo", "--set", "args.max-model-len=1024")
        lab.deploy("2x-solo")
        served = lab.running()
        assert lab.killed(at, *words)
        if not lab.killed(again, *words):
            break
        lab.anew()
        lab.json("rollback")
        assert lab.running() == served, again


def test_a_killed_deploy_on_other_nodes_hides_none(lab: Lab) -> None:
    for name, node in (("a", "node1"), ("b", "node2")):
        lab.deploy("solo", "--name", name, "--limit", node, *SHORTER)
        lab.deploy("solo", "--name", name, "--limit", node)
    served = lab.running()
    for name, node, at in (("a", "node1", 4), ("b", "node2", 9)):
        words = ("--name", name, "--limit", node, "--set", "args.max-model-len=1024")
        assert lab.killed(at, "deploy", "--topology", "solo", *words)
    lab.anew()
    assert lab.running() != served
    lab.json("rollback")
    assert lab.running() == served
    assert lab.json("status")["cut_off"] == []


@pytest.mark.parametrize("at", range(4, 8))
def test_two_killed_deploys_of_neighbours_both_go_back(lab: Lab, at: int) -> None:
    half = ("--limit", "node1", "--set", "args.gpu-memory-utilization=0.4", "--allow", "memory-fits", "--alongside")
    for more in (SHORTER, ()):
        for name in ("a", "b"):
            lab.deploy("solo", "--name", name, *half, *more)
    served = lab.running()
    for name in ("a", "b"):
        words = ("--name", name, *half, "--set", "args.max-model-len=1024")
        assert lab.killed(at, "deploy", "--topology", "solo", *words)
    lab.anew()
    lab.json("rollback")
    assert lab.running() == served


@pytest.mark.parametrize("at", [22, 24, 26])
def test_a_killed_playbook_whose_first_deploy_ended_is_not_undone_there(lab: Lab, at: int) -> None:
    for more in (("--set", "args.max-model-len=1024"), ()):
        lab.deploy("solo", "--name", "a", "--limit", "node1", *more)
    deploys = [
        {"run": "deploy", "with": {"topology": "solo", "name": name, "limit": node, "set": [SHORTER[1]]}}
        for name, node in (("a", "node1"), ("c", "node2"))
    ]
    (lab.work / "two.yml").write_text(json.dumps(deploys))
    assert lab.killed(at, "play", "two.yml")
    lab.anew()
    new = {one for one in lab.running() if one[0] == "node1"}
    lab.json("rollback", code=None)
    assert {one for one in lab.running() if one[0] == "node1"} == new


def test_a_run_about_a_neighbour_leaves_what_a_rollback_goes_back_to(lab: Lab) -> None:
    half = ("--set", "args.gpu-memory-utilization=0.4", "--allow", "memory-fits")
    for more in (SHORTER, ()):
        lab.deploy("solo", "--name", "a", "--limit", "node1", *half, *more)
    lab.deploy("solo", "--name", "b", "--limit", "node1", "--alongside", *half)
    served = lab.running()
    words = ("--name", "a", "--limit", "node1", "--alongside", *half, "--set", "args.max-model-len=1024")
    assert lab.killed(4, "deploy", "--topology", "solo", *words)
    lab.anew()
    lab.cli("restart", "b", code=0)
    lab.json("rollback", "a")
    assert lab.running() == served


def test_a_deploy_that_was_undone_is_over_for_a_rollback(lab: Lab) -> None:
    lab.deploy("2x-solo", "--set", "args.max-model-len=1024")
    first = lab.running()
    lab.deploy("2x-solo")
    lab.world.boot(BootRule.flag("2048", EngineBoot(crashes=True, log=("boom",))))
    lab.json("deploy", "--topology", "2x-solo", *SHORTER, code=5)
    lab.json("rollback")
    assert lab.running() == first
