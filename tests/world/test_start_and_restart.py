"""`stop`, `start`, `restart`, `rollback --check`: what comes back, and what serves meanwhile."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from sparkops.testing import BootRule, EngineBoot, Trouble
from sparkops.testing.facts import meminfo
from sparkops.testing.upkeep import AVAILABLE_KIB
from support.world import Lab

GPT = "openai-gpt-oss-120b"
QWEN = "qwen3-next-80b-a3b-instruct-fp8"
HALF = ("--set", "args.gpu-memory-utilization=0.4", "--allow", "memory-fits")


def changed_nothing(lab: Lab, *words: str) -> None:
    before = lab.starts()
    lab.mark()
    lab.cli(*words, code=0)
    assert lab.changed() == []
    assert lab.starts() == before
    assert all(node.lock is None for node in lab.world.nodes.values())


def test_start_brings_back_exactly_the_containers_that_were_stopped(lab: Lab) -> None:
    lab.deploy("solo")
    lab.deploy("cluster", "--recipe", QWEN)
    served, every = lab.running(), lab.containers()
    stopped = lab.json("stop")
    assert {(one["node"], one["container"]) for one in stopped["stopped"]} == served
    assert (stopped["removed"], stopped["changed"], lab.running()) == ([], True, set())
    assert lab.containers() == every
    assert lab.state() == {QWEN: "stopped", GPT: "stopped"}
    changed_nothing(lab, "start", "--check")
    started = lab.json("start")
    assert (started["changed"], started["deployment"], lab.running()) == (True, QWEN, served)
    assert lab.state()[QWEN] == "serving"


def test_what_was_stopped_twice_or_started_twice_is_left_as_it_is(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.json("stop")
    assert lab.json("stop")["changed"] is False
    lab.json("start")
    began = lab.starts()
    again = lab.json("start", GPT)
    assert (again["changed"], again["started"], lab.starts()) == (False, [], began)


def test_rollback_after_stop_starts_what_was_stopped_and_says_so_before(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.deploy("2x-solo")
    served = lab.running()
    lab.cli("stop", code=0)
    preview = lab.json("rollback", "--check")
    ran = lab.cli("rollback", "--json", code=0)
    assert preview["restored"] == ran.document["restored"]
    assert f"starts {preview['restored'][0]} as 2x-solo, which served until " in ran.err
    assert lab.running() == served


def test_a_rollback_to_a_hash_may_run_twice(lab: Lab) -> None:
    good = lab.deploy("cluster")["hash"][:8]
    served = lab.running()
    lab.deploy("2x-solo")
    assert lab.json("rollback", "--to", good)["changed"] is True
    assert lab.running() == served
    changed_nothing(lab, "rollback", "--to", good)
    assert lab.json("rollback", "--to", good)["restored"] == []
    error = lab.json("rollback", "--to", "nope", code=2)["error"]
    assert error["message"].startswith("no deployment has the hash nope; these nodes have: ")


def test_a_rollback_to_a_hash_stops_only_what_is_in_the_way(lab: Lab) -> None:
    old = lab.deploy("solo", *HALF)["hash"]
    lab.deploy("solo", "--set", "args.max-num-seqs=4", *HALF)
    lab.deploy("solo", "--alongside", "--name", "second", *HALF)
    beside = {one for one in lab.running() if "second" in one[1]}
    done = lab.json("rollback", "--to", old)
    assert (len(done["replaced"]), done["hash"]) == (1, old)
    assert beside < lab.running()


def test_a_rollback_to_a_name_stops_what_runs_in_its_place(lab: Lab) -> None:
    lab.deploy("cluster", "--recipe", QWEN)
    before = lab.running()
    lab.deploy("solo", "--limit", "node1")
    assert lab.json("rollback", QWEN)["replaced"]
    assert (lab.running(), lab.state()) == (before, {GPT: "stopped", QWEN: "serving"})
    lab.json("stop", QWEN)
    lab.json("rollback", QWEN)
    assert lab.running() == before


def test_a_rollback_to_a_name_that_serves_elsewhere_names_what_is_kept(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    lab.deploy("solo", "--recipe", QWEN, "--limit", "node1")
    lab.deploy("solo", "--limit", "node2")
    error = lab.json("rollback", GPT, code=3)["error"]
    assert re.search(rf"where {GPT} \w+ runs; but {GPT} \w+ was stopped on node1$", error["message"])
    assert re.match(rf"to stop {QWEN} \w+ and go back: `", error["hint"])
    lab.cli(*shlex.split(error["hint"].split("`")[1])[3:], code=0)
    assert lab.state() == {GPT: "serving", QWEN: "stopped"}
    assert {node for node, _ in lab.running()} == {"node1", "node2"}


def test_a_second_rollback_starts_all_that_the_first_one_stopped(lab: Lab) -> None:
    both = lab.deploy("2x-solo")["hash"]
    lab.deploy("solo", "--recipe", QWEN, "--limit", "node2")
    lab.deploy("solo", "--limit", "node1")
    served = lab.running()
    lab.json("rollback", "--to", both)
    assert lab.running().isdisjoint(served)
    whole = lab.running()
    for before in (served, whole, served):
        lab.json("rollback")
        assert lab.running() == before


def test_a_rollback_starts_nothing_where_a_server_keeps_running_that_it_does_not_stop(lab: Lab) -> None:
    lab.deploy("2x-solo")
    lab.deploy("solo", "--limit", "node1")
    lab.deploy("solo", "--recipe", QWEN, "--limit", "node2")
    served = lab.running()
    error = lab.json("rollback", GPT, code=2)["error"]
    assert QWEN in error["message"]
    assert lab.running() == served
    lab.cli(*shlex.split(error["hint"].split("`")[1])[3:], code=0)
    assert lab.state() == {GPT: "serving", QWEN: "stopped"}


def test_a_rollback_of_two_servers_with_one_name_asks_for_one_of_them(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    lab.deploy("solo", "--recipe", QWEN, "--limit", "node2")
    lab.deploy("solo", "--limit", "node2")
    served = lab.running()
    error = lab.json("rollback", GPT, code=2)["error"]
    assert lab.running() == served
    lab.cli(*shlex.split(error["hint"].split("`")[1])[3:], code=0)
    assert (lab.serves("node1"), lab.state()[QWEN]) == (True, "serving")


def test_the_cure_for_too_little_memory_stops_only_who_holds_it(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    lab.deploy("solo", "--limit", "node2")
    sizes = {"MemTotal": 127_600_000, "MemFree": 9_000_000, "MemAvailable": 9_000_000, "Cached": 0}
    full = "\n".join(f"{key}: {kib} kB" for key, kib in {**sizes, "SwapTotal": 0, "SwapFree": 0}.items())
    lab.node("node1").probes |= {"meminfo": (0, full)}
    told = lab.json("deploy", "--topology", "solo", "--recipe", QWEN, "--limit", "node1", "--alongside", code=3)
    stop = re.search(r"\(sparkops \S+ \S+ (stop \w{8})\)", told["error"]["hint"])
    assert stop, told["error"]["hint"]
    lab.cli(*stop[1].split(), code=0)
    assert {node for node, _ in lab.running()} == {"node2"}


def test_a_rollback_to_a_name_stops_nothing_outside_of_its_limit(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.json("stop")
    lab.deploy("solo", "--limit", "node2", "--name", "other")
    served = lab.running()
    error = lab.json("rollback", GPT, "--limit", "node1", code=2)["error"]
    assert re.search(r"must also stop deployments that are not selected: other \w{8}$", error["message"])
    assert lab.running() == served


def test_a_part_that_stop_remove_could_not_reach_is_removed_later_also_beside_another_such_part(lab: Lab) -> None:
    lab.deploy("2x-solo")
    lab.world.lose("node1")
    lab.json("stop", "--remove", code=4)
    lab.world.heal("node1")
    lab.deploy("solo", "--recipe", QWEN)
    assert {name.partition("-server")[0] for _, name in lab.containers()} == {f"sparkops-{QWEN}"}


def test_what_two_stops_missed_in_turn_is_still_kept_for_start(lab: Lab) -> None:
    lab.deploy("cluster")
    whole = lab.running()
    for node in ("node1", "node2"):
        lab.world.lose(node)
        lab.json("stop", code=4)
        lab.world.heal(node)
    lab.json("stop")
    lab.json("start")
    assert lab.running() == whole


def test_a_start_leaves_out_a_cluster_whose_link_is_down(lab: Lab) -> None:
    lab.deploy("cluster", *HALF)
    lab.deploy("solo", "--alongside", "--limit", "node1", "--name", "second", *HALF)
    lab.json("stop")
    lab.node("node2").link = False
    assert [one["deployment"] for one in lab.json("start")["endpoints"]] == ["second"]


@pytest.mark.parametrize("verb", ["start", "restart", "rollback"])
def test_a_cluster_whose_link_is_down_is_neither_started_nor_awaited(lab: Lab, verb: str) -> None:
    lab.deploy("cluster")
    if verb == "start":
        lab.json("stop")
    if verb == "rollback":
        lab.deploy("solo", "--recipe", QWEN)
    lab.node("node2").link = False
    lab.mark()
    error = lab.json(verb, code=3)["error"]
    assert "the CX7 link of node2 is down" in error["message"]
    assert "check the cable" in error["hint"]
    assert lab.changed() == []


def test_a_rollback_starts_what_the_last_deploy_replaced_not_what_an_earlier_one_did(lab: Lab) -> None:
    lab.deploy("2x-solo", "--name", "first")
    lab.deploy("2x-solo", "--name", "again")
    lab.json("rollback")
    lab.json("stop", "first")
    lab.deploy("solo", "--limit", "node2", "--name", "other")
    served = lab.running()
    lab.deploy("2x-solo", "--name", "again")
    done = lab.json("rollback")
    assert [one.split()[0] for one in done["restored"]] == ["other"]
    assert lab.running() == served


def test_a_rollback_starts_all_that_served_beside_each_other_though_one_had_replaced_the_other(lab: Lab) -> None:
    lab.deploy("solo", "--name", "first", *HALF)
    lab.deploy("solo", "--name", "second", "--port", "9000", *HALF)
    lab.deploy("solo", "--name", "first", "--alongside", *HALF)
    served = lab.running()
    lab.deploy("cluster")
    lab.json("rollback")
    assert (len(served), lab.running()) == (2, served)


def test_a_name_means_what_runs_though_another_one_of_it_is_stopped_elsewhere(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    lab.json("stop")
    lab.deploy("solo", "--limit", "node2")
    assert lab.cli("key", "--deployment", GPT, code=0).out == lab.cli("key", code=0).out
    assert lab.json("restart", GPT, "--check")["restarted"][0]["node"] == "node2"


def test_a_rollback_to_two_deployments_names_both(lab: Lab) -> None:
    for name, node in (("one", "node1"), ("two", "node2")):
        lab.deploy("solo", "--name", name, "--limit", node)
    served = lab.running()
    lab.deploy("cluster")
    ran = lab.cli("rollback", code=0)
    assert re.search(r"one \w{8}, two \w{8} serve after ", ran.out)
    assert "key --deployment one --limit node1)" in ran.out
    assert lab.running() == served


def test_the_check_of_a_stop_is_what_a_stop_does(lab: Lab) -> None:
    lab.deploy("2x-solo")
    changed_nothing(lab, "stop", "--check")
    told = lab.json("stop", "--check")["stopped"]
    assert lab.json("stop")["stopped"] == told


def test_a_stopped_deployment_is_shown_beside_one_of_its_name_on_other_nodes(lab: Lab) -> None:
    for node in ("node1", "node2"):
        lab.deploy("solo", "--limit", node)
    lab.json("stop")
    shown = {one["nodes"][0]["name"]: one for one in lab.json("status")["deployments"]}
    assert {node: (one["state"], one["next"]) for node, one in shown.items()} == {
        node: ("stopped", f"start it again: `sparkops -i {lab.inventory} start {GPT} --limit {node}`")
        for node in ("node1", "node2")
    }


def test_what_another_deployment_replaced_is_told_how_to_come_back(lab: Lab) -> None:
    lab.deploy("solo", "--name", "old")
    lab.deploy("cluster")
    old = next(one for one in lab.json("status")["deployments"] if one["name"] == "old")
    assert "runs in its place; to go back: `sparkops" in old["next"]
    lab.cli(*shlex.split(old["next"].split("`")[1])[3:], code=0)
    assert lab.state() == {"old": "serving", GPT: "stopped"}


def test_a_stop_keeps_what_has_parts_outside_of_its_inventory_and_tells_of_them(lab: Lab) -> None:
    lab.deploy("2x-solo")
    served = lab.running()
    whole = lab.inventory.read_text()
    hosts = json.loads(whole)["all"]["hosts"]
    lab.inventory.write_text(json.dumps({"all": {"hosts": {"node1": hosts["node1"]}}}))
    assert lab.state() == {GPT: "serving"}, "node1 can ask the server on node2"
    stopped = lab.json("stop", code=4)
    shown = lab.json("status", code=4)["deployments"][0]
    assert "a part is on node2 (192.0.2.2), which is not in the inventory" in shown["cause"]
    assert "also has a part on node2" in lab.json("stop", code=4)["error"]["message"]
    assert "also has a part on node2 (192.0.2.2)" in stopped["error"]["message"]
    assert stopped["next"] is None, "start would end as this did"
    assert "an inventory that has this node" in lab.json("start", code=4)["error"]["hint"]
    assert "is stopped" in lab.json("restart", code=3)["error"]["message"]
    assert ({one["node"] for one in stopped["stopped"]}, stopped["removed"]) == ({"node1"}, [])
    lab.inventory.write_text(whole)
    lab.json("start")
    assert lab.running() == served


def test_a_rollback_stops_no_half_of_a_deployment(lab: Lab) -> None:
    lab.deploy("solo", "--name", "before")
    lab.deploy("2x-solo")
    served, hosts = lab.running(), json.loads(lab.inventory.read_text())["all"]["hosts"]
    lab.inventory.write_text(json.dumps({"all": {"hosts": {"node1": hosts["node1"]}}}))
    assert "also has a part on node2" in lab.json("rollback", code=4)["error"]["message"]
    assert lab.running() == served


def test_what_is_left_of_a_node_that_is_gone_for_good_can_be_forgotten(lab: Lab) -> None:
    lab.deploy("2x-solo")
    lab.json("stop")
    hosts = json.loads(lab.inventory.read_text())["all"]["hosts"]
    lab.inventory.write_text(json.dumps({"all": {"hosts": {"node1": hosts["node1"]}}}))
    (shown,) = lab.json("status", code=4)["deployments"]
    lab.json(*shlex.split(shown["next"].split("`")[1])[3:], code=4)
    assert lab.json("status")["deployments"] == []
    assert lab.json("stop")["changed"] is False


def test_the_check_of_a_rollback_shows_its_commands_and_takes_no_lock(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.deploy("solo")
    changed_nothing(lab, "rollback", "--check")
    shown = [step["command"].splitlines()[0] for step in lab.json("rollback", "--check")["steps"] if step["changes"]]
    lab.mark()
    done = lab.json("rollback")
    assert sorted(shown) == sorted(one.shown for one in lab.changed())
    assert done["changed"] is True


def test_several_that_served_beside_each_other_start_together_or_by_name(lab: Lab) -> None:
    lab.deploy("solo", *HALF)
    lab.deploy("solo", "--alongside", "--name", "second", *HALF)
    served = lab.running()
    lab.json("stop")
    assert len(lab.json("start")["started"]) == len(served)
    assert lab.running() == served
    lab.json("stop")
    lab.json("start", "second")
    assert lab.state() == {GPT: "stopped", "second": "serving"}
    lab.json("rollback", GPT)
    assert lab.running() == served


@pytest.mark.parametrize("recipe", [QWEN, GPT])
def test_what_cannot_run_beside_what_serves_is_refused_with_what_to_do(lab: Lab, recipe: str) -> None:
    lab.deploy("solo", "--name", "mine")
    lab.json("stop")
    lab.deploy("cluster", "--recipe", recipe)
    served = lab.running()
    error = lab.json("start", "mine", code=3)["error"]
    assert "cannot run beside" in error["message"]
    assert f" stop {recipe}`" in error["hint"]
    assert lab.json("start")["changed"] is False, "without a name, what serves is what there is"
    assert lab.running() == served


def test_nothing_to_start_or_to_restart_is_said(lab: Lab) -> None:
    assert "nothing to start" in lab.json("start", code=3)["error"]["message"]
    assert lab.json("start", "nothing-like-it", code=2)["error"]["message"].startswith("no deployment")
    lab.deploy("solo")
    assert len(lab.json("stop", "--remove")["removed"]) == 1
    assert lab.containers() == set()
    assert "nothing to start" in lab.json("start", code=3)["error"]["message"]
    lab.deploy("solo")
    lab.json("stop")
    assert lab.json("restart", code=3)["error"]["hint"] == f"start it: `sparkops -i {lab.inventory} start {GPT}`"


def test_a_removed_deployment_takes_its_stopped_containers_along(lab: Lab) -> None:
    lab.deploy("solo")
    lab.deploy("solo", "--set", "args.max-num-seqs=4")
    lab.deploy("solo", "--recipe", QWEN, "--limit", "node2")
    lab.json("stop", GPT, "--remove")
    assert {name.partition("-server")[0] for _, name in lab.containers()} == {f"sparkops-{QWEN}"}


def test_a_stop_that_missed_a_node_is_told_so_and_ended_by_a_second_one(lab: Lab) -> None:
    lab.deploy("2x-solo")
    lab.world.lose("node2")
    assert f"sparkops -i {lab.inventory} stop {GPT}` again" in lab.json("stop", GPT, code=4)["error"]["hint"]
    lab.deploy("solo", "--limit", "node1", "--name", "instead")
    lab.world.heal("node2")
    served = {one for one in lab.running() if "instead" in one[1]}
    shown = next(one for one in lab.json("status", code=5)["deployments"] if one["name"] == GPT)
    assert shown["cause"] == "an earlier run could not reach node2, where the server still runs"
    for verb in ("start", "restart"):
        assert "cannot run beside instead" in lab.json(verb, GPT, code=3)["error"]["message"]
    lab.cli(*shlex.split(shown["next"].split("`")[1])[3:], code=0)
    assert lab.running() == served
    assert lab.state() == {"instead": "serving", GPT: "stopped"}


def test_a_start_stops_what_a_stop_missed_and_keeps_it_for_its_own_start(lab: Lab) -> None:
    lab.deploy("cluster", *HALF)
    lab.deploy("solo", "--alongside", "--limit", "node1", "--name", "second", *HALF)
    served = lab.running()
    lab.world.lose("node2")
    lab.json("stop", code=4)
    lab.world.heal("node2")
    lab.json("start", "second")
    assert lab.state() == {GPT: "stopped", "second": "serving"}
    lab.json("start", GPT)
    assert lab.running() == served


def test_a_half_that_another_deployment_keeps_from_running_is_told_so_with_steps_that_work(lab: Lab) -> None:
    lab.deploy("2x-solo")
    whole = lab.running()
    lab.world.lose("node2")
    lab.json("stop", code=4)
    lab.deploy("solo", "--limit", "node1", "--name", "instead")
    lab.world.heal("node2")
    for node in lab.world.nodes.values():
        for note in [path for path in node.files if "/orphans/" in path]:
            del node.files[note]
    shown = next(one for one in lab.json("status", code=5)["deployments"] if one["name"] == GPT)
    assert re.fullmatch(r"instead \w{8} runs in its place", shown["cause"])
    back, stop = shown["next"].split("`")[1::2]
    lab.cli(*shlex.split(stop)[3:], code=0)
    assert lab.state() == {GPT: "stopped", "instead": "serving"}
    lab.cli(*shlex.split(back)[3:], code=0)
    assert lab.running() == whole


def test_what_was_stopped_with_a_node_away_starts_when_it_is_back(lab: Lab) -> None:
    lab.deploy("cluster")
    served = lab.running()
    lab.world.lose("node2")
    lab.json("stop", code=4)
    lab.json("start", code=4)
    lab.world.heal("node2")
    lab.json("start")
    assert (lab.running(), lab.state()) == (served, {GPT: "serving"})
    lab.json("stop")
    assert lab.json("start")["changed"], "no note is left that would have removed it"


@pytest.mark.parametrize("at", range(1, 22, 2))
def test_a_start_that_is_interrupted_leaves_it_stopped_and_one_that_is_killed_can_be_done_again(
    tmp_path: Path, at: int
) -> None:
    for kind in ("interrupt", "crash-after"):
        lab = Lab(tmp_path / kind)
        lab.deploy("2x-solo")
        served = lab.running()
        lab.json("stop")
        lab.anew(troubles=[Trouble("interrupt", at)]) if kind == "interrupt" else None
        ended = lab.cli("start").code if kind == "interrupt" else lab.killed(at, "start")
        if kind == "interrupt" and ended:
            assert lab.running() == set()
        lab.anew()
        lab.json("start")
        assert lab.running() == served


class Watched:
    """At every send: how many servers behind the proxy answer, and whether the proxy does."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.fewest, self.proxy = lab, len(lab.names), True

    def watch(self, sends: int) -> None:
        def look() -> None:
            self.fewest = min(self.fewest, sum(self.lab.serves(name, 8001) for name in self.lab.names))
            self.proxy = self.proxy and self.lab.serves("node1")

        self.lab.anew(troubles=[Trouble("meets", at, then=look) for at in range(1, sends)])


@pytest.mark.parametrize("nodes", [2, 3])
def test_a_restart_of_replicas_keeps_all_but_one_serving(lab_of: Callable[[int], Lab], nodes: int) -> None:
    lab = lab_of(nodes)
    lab.deploy(f"{nodes}x-solo")
    before = lab.starts()
    watched = Watched(lab)
    watched.watch(100)
    done = lab.json("restart")
    assert (watched.fewest, watched.proxy, done["in_turns"]) == (nodes - 1, True, True)
    after = lab.starts()
    assert {key for key in after if after[key] != before[key]} == {key for key in before if "-server-" in key[1]}
    assert after.keys() == before.keys()


def test_a_restart_of_a_cluster_restarts_every_rank_at_once(lab: Lab) -> None:
    lab.deploy("cluster")
    before = lab.starts()
    changed_nothing(lab, "restart", "--check")
    ran = lab.cli("restart", "--json", code=0)
    assert ran.document["in_turns"] is False
    assert "no answer until the model is loaded again" in ran.err
    after = lab.starts()
    assert after.keys() == before.keys()
    assert all(after[key] != before[key] for key in before)


def test_a_server_that_does_not_come_back_ends_the_restart_before_the_next_one(lab: Lab) -> None:
    lab.deploy("2x-solo")
    before = lab.starts()
    with lab.trouble("node1", "crash-while-loading"):
        lab.json("restart", code=5)
    after = lab.starts()
    assert {key for key in before if after.get(key) == before[key]} == {
        key for key in before if "node2" in key or "-proxy-" in key[1]
    }
    assert lab.serves("node2", 8001)


def test_a_restart_begins_with_the_server_that_is_down(lab: Lab) -> None:
    lab.deploy("2x-solo")
    (server,) = (name for node, name in lab.running() if node == "node2")
    lab.on("node2", "docker", "stop", server)
    watched = Watched(lab)
    watched.watch(60)
    lab.json("restart")
    assert (watched.fewest, lab.state()) == (1, {GPT: "serving"})


@pytest.mark.parametrize("frozen", ["node1", "node2"])
def test_a_restart_begins_with_the_server_that_does_not_answer(lab: Lab, frozen: str) -> None:
    lab.deploy("2x-solo")
    (server,) = (one for one in lab.node(frozen).engine.listed() if "-server-" in one.name)
    server.silent = "health"
    order = [one["node"] for one in lab.json("restart", "--check")["restarted"]]
    assert (order[0], set(order)) == (frozen, {"node1", "node2"})


@pytest.mark.parametrize("at", range(1, 40, 3))
def test_after_an_interrupted_restart_all_serves(tmp_path: Path, at: int) -> None:
    for topology in ("cluster", "2x-solo"):
        lab = Lab(tmp_path / topology)
        lab.deploy(topology)
        served = lab.running()
        lab.anew(troubles=[Trouble("interrupt", at)])
        lab.cli("restart")
        lab.anew()
        assert (lab.running(), lab.state()) == (served, {GPT: "serving"}), at


def test_an_undo_does_not_call_serving_what_does_not_answer(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.world.boot(BootRule(lambda _image, _words: True, EngineBoot(refuses="HTTP 500")))
    error = lab.json("restart", code=5)["error"]
    assert error["rolled_back"] == "Rolled back. What ran before was started again, but gave no answer within 60 s."
    assert lab.state() == {GPT: "failed"}


def test_a_node_that_is_down_ends_a_restart_before_it_stops_anything(lab: Lab) -> None:
    lab.deploy("2x-solo")
    lab.world.lose("node2")
    lab.mark()
    lab.json("restart", code=4)
    assert lab.changed() == []


def test_a_new_key_reaches_the_replicas_node_by_node_and_the_one_with_the_proxy_last(lab: Lab) -> None:
    lab.deploy("2x-solo")
    watched = Watched(lab)
    watched.watch(100)
    rotated = lab.cli("key", "rotate", "--json", code=0)
    stops = [one.node for one in lab.changed() if one.shown.startswith("@container stop")]
    assert (watched.fewest, stops) == (1, ["node2", "node1", "node1"])
    assert "its servers one after the other" in rotated.err
    assert lab.key() == rotated.document["key"]


def test_a_key_that_stays_or_that_nothing_uses_restarts_nothing(lab: Lab) -> None:
    lab.deploy("2x-solo")
    changed_nothing(lab, "key", "rotate", "--check")
    began = lab.starts()
    same = lab.json("key", "rotate", SPARKOPS_API_KEY=lab.key())
    assert (same["rotated"], same["restarted"], lab.starts()) == (False, [], began)
    lab.json("stop")
    other = lab.cli("key", "rotate", "--json", code=0)
    assert "nothing is restarted" in other.err
    assert (other.document["rotated"], other.document["restarted"], lab.running()) == (True, [], set())
    lab.json("start")
    assert lab.key() == other.document["key"]


def test_what_an_older_sparkops_left_is_started_and_named_first(lab: Lab) -> None:
    """Its `stop` removed what ran and kept only what that had replaced."""
    lab.deploy("cluster")
    kept = lab.running()
    lab.deploy("2x-solo")
    for node, name in lab.running():
        lab.on(node, "docker", "stop", name)
        lab.on(node, "docker", "rm", name)
    preview = lab.json("start", "--check")
    ran = lab.cli("start", "--json", code=0)
    assert (ran.document["topology"], lab.running()) == ("cluster", kept)
    assert f"starts {preview['started'][0]} as cluster, which served until " in ran.err


def test_a_proxy_on_every_node_gets_the_new_key_with_its_server(lab: Lab) -> None:
    lab.deploy("2x-solo", "--proxy", "all")
    watched = Watched(lab)
    watched.watch(120)
    lab.json("key", "rotate")
    stops = [one.node for one in lab.changed() if one.shown.startswith("@container stop")]
    assert (watched.fewest, stops) == (1, ["node1", "node1", "node2", "node2"])
    assert lab.state() == {GPT: "serving"}


@pytest.mark.parametrize(("verb", "purpose"), [("rollback", "roll back to"), ("start", "start")])
def test_what_is_not_whole_any_more_is_said_with_what_to_do(lab: Lab, verb: str, purpose: str) -> None:
    lab.deploy("cluster")
    lab.json("stop")
    ((node, name),) = (one for one in lab.containers() if "-worker-" in one[1])
    lab.on(node, "docker", "rm", name)
    error = lab.json(verb, code=3)["error"]
    assert error["message"].startswith(f"nothing to {purpose}: {GPT} ")
    assert error["message"].endswith(f" is not whole, {node} lacks its container")
    assert f"deploy --recipe {GPT} --topology cluster`" in error["hint"]


def test_a_stop_on_some_nodes_says_how_to_go_on_with_these_alone(tmp_path: Path) -> None:
    """A hint without the limit would stop or start what a colleague runs on the other nodes."""
    lab = Lab(tmp_path, nodes=4)
    lab.deploy("cluster", "--limit", "node1,node2")
    lab.deploy("2x-solo", "--limit", "node3,node4")
    lab.world.lose("node4")
    ran = lab.cli("stop", "--limit", "node3,node4", code=4)
    assert "stop --limit node3,node4` again" in ran.err
    lab.world.heal("node4")
    ran = lab.cli("stop", "--limit", "node3,node4", code=0)
    assert "start --limit node3,node4`" in ran.out
    ran = lab.cli("cleanup", "--limit", "node1", code=0)
    assert "--limit node1 stop`" in ran.out


def test_a_stop_of_what_another_one_replaced_does_not_call_it_startable(tmp_path: Path) -> None:
    lab = Lab(tmp_path, nodes=2)
    lab.deploy("2x-solo")
    lab.world.lose("node2")
    lab.cli("stop", code=4)
    lab.deploy("solo", "--limit", "node1", "--set", "args.max-model-len=4096", "--name", "mine")
    lab.world.heal("node2")
    assert lab.json("stop", GPT)["next"] is None


def steps(document: Any) -> Iterator[list[str]]:
    """What `status` prints for each deployment that neither serves nor is stopped, as words of a command line."""
    for one in document["deployments"]:
        if one["state"] not in ("serving", "stopped"):
            yield shlex.split(one["next"].split("`")[1])[3:]


def answering(document: Any) -> set[str]:
    """The containers of deployments whose endpoint answers."""
    found = [one for one in document["deployments"] if any(it["healthy"] for it in one["endpoints"])]
    return {node["container"] for one in found for node in one["nodes"] if node["state"] == "running"}


@pytest.mark.parametrize(("verb", "topology"), [("deploy", "cluster"), ("deploy", "2x-solo"), ("rollback", "2x-solo")])
def test_steps_of_status_after_a_lost_node_end_nothing_that_answers_and_lead_to_what_serves(
    tmp_path: Path, verb: str, topology: str
) -> None:
    """The lost node leaves parts of two revisions of one name."""
    for at in range(8, 48, 4):
        lab = Lab(tmp_path / f"{at}")
        lab.deploy(topology)
        lab.deploy(topology, "--set", "args.max-num-seqs=12")
        lab.anew(troubles=[Trouble("lost-applied", at)])
        lab.cli(verb, *(("--topology", topology, "--set", "args.max-num-seqs=14") if verb == "deploy" else ()))
        lab.anew()
        for name in lab.names:
            lab.world.heal(name)
        for _ in range(4):
            lab.settle()
            document = lab.cli("status", "--json").document
            for words in steps(document):
                if words[0] == "stop":
                    ends = {one["container"] for one in lab.json(*words, "--check")["stopped"]}
                    assert not ends & answering(document), (at, words)
            for words in islice(steps(document), 1):
                lab.cli(*words, code=0)
        states = {*lab.state().values()}
        assert "serving" in states <= {"serving", "stopped"}, at


def test_a_node_that_is_away_keeps_nothing_stopped_that_does_not_need_it(lab: Lab) -> None:
    """Nor does what runs there only because a deploy could not reach it hide what was stopped last."""
    lab.deploy("cluster")
    lab.world.lose("node2")
    lab.deploy("solo", "--limit", "node1")
    solo = lab.running() - {(node, name) for node, name in lab.running() if node == "node2"}
    lab.json("stop", "--limit", "node1")
    shown = lab.json("status", "--limit", "node1")["deployments"][0]
    lab.cli(*shlex.split(shown["next"].split("`")[1])[3:], code=0)
    assert {one for one in lab.running() if one[0] == "node1"} == solo
    lab.json("stop", "--limit", "node1")
    lab.world.heal("node2")
    assert "stopped" in {one["state"] for one in lab.cli("status", "--json").document["deployments"]}
    assert lab.json("start")["started"] != []
    assert lab.running() == solo


def test_a_rollback_stops_all_that_has_the_memory_which_it_needs(lab: Lab) -> None:
    lab.deploy("cluster")
    cluster = lab.running()
    lab.deploy("solo", "--recipe", QWEN, "--limit", "node1", *HALF)
    lab.deploy("solo", "--recipe", QWEN, "--limit", "node2", *HALF)
    ran = lab.json("rollback", GPT)
    assert len(ran["replaced"]) == 2
    assert lab.running() == cluster


def test_what_could_not_start_again_is_not_stopped(lab: Lab) -> None:
    lab.deploy("solo", "--recipe", QWEN, "--limit", "node1")
    lab.deploy("solo", "--limit", "node1")
    lab.fault("node1", "no-model")
    for words in (("restart",), ("key", "rotate"), ("rollback",)):
        running = lab.running()
        error = lab.json(*words, code=3)["error"]
        assert f"sparkops -i {lab.inventory} model fetch" in error["hint"], words
        assert lab.running() == running, words
    lab.json("stop")
    assert "model fetch" in lab.json("start", code=3)["error"]["hint"]


def test_a_stop_by_hash_makes_up_for_the_run_that_was_cut_off(lab: Lab) -> None:
    lab.deploy("cluster")
    assert lab.killed(14, "deploy", "--topology", "cluster", "--set", "args.max-num-seqs=4")
    digests = [one["hash"] for one in lab.cli("status", "--json").document["deployments"]]
    lab.cli("stop", digests[0][:8], code=0)
    assert lab.json("status")["cut_off"] == []


def test_a_broken_server_is_never_stopped_for_a_neighbour_that_it_answers_beside(lab: Lab) -> None:
    lab.deploy("2x-solo")
    lab.deploy("solo", "--recipe", QWEN, "--limit", "node1", "--alongside", "--allow", "memory-fits")
    (gone,) = (name for node, name in lab.running() if node == "node2")
    lab.on("node2", "docker", "rm", "-f", gone)
    shown = next(one for one in lab.json("status", code=5)["deployments"] if one["name"] == GPT)
    assert (shown["state"], shown["next"].split(":")[0]) == ("degraded", "deploy it again")
    lab.cli(*shlex.split(shown["next"].split("`")[1])[3:])
    assert lab.state()[QWEN] == "serving"


def test_what_a_file_deployed_comes_again_with_the_command_that_the_history_shows(lab: Lab) -> None:
    file = lab.work / "my recipe.yml"
    file.write_text("extends: openai-gpt-oss-120b\n")
    lab.deploy("2x-solo", "--recipe", str(file))
    (gone,) = (name for node, name in lab.running() if node == "node2")
    lab.on("node2", "docker", "rm", "-f", gone)
    (shown,) = lab.json("status", code=5)["deployments"]
    assert "with the command that" in shown["next"]
    lab.cli(*shlex.split(shown["next"].split("`")[1])[3:], code=0)
    command = next(run["command"] for run in lab.json("history")["runs"] if run["verb"] == "deploy")
    lab.cli(*shlex.split(command)[3:], code=0)
    assert list(lab.state().values()) == ["serving"]


def test_what_serves_is_only_asked_also_if_it_could_not_start_again(lab: Lab) -> None:
    lab.deploy("solo")
    digest = lab.json("status")["deployments"][0]["hash"][:8]
    lab.fault("node1", "no-model")
    changed_nothing(lab, "start")
    changed_nothing(lab, "rollback", "--to", digest)


def test_a_model_elsewhere_than_in_the_cache_of_the_node_is_not_judged(lab: Lab) -> None:
    lab.deploy("solo", "--set", "env.HF_HOME=/root/models")
    lab.fault("node1", "no-model")
    lab.cli("restart", code=0)


SEVENTY = ("--set", "args.gpu-memory-utilization=0.7", "--allow", "memory-fits")
THIRTY = ("--set", "args.gpu-memory-utilization=0.3", "--allow", "memory-fits")


def test_what_fills_a_node_with_its_neighbours_does_not_start_beside_them_but_goes_back_in_their_place(
    lab: Lab,
) -> None:
    """The shares of 0.7 and 0.3 leave nothing to the system, as a deploy says."""
    lab.deploy("2x-solo", *SEVENTY)
    before = lab.running()
    lab.json("stop")
    lab.deploy("solo", "--limit", "node1", "--name", "chat", "--alongside", "--port", "9200", *THIRTY)
    lab.deploy("solo", "--limit", "node2", "--name", "code", "--alongside", "--port", "9300", *THIRTY)
    lab.mark()
    refused = lab.cli("start", GPT, "--check", code=3)
    assert "cannot run beside" in refused.err
    assert lab.changed() == []
    (back,) = {one["next"].split("`")[1] for one in lab.json("status")["deployments"] if one["name"] == GPT}
    lab.cli(*shlex.split(back)[3:], code=0)
    assert lab.running() == before


def crowded(lab: Lab, name: str) -> None:
    """Somebody leaves 30 GiB of a node's memory."""
    node = lab.node(name)
    told = meminfo(node).replace("MemFree:", "MemFree: 1024 kB\nWas:")
    told = told.replace(f"MemAvailable: {AVAILABLE_KIB:>12} kB", "MemAvailable: 31457280 kB")
    node.probes = {**node.probes, "meminfo": (0, told)}


def test_no_start_and_no_rollback_stops_anything_for_memory_that_a_stranger_holds(lab: Lab) -> None:
    lab.deploy("solo", *SEVENTY)
    lab.json("stop")
    crowded(lab, "node1")
    lab.mark()
    refused = lab.json("start", code=3)["error"]
    assert "needs 85.1 GiB on node1, but 30.0 GiB is free" in refused["message"]
    assert "memory` shows what uses it" in refused["hint"]
    assert lab.changed() == []


def test_a_dry_rollback_that_must_be_told_which_prints_a_dry_one(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1", "--name", "a")
    lab.deploy("solo", "--limit", "node1", "--name", "a", "--set", "args.max-model-len=16384")
    lab.deploy("solo", "--limit", "node2", "--name", "b")
    assert "`sparkops -i " in (hint := lab.json("rollback", "--check", code=2)["error"]["hint"])
    assert " rollback a --check`" in hint
    assert " rollback a`" in lab.json("rollback", code=2)["error"]["hint"]


def test_memory_counts_for_what_starts_and_not_for_what_stays_stopped_or_ends_first(lab: Lab) -> None:
    lab.deploy("2x-solo", "--name", "pair", *SEVENTY)
    lab.json("stop", "pair", "--limit", "node2")
    lab.deploy("solo", "--limit", "node2", "--name", "chat", "--alongside", "--port", "9200", *SEVENTY)
    crowded(lab, "node2")
    lab.cli("key", "rotate", "--deployment", "pair", code=0)


def test_what_this_start_ends_itself_does_not_hold_the_memory(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node2", "--name", "second", *SEVENTY)
    lab.deploy("cluster", *SEVENTY)
    lab.world.lose("node2")
    lab.json("stop", code=4)
    lab.world.heal("node2")
    crowded(lab, "node2")
    lab.cli("start", "second", "--check", code=0)


@pytest.mark.parametrize(("wanted", "fits"), [("0.6", False), ("0.3", True)])
def test_nobody_is_told_to_give_a_deployment_less_memory_than_its_weights_need(
    lab: Lab, wanted: str, fits: bool
) -> None:
    lab.deploy("solo", "--name", "chat", "--limit", "node1", "--set", "args.gpu-memory-utilization=0.8")
    crowded(lab, "node1")
    beside = ("--topology", "solo", "--limit", "node1", "--alongside", "--recipe", "nemotron-3-nano-nvfp4")
    refused = lab.json("plan", *beside, "--set", f"args.gpu-memory-utilization={wanted}", code=3)["error"]
    assert " stop chat)" in refused["hint"]
    assert ("deploy chat again with --set args.gpu-memory-utilization=0." in refused["hint"]) is fits


@pytest.mark.parametrize("verb", [("start", GPT), ("rollback", GPT), ("rollback", "--to")])
def test_a_deployment_starts_by_its_name_while_a_node_without_a_part_of_it_is_away(
    lab_of: Callable[[int], Lab], verb: tuple[str, ...]
) -> None:
    lab = lab_of(3)
    lab.deploy("cluster", "--limit", "node1,node2")
    (served,) = lab.json("status")["deployments"]
    lab.cli("stop", code=0)
    lab.world.lose("node3")
    words = (*verb, served["hash"][:8]) if "--to" in verb else verb
    assert lab.json(*words)["changed"]
    lab.cli("stop", "--limit", "node1,node2", code=0)
    assert lab.json("start", code=4)["error"]["node"] == "node3", "it may have a part of what was stopped"
    lab.json("start", "other", code=4)
    lab.world.lose("node2")
    assert lab.json(*words, code=4)["error"]["node"] == "node2"


def test_a_stop_that_reads_no_node_claims_nothing(lab: Lab) -> None:
    lab.deploy("2x-solo")
    for name in lab.names:
        lab.fault(name, "unreachable")
    ran = lab.cli("stop", code=4)
    assert ran.out.strip() == "Nothing was stopped. It is unknown what runs on node1, node2."
    assert "what node1, node2 runs may still serve" in ran.err
    assert [*lab.json("stop", code=4)["unreachable"]] == ["node1", "node2"]


def test_the_copy_of_an_image_and_of_a_model_reaches_the_node_that_has_it(lab: Lab) -> None:
    lab.world.nodes["node2"].models.clear()
    hint = lab.json("plan", "--topology", "solo", "--limit", "node2", code=3)["error"]["hint"]
    assert "model fetch openai/gpt-oss-120b" in hint
    assert "--limit node2,node1" in hint


def test_no_rollback_stops_a_part_of_what_it_cannot_reach_whole(lab: Lab) -> None:
    lab.deploy("solo", "--name", "a", "--limit", "node1")
    (first,) = lab.json("status")["deployments"]
    lab.deploy("2x-solo", "--name", "b")
    served = lab.running()
    lab.world.lose("node2")
    assert lab.json("rollback", "--to", first["hash"][:8], code=4)["error"]["node"] == "node2"
    lab.world.heal("node2")
    assert lab.running() == served


def test_a_rollback_by_name_takes_no_other_target_because_a_node_is_away(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(3)
    lab.deploy("cluster", "--name", "a", "--limit", "node1,node2")
    lab.deploy("solo", "--name", "b", "--limit", "node1", *HALF)
    lab.deploy("solo", "--name", "c", "--limit", "node1", "--alongside", *HALF)
    lab.cli("stop", "c", code=0)
    lab.world.lose("node2")
    assert lab.json("rollback", "b", code=4)["error"]["node"] == "node2"


def test_a_rollback_of_a_cluster_that_lost_a_node_goes_on_where_it_can(lab: Lab) -> None:
    lab.deploy("solo", "--name", "a", "--limit", "node1")
    lab.deploy("cluster", "--name", "b")
    lab.world.lose("node2")
    assert lab.json("rollback", "--limit", "node1")["deployment"] == "a"


def test_a_left_over_part_is_no_target_that_hinders_a_rollback(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(3)
    lab.deploy("3x-solo", "--name", "a")
    for name in ("node2", "node3"):
        lab.world.lose(name)
    lab.deploy("solo", "--name", "b", "--limit", "node1")
    lab.world.heal("node2")
    lab.deploy("solo", "--name", "c", "--limit", "node1")
    assert lab.json("rollback", "--limit", "node1")["deployment"] == "b"


def test_a_deploy_says_what_it_ends_on_a_node_that_it_does_not_use(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(3)
    lab.deploy("2x-solo", "--limit", "node2,node3")
    lab.world.lose("node2")
    lab.deploy("solo", "--name", "instead", "--limit", "node3")
    lab.world.heal("node2")
    options = ("solo", "--name", "other", "--limit", "node1,node2")
    planned = lab.json("plan", "--topology", *options)
    assert (planned["placement"]["free"], planned["impact"]["replaces"]) == (["node2"], [])
    (left,) = planned["impact"]["ends"]
    assert (left["deployment"], left["nodes"]) == (GPT, ["node2"])
    assert f"{left['urls'][0]} stops answering" in lab.cli("plan", "--short", "--topology", *options).out
    assert "which an earlier run could not reach" in lab.cli("deploy", "--topology", *options, code=0).err
    assert lab.json("plan", "--topology", *options)["impact"]["ends"] == []


@pytest.mark.parametrize("cut_off_at", [0, *range(4, 17, 2)])
def test_a_rollback_brings_back_whole_what_a_deploy_replaced_that_could_not_reach_a_node(
    lab_of: Callable[[int], Lab], cut_off_at: int
) -> None:
    lab = lab_of(2)
    lab.deploy("2x-solo")
    served = lab.running()
    lab.world.lose("node2")
    lab.deploy("solo")
    lab.world.heal("node2")
    lab.anew(troubles=[Trouble("interrupt", cut_off_at)])
    if lab.cli("rollback").code:
        assert "could not reach node2" in lab.cli("status").out
        lab.cli("rollback", code=0)
    assert lab.running() == served
    assert lab.deploy("2x-solo")["changed"] is False
    assert lab.running() == served


SECOND = ("solo", "--limit", "node2", "--name", "second", "--alongside")
LOST = [
    (2, [("cluster",)], "node1", ("solo", "--limit", "node2")),
    (2, [("solo", "--limit", "node1"), SECOND, ("2x-solo",)], "node2", ("solo",)),
    (4, [("2x-cluster",), ("2x-cluster", *HALF)], "node2", ("cluster", "--limit", "node3,node4")),
]
"""Nodes, deploys, the node that is lost then, and the deploy that does not reach it."""


@pytest.mark.parametrize(("nodes", "before", "lost", "replacing"), LOST)
def test_whatever_a_deploy_left_behind_on_a_lost_node_is_taken_back_with_the_rest(
    lab_of: Callable[[int], Lab], nodes: int, before: list[tuple[str, ...]], lost: str, replacing: tuple[str, ...]
) -> None:
    lab = lab_of(nodes)
    for words in before:
        lab.deploy(*words)
    served = lab.running()
    lab.world.lose(lost)
    lab.deploy(*replacing)
    lab.world.heal(lost)
    lab.cli("rollback", code=0)
    assert lab.running() == served


def test_what_was_brought_back_whole_is_ended_by_no_later_run(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(3)
    for name in ("x", "y"):
        lab.deploy("solo", "--name", name, "--limit", "node3")
    lab.deploy("cluster", "--name", "a", "--limit", "node1,node2")
    lab.world.lose("node2")
    lab.cli("stop", "a")
    lab.world.heal("node2")
    lab.cli("restart", "a", code=0)
    lab.cli("rollback", "y", code=0)
    lab.deploy("solo", "--name", "b", "--limit", "node3")
    assert lab.state() == {"a": "serving", "b": "serving", "x": "stopped"}


def test_a_rollback_after_a_stop_starts_what_served_last_and_not_what_a_lost_node_still_ran(lab: Lab) -> None:
    lab.deploy("2x-solo", "--name", "a")
    lab.world.lose("node2")
    lab.deploy("solo", "--limit", "node1", "--name", "b")
    lab.cli("stop", "b")
    lab.world.heal("node2")
    assert lab.json("rollback")["deployment"] == "b"
    assert lab.state() == {"a": "stopped", "b": "serving"}


def test_a_start_brings_back_what_served_last_though_a_part_of_an_older_one_was_stopped_later(
    lab_of: Callable[[int], Lab],
) -> None:
    lab = lab_of(3)
    lab.deploy("2x-solo", "--limit", "node1,node2")
    lab.world.lose("node2")
    served = lab.deploy("2x-solo", "--limit", "node1,node3", "--set", "args.max-num-seqs=8")["hash"]
    assert "the old key may still be on node2" in lab.json("key", "rotate", code=4)["error"]["hint"]
    lab.json("stop", code=4)
    lab.world.heal("node2")
    lab.json("stop")
    (shown,) = lab.json("status", code=None)["deployments"]
    assert (shown["hash"], shown["state"]) == (served, "stopped")
    lab.json("start")
    assert [one["hash"] for one in lab.json("status")["deployments"] if one["state"] == "serving"] == [served]


@pytest.mark.parametrize("limit", [(), ("--limit", "node1")])
def test_a_part_left_behind_by_the_deploy_before_the_last_one_is_in_the_way_of_no_rollback(
    lab: Lab, limit: tuple[str, ...]
) -> None:
    lab.deploy("2x-solo", "--name", "a")
    lab.world.lose("node2")
    for name in ("b", "c"):
        lab.deploy("solo", "--limit", "node1", "--name", name)
    lab.world.heal("node2")
    assert lab.json("rollback", *limit)["deployment"] == "b"
    assert lab.state() == {"b": "serving", "c": "stopped"}


def test_a_rollback_by_the_name_of_what_a_lost_node_still_ran_takes_it_whole(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(3)
    lab.deploy("solo", "--name", "x", "--limit", "node3")
    lab.cli("stop", "x")
    lab.deploy("cluster", "--name", "a", "--limit", "node1,node2")
    lab.world.lose("node2")
    lab.deploy("solo", "--name", "b", "--limit", "node1")
    lab.world.heal("node2")
    lab.cli("rollback", "a", code=0)
    assert lab.state() == {"a": "serving", "b": "stopped", "x": "stopped"}


def test_a_rollback_of_a_rollback_waits_for_the_node_of_its_target(lab: Lab) -> None:
    lab.deploy("solo", "--name", "b", "--limit", "node1", *HALF)
    lab.deploy("cluster", "--name", "a")
    lab.cli("rollback", "a", code=0)
    lab.deploy("solo", "--name", "c", "--limit", "node1", "--alongside", *HALF)
    lab.cli("stop", "c", code=0)
    lab.world.lose("node2")
    assert lab.json("rollback", "b", code=4)["error"]["node"] == "node2"


@pytest.mark.parametrize("at", range(6, 14))
def test_what_ran_but_did_not_answer_runs_again_after_an_interrupted_deploy(lab: Lab, at: int) -> None:
    lab.deploy("solo")
    (server,) = lab.node("node1").engine.listed()
    server.silent = "health"
    lab.anew(troubles=[Trouble("interrupt", at)])
    ended = lab.cli("deploy", "--topology", "solo")
    assert lab.running() == {("node1", server.name)}
    put_aside = f"put {server.name} aside" in ended.err
    assert (ended.code, f"started {server.name} again" in ended.err, put_aside) == (130, at >= 8, at >= 8)
