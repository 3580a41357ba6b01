"""Two nodes under the stand-in engine, joined by Ray or by mp: other operators, nodes, links and keys that fail."""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from support import serving
from support.long import LONG

STANDIN = ("--set", "env.LAB_ENGINE=standin")
CLUSTER = ("cluster", *STANDIN, "--set", "env.SPARKOPS_BACKOFF=1")
PAIR = ("2x-solo", *STANDIN)
SLOW = ("--set", "env.LAB_LOAD_SECONDS=10")


def test_a_user_without_the_docker_group_is_told_what_to_do(lab, tmp_path):
    lab.clear()
    said = lab.as_user(tmp_path, "plain").deploy("solo", "--limit", "node1", code=3)
    assert "usermod -aG docker" in str(said)
    with lab.trouble("node1", "no-docker-group"):
        assert "usermod -aG docker" in str(lab.deploy("solo", "--limit", "node1", code=3))
    assert lab.everywhere(running=False) == {"node1": {}, "node2": {}}


def test_a_stock_node_serves_through_sudo_with_a_password_that_is_left_nowhere(lab, tmp_path):
    lab.clear()
    stock = lab.as_user(tmp_path, become="sudo", SPARKOPS_BECOME_PASSWORD="spark")
    solo = ("solo", "--limit", "node1", *STANDIN)
    with lab.trouble("node1", "no-docker-group"), lab.trouble("node1", "sudo-password"):
        assert "password" in str(stock.deploy(*solo, code=3))
        assert stock.deploy(*solo, "--ask-become-pass")["changed"]
        assert lab.roles() == [("node1", "server")]
        assert lab.ask().tokens == 4
        assert stock.json("stop", "--ask-become-pass")["stopped"]
    assert lab.everywhere() == {"node1": {}, "node2": {}}


def test_another_host_key_is_not_trusted(lab):
    lab.clear()
    with lab.trouble("node2", "bad-host-key"):
        error = lab.deploy(*CLUSTER, code=4)["error"]
        assert error["node"] == "node2"
        assert "host key" in error["message"]
    assert lab.everywhere(running=False) == {"node1": {}, "node2": {}}


def test_graphs_that_hang_are_switched_off_on_every_rank_and_stay_off(lab):
    lab.clear()
    graphs = ("--set", "args.enforce-eager=false", "--allow", "cluster-eager")
    hang = (*graphs, "--set", "env.LAB_GRAPHS=hang", "--set", "env.SPARKOPS_GRAPHS_SECONDS=5")
    for executor, ranks in (("mp", [("node1", "head"), ("node2", "worker")]), ("ray", [("node1", "head")])):
        for first in (True, False):
            lab.deploy(*CLUSTER, "--executor", executor, *hang, "--set", f"args.max-num-seqs={8 + first}")
            told = {"is_first": first, "words": ["--enforce-eager" in lab.argv(*rank) for rank in ranks]}
            assert told == {"is_first": first, "words": [True] * len(ranks)}
            assert [lab.restarts(*rank) for rank in ranks] == [0] * len(ranks)
            assert [lab.loads(*rank) for rank in ranks] == [1 + first] * len(ranks)
            shown, _ = lab.going()
            assert (shown["state"], shown["graphs_hung"]) == ("serving", [node for node, _ in ranks])
            assert lab.ask().tokens == 4
        lab.clear()


@contextlib.contextmanager
def loading(lab: Any) -> Iterator[None]:
    """The head's weights load, and no further until the block ends."""
    front = "-f '[b]in/front.py'"
    lab.on("node1", "timeout", "600", "sh", "-c", f"until pkill -STOP {front}; do sleep 0.2; done")
    try:
        yield
    finally:
        lab.ran_on("node1", "sh", "-c", f"pkill -CONT {front}")


def test_a_second_operator_is_refused_while_the_first_deploys_and_sees_what_serves(lab, tmp_path, eventually):
    lab.clear()
    other = lab.as_user(tmp_path, "ops")
    first = lab.start("deploy", "--topology", *CLUSTER, *SLOW)
    with loading(lab):
        error = other.deploy(*PAIR, code=6)["error"]
        assert error["kind"] == "locked"
        assert f"pid {first.pid}" in error["message"]
        assert other.going()[0]["state"] == "starting"
    lab.ended(first)
    assert eventually(other.serving)
    serving = lab.everywhere()
    assert other.deploy(*CLUSTER, *SLOW)["changed"] is False
    assert lab.everywhere() == serving
    assert other.json("key")["key"] == lab.key()


def test_cluster_to_pair_and_back(lab):
    lab.clear()  # a first deploy: its containers replaced nothing, so they may be started again in place of the pair
    lab.deploy(*CLUSTER)
    assert lab.roles() == [("node1", "head"), ("node2", "worker")]
    assert lab.ray_nodes() == 2
    cluster = lab.everywhere()
    shown = lab.deploy(*PAIR)
    assert any(line.startswith("topology cluster -> ") for line in shown["changes"])
    assert lab.roles() == [("node1", "proxy"), ("node1", "server"), ("node2", "server")]
    assert lab.ask().tokens == 4
    assert lab.ask(key="sk-wrong").code == 401
    lab.deploy(*CLUSTER)
    assert lab.everywhere() == cluster, "the containers that were kept are started again"
    assert lab.ray_nodes() == 2
    assert lab.ask().tokens == 4


@LONG
def test_copies_behind_litellm_get_a_new_setting_one_after_the_other_and_no_request_fails_there(lab):
    (endpoint,) = lab.deploy(*PAIR)["endpoints"]
    with serving.Client(endpoint["url"], lab.key(), pause=0.2) as client:
        lab.deploy(*PAIR, "--set", "args.max-num-seqs=7")
    # While the proxy itself restarts, at the end, nobody is at its port.
    assert {answer for answer in client.answers if not answer.startswith("0 ")} == {"whole"}, client.answers
    lab.deploy(*CLUSTER)


@contextlib.contextmanager
def no_restart(lab: Any) -> Iterator[None]:
    """The worker's first process stands still, so that its container does not end and start again before one looks."""
    pid = lab.on("node2", "docker", "inspect", "--format", "{{.State.Pid}}", lab.one("node2", "worker"))
    lab.on("node2", "kill", "-STOP", pid)
    try:
        yield
    finally:
        lab.on("node2", "kill", "-CONT", pid)


EXECUTORS = pytest.mark.parametrize("executor", ["mp", "ray"])
EXECUTORS_OF_LONG = pytest.mark.parametrize("executor", ["mp", pytest.param("ray", marks=LONG)])
KILLED = {"mp": "engine-killed", "ray": "ray-worker-killed"}


def cluster(lab: Any, executor: str) -> None:
    lab.deploy(*CLUSTER, "--executor", executor)


def joined(lab: Any, executor: str) -> int:
    """How many nodes the head has, as Ray or its own script counts them."""
    return int(lab.ranks() if executor == "mp" else lab.ray_nodes())


@EXECUTORS
def test_a_killed_worker_is_seen_and_the_cluster_comes_back(lab, executor, eventually):
    cluster(lab, executor)
    with no_restart(lab):
        lab.fault("node2", KILLED[executor])
        assert eventually(lambda: lab.going()[0]["state"] != "serving", 60)
    assert eventually(lab.serves)
    assert joined(lab, executor) == 2


@EXECUTORS_OF_LONG
def test_a_cluster_waits_for_a_late_node_without_a_failed_start(lab, executor, eventually):
    cluster(lab, executor)
    head, worker = lab.one("node1", "head"), lab.one("node2", "worker")
    lab.on("node2", "docker", "stop", worker)
    lab.on("node1", "docker", "restart", head)
    waits = {"mp": "1 of 2 ranks are here; waiting for rank 1", "ray": "Ray has 1 of 2 nodes"}[executor]
    assert eventually(lambda: waits in lab.on("node1", "docker", "logs", "--tail", "3", head))
    loads = lab.loads("node1", "head")
    assert in_trouble(lab) == 5
    if executor == "mp":
        missing = [{"rank": 1, "node": "node2", "reason": "exited"}]
        assert lab.going()[0]["ranks"] == {"total": 2, "here": 1, "missing": missing}
    assert lab.loads("node1", "head") == loads, "no engine has started"
    lab.on("node2", "docker", "start", worker)
    assert eventually(lambda: lab.serves() and joined(lab, executor) == 2 and lab.serving())
    assert lab.loads("node1", "head") == loads + 1


@EXECUTORS_OF_LONG
def test_after_a_reboot_of_each_node_the_cluster_serves_again(lab, executor, eventually):
    cluster(lab, executor)
    before = lab.everywhere()
    for node in lab.everywhere():
        lab.fault(node, "reboot")
        assert eventually(lambda: lab.serves() and joined(lab, executor) == 2 and lab.serving())
    assert lab.everywhere() == before


def test_a_rank_of_mp_whose_head_is_killed_ends_and_comes_back_to_it(lab, eventually):
    cluster(lab, "mp")
    begun = lab.restarts("node2", "worker")
    lab.fault("node1", "engine-killed")
    assert eventually(lambda: lab.restarts("node2", "worker") > begun)
    assert eventually(lambda: lab.serves() and lab.ranks() == 2 and lab.serving())


def in_trouble(lab: Any) -> int:
    """Exit code of a `status` that ended in time and did not say serving."""
    shown, ran = dataclasses.replace(lab, patience=60).going()
    assert shown["state"] != "serving"
    return int(ran.code)


@pytest.mark.parametrize(("executor", "kind", "code"), [("mp", "cx7-down", 5), ("ray", "node-off", 4)])
def test_status_ends_in_time_and_never_says_serving_without_the_other_node(lab, executor, kind, code, eventually):
    cluster(lab, executor)
    begun = lab.restarts("node1", "head")
    with lab.trouble("node2", kind):
        assert [in_trouble(lab) for _ in range(3)] == [code] * 3
        assert eventually(lambda: lab.restarts("node1", "head") > begun), "an engine that lost a rank ends"
        assert in_trouble(lab) == code
    assert eventually(lambda: lab.serves() and joined(lab, executor) == 2 and lab.serving())


def test_a_node_that_cannot_be_reached_is_told_while_the_cluster_serves_on(lab, eventually):
    cluster(lab, "mp")
    before, loads = lab.everywhere(), lab.loads("node1", "head")
    with lab.trouble("node2", "unreachable"):
        assert eventually(lab.serving), "status asks the node that answers, and warns of the other"
        lab.cli("status", "--strict", code=4)
    assert eventually(lab.serving)
    assert (lab.everywhere(), lab.loads("node1", "head")) == (before, loads)


def test_a_link_that_loses_everything_and_says_that_it_is_up_is_no_serving_cluster(lab):
    cluster(lab, "ray")
    with lab.trouble("node2", "packet-loss"):
        assert in_trouble(lab) == 5
