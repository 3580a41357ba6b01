"""What goes wrong with nodes is told with the right exit code, undone where it was begun, and never called serving."""

from __future__ import annotations

from functools import partial

import pytest

GPT = "openai-gpt-oss-120b"
SOON = ("--set", "env.SPARKOPS_BACKOFF=1")
SOLO = ("solo", "--limit", "node1")
OTHER = ("--set", "args.max-model-len=2048")


def test_an_unreachable_node_refuses_a_cluster_and_leaves_the_other_alone(empty):
    lab = empty
    with lab.trouble("node2", "unreachable"):
        error = lab.deploy("cluster", code=4)["error"]
        assert (error["kind"], error["node"]) == ("unreachable", "node2")
        assert lab.deploy(*SOLO)["ok"], "what does not need the node goes on without it"
        assert lab.cli("status", code=4).out
    assert not [one for one in lab.changed() if one.node == "node2"]


def test_stop_without_a_node_leaves_a_note_and_a_later_stop_ends_the_orphan(empty):
    lab = empty
    lab.deploy("2x-solo")
    with lab.trouble("node2", "unreachable"):
        assert lab.json("stop", code=4)["error"]["node"] == "node2"
        assert {node for node, _ in lab.running()} == {"node2"}
        assert lab.cli("stop", code=4)
    lab.json("stop")
    assert lab.running() == set()
    assert not list(lab.node("node1", "home", ".local", "state", "sparkops", "orphans").iterdir())


@pytest.mark.parametrize("commands", [1, 3])
def test_a_connection_lost_after_a_command_was_sent_ends_in_a_said_and_undone_state(empty, commands):
    lab = empty
    lab.deploy(*SOLO)
    before = lab.containers()
    with lab.trouble("node1", "lost-after-send", after=commands):
        ran = lab.cli("deploy", "--json", "--topology", "cluster", *OTHER)
    assert any(event["event"] == "lost" for event in lab.events("node1"))
    assert (ran.code, ran.document["error"]["kind"]) == (4, "unreachable"), ran.told
    assert lab.containers() == before == lab.running()
    assert lab.serves()


def test_a_hung_driver_does_not_hold_up_those_who_look_or_stop(empty, until):
    lab = empty
    lab.deploy(*SOLO)
    with lab.trouble("node1", "gpu-hangs"):
        assert until(lambda: lab.state() == {GPT: "serving"})
        lab.mark()
        assert lab.cli("status").out
        assert lab.cli("key", code=0).out
        assert lab.cli("logs", code=0).out
        assert lab.json("stop")["removed"]
    read = [one.shown for one in lab.received() if one.shown.startswith("@facts")]
    assert len(read) == 4 * len(lab.names)
    assert not [words for words in read if "--only" not in words or "nvidia" in words]


def test_another_host_key_is_refused(lab):
    with lab.trouble("node1", "bad-host-key"):
        error = lab.deploy(*SOLO, code=4)["error"]
        assert "host key" in error["message"]
        assert "trust" in error["hint"]
        assert not [one for one in lab.received() if one.node == "node1"]
        assert "changed" in {node["trust"] for node in lab.json("trust", "--yes")["nodes"]}
        lab.cli("status", code=0)
    lab.cli("status", code=4)
    lab.cli("trust", "--yes", code=0)


def test_a_cluster_needs_the_fabric_and_solo_does_not(empty):
    lab = empty
    with lab.trouble("node2", "cx7-down"):
        error = lab.deploy("cluster", code=3)["error"]
        assert "cx7-usable" in error["message"]
        assert "many times slower" in error["hint"]
        assert not lab.changed()
        lab.deploy("solo", "--limit", "node2")
        lab.json("stop")
        allowed = lab.deploy("cluster", "--allow", "cx7-usable")
        assert [rule["action"] for rule in allowed["rules"] if rule["id"] == "cx7-usable"] == ["allowed"]
        assert lab.ask(allowed["endpoints"][0]["url"], lab.key())[0] == 200


def test_a_worker_that_never_joins_ends_in_a_stall_that_is_undone(empty, until):
    lab = empty
    lab.deploy(*SOLO)
    before = lab.containers()
    with lab.trouble("node2", "worker-never-joins"):
        error = lab.deploy("cluster", "--stall", "6s", code=5)["error"]
    assert "nothing changed for 6 s" in error["message"]
    assert lab.containers() == before == lab.running()
    assert until(lab.serves), "a load may be silent for longer than the stall where the machine is busy"


def test_a_dead_peer_behind_a_green_health_is_not_called_serving(empty):
    lab = empty
    lab.deploy("cluster")
    with lab.trouble("node1", "peer-dead-health-green"):
        ran = lab.cli("status", "--json", code=5)
        (shown,) = ran.document["deployments"]
        assert shown["state"] in ("degraded", "failed")
        assert shown["reason"]


def test_a_killed_cluster_comes_back_by_itself_whichever_node_died(empty, until):
    lab = empty
    lab.deploy("cluster", *SOON)
    for node in lab.names:
        before = lab.starts()
        lab.fault(node, "engine-killed")
        lab.mark()
        assert until(partial(_all_anew, lab, before)), f"the cluster cannot serve without {node}"
        assert until(lab.serves), node
        assert not lab.changed()
    assert until(lambda: [one["ray"] for one in lab.shown()] == [{"nodes": 2, "gpus": 2}])


def _all_anew(lab, before):
    """Whether each container was started again since."""
    now = lab.starts()
    return now.keys() == before.keys() and not now.items() & before.items()


def test_a_cluster_serves_again_after_both_nodes_rebooted(empty, until):
    lab = empty
    lab.deploy("cluster", *SOON)
    for node in lab.names:
        lab.fault(node, "reboot")
    lab.mark()
    assert until(lab.serves)
    assert not lab.changed()
    assert lab.deploy("cluster", *SOON)["changed"] is False
