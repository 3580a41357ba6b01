"""What goes wrong with nodes is told with the right exit code, undone where it was begun, and never called serving."""

from __future__ import annotations

import itertools

import pytest

from sparkops.testing import Boot, BootRule, Trouble
from support.paths import RULE_RECIPES
from support.world import Lab

GPT = "openai-gpt-oss-120b"
SOLO = ("solo", "--limit", "node1")
OTHER = ("--set", "args.max-model-len=2048")


def test_an_unreachable_node_refuses_a_cluster_and_leaves_the_other_alone(lab: Lab) -> None:
    with lab.trouble("node2", "unreachable"):
        error = lab.deploy("cluster", code=4)["error"]
        assert (error["kind"], error["node"]) == ("unreachable", "node2")
        assert lab.deploy(*SOLO)["ok"], "what does not need the node goes on without it"
        assert "node2: unreachable" in lab.cli("status", code=4).out
    assert {one.node for one in lab.received()} == {"node1"}


def test_stop_without_a_node_leaves_a_note_and_a_later_stop_ends_the_orphan(lab: Lab) -> None:
    lab.deploy("2x-solo")
    with lab.trouble("node2", "unreachable"):
        assert lab.json("stop", code=4)["error"]["node"] == "node2"
        assert {node for node, _ in lab.running()} == {"node2"}
        lab.cli("stop", code=4)
    lab.json("stop")
    assert lab.running() == set()
    assert not [path for path in lab.node("node1").files if "/orphans/" in path]


@pytest.mark.parametrize("kind", ["lost-unapplied", "lost-applied"])
def test_a_connection_lost_after_any_send_ends_in_a_said_and_undone_state(lab: Lab, kind: str) -> None:
    lab.deploy(*SOLO)
    before = lab.containers()
    codes = []
    for at in itertools.count(1):
        lab.anew(troubles=[Trouble(kind, at, away=0)])  # type: ignore[arg-type]
        ran = lab.cli("deploy", "--json", "--topology", "cluster", *OTHER)
        codes.append(ran.code)
        if lab.world.tries < at:
            break
        if ran.code:
            assert ran.document["error"]["kind"] == "unreachable", (at, ran.told)
            assert lab.containers() == before == lab.running(), at
        else:
            assert lab.world.sent[at - 1].command.reads, "only what reads is asked again"
            lab.json("rollback")
        assert lab.serves(), at
    assert set(codes) == {4, 0}


def test_who_looks_or_stops_does_not_ask_the_driver(lab: Lab) -> None:
    lab.deploy(*SOLO)
    with lab.trouble("node1", "gpu-hangs"):
        lab.mark()
        assert lab.state() == {GPT: "serving"}
        assert lab.cli("key", code=0).out
        assert lab.cli("logs", code=0).out
        assert lab.json("stop")["removed"]
    read = [one.shown for one in lab.received() if one.shown.startswith("@facts")]
    assert len(read) == 4 * len(lab.names)
    assert not [words for words in read if "--only" not in words or "nvidia" in words]


def test_a_cluster_needs_the_fabric_and_solo_does_not(lab: Lab) -> None:
    with lab.trouble("node2", "cx7-down"):
        error = lab.deploy("cluster", code=3)["error"]
        assert "cx7-usable" in error["message"]
        assert "many times slower" in error["hint"]
        assert not lab.changed()
        lab.deploy("solo", "--limit", "node2")
        lab.json("stop")
        allowed = lab.deploy("cluster", "--allow", "cx7-usable")
        assert [rule["action"] for rule in allowed["rules"] if rule["id"] == "cx7-usable"] == ["allowed"]
        assert lab.serves()


def test_a_worker_that_never_joins_ends_in_a_stall_that_is_undone(lab: Lab) -> None:
    lab.deploy(*SOLO)
    before = lab.containers()
    with lab.trouble("node2", "worker-never-joins"):
        error = lab.deploy("cluster", "--stall", "6s", code=5)["error"]
    assert "nothing changed for 6 s" in error["message"]
    assert lab.containers() == before == lab.running()
    assert lab.serves()


def test_a_crash_while_loading_shows_the_last_lines_and_is_undone(lab: Lab) -> None:
    with lab.trouble("node1", "crash-while-loading"):
        error = lab.deploy("solo", code=5)["error"]
    assert error["node"] == "node1"
    assert any("died unexpectedly" in log["tail"] for log in error["logs"] if log["node"] == "node1")
    assert error["diagnosis"]["line"]
    assert lab.containers() == set()
    lab.deploy("cluster")
    before = lab.containers()
    lab.world.boot(BootRule.flag("--max-num-seqs", Boot(crashes=True, log=("RuntimeError: boom",))))
    lab.deploy("cluster", "--set", "args.max-num-seqs=4", code=5)
    assert lab.containers() == before == lab.running()
    assert lab.state() == {GPT: "serving"}, "the previous revision is kept"


@pytest.mark.parametrize("fault", ["engine-frozen", "peer-dead-health-green"])
def test_an_engine_that_does_not_answer_is_not_called_serving(lab: Lab, fault: str) -> None:
    lab.deploy("cluster")
    with lab.trouble("node1", fault):
        (shown,) = lab.json("status", code=5)["deployments"]
        assert shown["state"] in ("degraded", "failed")
        assert shown["reason"]
        assert not shown["endpoints"][0]["healthy"]
    assert lab.state() == {GPT: "serving"}


def test_a_cluster_serves_again_after_a_kill_and_after_both_nodes_rebooted(lab: Lab) -> None:
    lab.deploy("cluster")
    for faults in (
        [("node1", "engine-killed")],
        [("node2", "engine-killed")],
        [(node, "reboot") for node in lab.names],
    ):
        lab.mark()
        for node, fault in faults:
            lab.fault(node, fault)
        assert lab.until(lab.serves), faults
        assert not lab.changed()
    assert [one["ray"] for one in lab.shown()] == [{"nodes": 2, "gpus": 2}]
    assert lab.deploy("cluster")["changed"] is False


def test_an_engine_that_keeps_failing_gives_up_and_the_next_deploy_begins_anew(lab: Lab) -> None:
    lab.deploy("solo")
    with lab.trouble("node1", "crash-while-loading"):
        lab.fault("node1", "engine-killed")
        lab.settle(30)
        (shown,) = lab.json("status", code=5)["deployments"]
        assert shown["state"] == "failed"
        assert shown["nodes"][0]["state"] == "failed (gave up)"
        assert "gave up" in lab.cli("status", code=5).out
    assert lab.deploy("solo")["changed"]
    assert lab.state() == {GPT: "serving"}


def test_a_slow_node_only_takes_longer(lab: Lab) -> None:
    with lab.trouble("node1", "slow"):
        assert lab.deploy("cluster")["ok"]
    assert lab.state() == {GPT: "serving"}


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("no-docker-group", ("usermod -aG docker",)),
        ("no-image", ("vllm-node-mxfp4", "45 minutes", "25 GB", "image build vllm-node-mxfp4", "--setup")),
        ("no-model", ("openai/gpt-oss-120b", "GiB", "model fetch openai/gpt-oss-120b", "--setup")),
        ("port-taken", ("port 8000", "ss -ltnp")),
    ],
)
def test_what_is_missing_is_refused_with_the_command_that_mends_it(lab: Lab, fault: str, says: tuple[str, ...]) -> None:
    lab.fault("node2", "no-image")
    with lab.trouble("node1", fault):
        error = lab.deploy("solo", code=3)["error"]
    assert (error["kind"], error["node"]) == ("refused", "node1")
    assert [word for word in says if word not in error["message"] + error["hint"]] == []
    assert not lab.changed()
    assert lab.containers() == set()


def test_what_a_node_runs_is_never_guessed_when_its_docker_cannot_be_read(lab: Lab) -> None:
    lab.deploy("solo")
    before = lab.running()
    with lab.trouble("node1", "no-docker-group"):
        for verb in ("status", "stop", "key", "logs", "rollback"):
            error = lab.json(verb, code=4)["error"]
            assert (error["kind"], error["node"]) == ("unreachable", "node1")
            assert "usermod -aG docker" in error["hint"]
    assert lab.running() == before
    assert lab.json("stop")["removed"]


def test_the_kernels_that_serve_are_said_where_they_are_not_those_that_were_asked_for(lab: Lab) -> None:
    assert not [warning for warning in lab.deploy("solo")["warnings"] if "Marlin" in warning]
    log = ("INFO Starting to load model", "INFO [mxfp4.py:164] Using Marlin backend")
    lab.world.boot(BootRule(lambda _image, _words: True, Boot(log=log)))
    wish = ("solo", "--recipe", RULE_RECIPES / "stock-image.yml")
    deployed = lab.deploy(*wish)
    (said,) = [warning for warning in deployed["warnings"] if "Marlin" in warning]
    assert said.startswith("node1: the boot log names the Marlin kernels")
    assert "marlin-fallback" in {rule["id"] for rule in deployed["rules"]}
    again = lab.deploy(*wish)
    assert (again["changed"], again["warnings"]) == (False, []), "what was started before is not read again"
