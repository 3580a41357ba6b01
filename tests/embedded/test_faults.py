"""What goes wrong with nodes is told with the right exit code, undone where it was begun, and never called serving."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("no-docker-group", ("usermod -aG docker",)),
        ("no-image", ("vllm-node-mxfp4", "45 minutes", "25 GB", "docker save")),
        ("no-model", ("openai/gpt-oss-120b", "GiB", "hf download")),
    ],
)
def test_what_is_missing_is_refused_with_the_command_that_mends_it(empty, fault, says):
    lab = empty
    with lab.trouble("node2", fault):
        error = lab.deploy("2x-solo", code=3)["error"]
        assert (error["kind"], error["node"]) == ("refused", "node2")
        for word in says:
            assert word in error["message"] + error["hint"]
    assert not lab.changed()
    assert lab.containers() == set()


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


def test_a_worker_that_never_joins_ends_in_a_stall_that_is_undone(empty):
    lab = empty
    lab.deploy(*SOLO)
    before = lab.containers()
    with lab.trouble("node2", "worker-never-joins"):
        error = lab.deploy("cluster", "--stall", "6s", code=5)["error"]
    assert "nothing changed for 6 s" in error["message"]
    assert lab.containers() == before == lab.running()
    assert lab.serves()


def test_a_crash_while_loading_shows_the_last_lines_and_is_undone(empty):
    lab = empty
    with lab.trouble("node2", "crash-while-loading"):
        ran = lab.cli("deploy", "--json", "--topology", "2x-solo", code=5)
    error = ran.document["error"]
    assert error["node"] == "node2"
    assert any("died unexpectedly" in log["tail"] for log in error["logs"] if log["node"] == "node2")
    assert error["diagnosis"]["line"]
    assert lab.containers() == set()


def test_a_frozen_engine_is_not_called_serving(empty, until):
    lab = empty
    lab.deploy(*SOLO)
    with lab.trouble("node1", "engine-frozen"):
        ran = lab.cli("status", "--json", code=5)
        (shown,) = ran.document["deployments"]
        assert shown["state"] in ("degraded", "failed")
        assert not shown["endpoints"][0]["healthy"]
    assert until(lab.serves)


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
        lab.fault(node, "engine-killed")
        lab.mark()
        assert until(lambda: not lab.serves()), f"the cluster cannot serve without {node}"
        assert until(lab.serves), node
        assert not lab.changed()
    (shown,) = lab.json("status")["deployments"]
    assert shown["ray"] == {"nodes": 2, "gpus": 2}


def test_a_cluster_serves_again_after_both_nodes_rebooted(empty, until):
    lab = empty
    lab.deploy("cluster", *SOON)
    for node in lab.names:
        lab.fault(node, "reboot")
    lab.mark()
    assert until(lab.serves)
    assert not lab.changed()
    assert lab.deploy("cluster", *SOON)["changed"] is False


def test_an_engine_that_keeps_failing_gives_up_and_the_next_deploy_begins_anew(empty, until):
    lab = empty
    lab.deploy(*SOLO, "--set", "env.SPARKOPS_BACKOFF=0")
    with lab.trouble("node1", "crash-while-loading"):
        lab.fault("node1", "engine-killed")
        assert until(lambda: "gave up" in lab.on("node1", "docker", "logs", next(iter(lab.running()))[1]))
        ran = lab.cli("status", "--json", code=5)
        (shown,) = ran.document["deployments"]
        assert shown["state"] == "failed"
        assert shown["nodes"][0]["state"] == "failed (gave up)"
        assert "gave up" in lab.cli("status", code=5).out
    assert lab.deploy(*SOLO, "--set", "env.SPARKOPS_BACKOFF=0")["changed"]
    assert lab.state() == {GPT: "serving"}


def test_a_slow_node_only_takes_longer(empty):
    lab = empty
    with lab.trouble("node1", "slow"):
        assert lab.deploy(*SOLO)["ok"]
        assert lab.state() == {GPT: "serving"}


def test_a_full_page_cache_is_emptied_before_the_engine_starts(empty):
    lab = empty
    with lab.trouble("node1", "page-cache-full"):
        assert lab.deploy(*SOLO)["ok"]


def test_without_the_right_to_empty_it_the_failure_is_named(empty):
    lab = empty
    with lab.trouble("node1", "page-cache-full"), lab.trouble("node1", "sudo-password"):
        error = lab.deploy(*SOLO, code=5)["error"]
    assert error["diagnosis"]["id"] == "memory-at-start"
    assert lab.containers() == set()


def test_a_stock_node_serves_through_sudo_with_a_password_that_appears_nowhere(empty):
    lab = empty
    inventory = lab.work / "stock nodes.yml"
    plain = (lab.directory / "inventory.yml").read_text()
    inventory.write_text(plain.replace("  vars:\n", "  vars:\n    become: sudo\n", 1))
    (lab.work / "stock nodes.yml.known_hosts").write_text((lab.directory / "inventory.yml.known_hosts").read_text())
    stock = ("-i", inventory)
    with lab.trouble("node1", "no-docker-group"), lab.trouble("node1", "sudo-password"):
        refused = lab.cli(*stock, "deploy", "--topology", *SOLO, lab=False, code=3)
        assert "password" in refused.err
        ran = lab.cli(
            *stock, "deploy", "--json", "--topology", *SOLO, "--ask-become-pass", lab=False, code=0,
            SPARKOPS_BECOME_PASSWORD="spark",
        )  # fmt: skip
        assert ran.document["endpoints"]
        lab.cli(*stock, "stop", "--ask-become-pass", lab=False, code=0, SPARKOPS_BECOME_PASSWORD="spark")
    assert lab.running() == set()


def test_what_a_node_runs_is_never_guessed_when_its_docker_cannot_be_read(empty):
    lab = empty
    lab.deploy(*SOLO)
    before = lab.running()
    with lab.trouble("node1", "no-docker-group"):
        for verb in ("status", "stop", "key", "logs", "rollback"):
            error = lab.json(verb, code=4)["error"]
            assert (error["kind"], error["node"]) == ("unreachable", "node1")
            assert "usermod -aG docker" in error["hint"]
    assert lab.running() == before
    assert lab.json("stop")["removed"]


def test_nothing_deployed_is_said_and_nothing_is_broken_by_it(empty):
    lab = empty
    assert lab.json("status")["deployments"] == []
    assert lab.json("stop")["removed"] == []
    for words in (("rollback",), ("key",), ("key", "rotate"), ("logs",), ("endpoint", "--for", "openai")):
        error = lab.json(*words, code=3)["error"]
        assert error["kind"] == "refused"
        assert error["hint"]


def test_a_port_that_a_stranger_holds_is_refused_before_anything_changes(empty):
    lab = empty
    image = lab.on("node1", "docker", "image", "inspect", "--format", "{{.Id}}", "vllm-node:latest").strip()
    lab.on("node1", "docker", "run", "-d", "--name", "stranger", "--gpus", "all", "-v", "/dev/null:/dev/null",
           "--network", "host", "--entrypoint=", image, "python3", "-m", "http.server", "8000",
           "--bind", lab.address("node1"))  # fmt: skip
    error = lab.deploy(*SOLO, code=3)["error"]
    assert "port 8000" in error["message"]
    assert not lab.changed()
    assert lab.running() == {("node1", "stranger")}
