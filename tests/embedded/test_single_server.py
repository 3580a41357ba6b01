"""One node and one server: replacing it, its key, and whatever is missing or breaks on the node."""

from __future__ import annotations

import pytest

GPT = "openai-gpt-oss-120b"


@pytest.fixture(scope="module")
def shared(lab_with):
    return lab_with(nodes=1)


def test_settle_keeps_one_previous_revision_only(empty):
    lab = empty
    for tokens in (2048, 8192, 16384):
        lab.deploy("solo", "--set", f"args.max-model-len={tokens}")
    hashes = [name.rsplit("-", 1)[1] for _, name in lab.containers()]
    assert len(hashes) == 2
    assert len(lab.running()) == 1


def test_a_changed_flag_is_shown_and_replaces_the_container(empty):
    lab = empty
    first = lab.deploy("solo")
    assert len(lab.running()) == 1
    second = lab.deploy("solo", "--", "--max-num-seqs", "7")
    assert second["hash"] != first["hash"]
    assert [line for line in second["changes"] if "max-num-seqs" in line and line.endswith("-> 7")]
    assert len(lab.running()) == 1


def test_strangers_containers_are_never_touched(empty):
    lab = empty
    image = lab.on("node1", "docker", "image", "inspect", "--format", "{{.Id}}", "vllm-node:latest").strip()
    lab.on("node1", "docker", "run", "-d", "--name", "stranger", "--entrypoint=", image, "sleep", "600")
    lab.deploy("solo")
    lab.json("stop")
    assert lab.running() == {("node1", "stranger")}
    lab.on("node1", "docker", "rm", "-f", "stranger")


def test_a_key_of_ones_own_is_put_in_force_by_a_deploy(empty):
    lab = empty
    first = lab.deploy("solo", SPARKOPS_API_KEY="sk-one")
    (endpoint,) = first["endpoints"]
    assert [lab.ask(endpoint["url"], key)[0] for key in ("sk-one", "sk-two")] == [200, 401]
    second = lab.deploy("solo", SPARKOPS_API_KEY="sk-two")
    assert (second["changed"], second["hash"]) == (True, first["hash"])
    assert [lab.ask(endpoint["url"], key)[0] for key in ("sk-one", "sk-two")] == [401, 200]
    assert lab.deploy("solo")["changed"] is False, "without a wish the key stays"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("no-docker-group", ("usermod -aG docker",)),
        ("no-image", ("vllm-node-mxfp4", "45 minutes", "25 GB", "image build vllm-node-mxfp4", "--setup")),
        ("no-model", ("openai/gpt-oss-120b", "GiB", "model fetch openai/gpt-oss-120b", "--setup")),
    ],
)
def test_what_is_missing_is_refused_with_the_command_that_mends_it(empty, fault, says):
    lab = empty
    with lab.trouble("node1", fault):
        error = lab.deploy("solo", code=3)["error"]
        assert (error["kind"], error["node"]) == ("refused", "node1")
        for word in says:
            assert word in error["message"] + error["hint"]
    assert not lab.changed()
    assert lab.containers() == set()


def test_a_crash_while_loading_shows_the_last_lines_and_is_undone(empty):
    lab = empty
    with lab.trouble("node1", "crash-while-loading"):
        ran = lab.cli("deploy", "--json", "--topology", "solo", code=5)
    error = ran.document["error"]
    assert error["node"] == "node1"
    assert any("died unexpectedly" in log["tail"] for log in error["logs"] if log["node"] == "node1")
    assert error["diagnosis"]["line"]
    assert lab.containers() == set()


def test_a_frozen_engine_is_not_called_serving(empty, until):
    lab = empty
    lab.deploy("solo")
    with lab.trouble("node1", "engine-frozen"):
        ran = lab.cli("status", "--json", code=5)
        (shown,) = ran.document["deployments"]
        assert shown["state"] in ("degraded", "failed")
        assert not shown["endpoints"][0]["healthy"]
    assert until(lab.serves)


def test_an_engine_that_keeps_failing_gives_up_and_the_next_deploy_begins_anew(empty, until):
    lab = empty
    lab.deploy("solo", "--set", "env.SPARKOPS_BACKOFF=0")
    with lab.trouble("node1", "crash-while-loading"):
        lab.fault("node1", "engine-killed")
        assert until(lambda: "gave up" in lab.on("node1", "docker", "logs", next(iter(lab.running()))[1]))
        ran = lab.cli("status", "--json", code=5)
        (shown,) = ran.document["deployments"]
        assert shown["state"] == "failed"
        assert shown["nodes"][0]["state"] == "failed (gave up)"
        assert "gave up" in lab.cli("status", code=5).out
    assert lab.deploy("solo", "--set", "env.SPARKOPS_BACKOFF=0")["changed"]
    assert until(lambda: lab.state() == {GPT: "serving"})


def test_a_slow_node_only_takes_longer(empty, until):
    lab = empty
    with lab.trouble("node1", "slow"):
        assert lab.deploy("solo")["ok"]
        assert until(lambda: lab.state() == {GPT: "serving"})


def test_a_full_page_cache_is_emptied_before_the_engine_starts(empty):
    lab = empty
    with lab.trouble("node1", "page-cache-full"):
        assert lab.deploy("solo")["ok"]


def test_without_the_right_to_empty_it_the_failure_is_named(empty):
    lab = empty
    with lab.trouble("node1", "page-cache-full"), lab.trouble("node1", "sudo-password"):
        error = lab.deploy("solo", code=5)["error"]
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
        refused = lab.cli(*stock, "deploy", "--topology", "solo", lab=False, code=3)
        assert "password" in refused.err
        ran = lab.cli(
            *stock, "deploy", "--json", "--topology", "solo", "--ask-become-pass", lab=False, code=0,
            SPARKOPS_BECOME_PASSWORD="spark",
        )  # fmt: skip
        assert ran.document["endpoints"]
        lab.cli(*stock, "stop", "--ask-become-pass", lab=False, code=0, SPARKOPS_BECOME_PASSWORD="spark")
    assert lab.running() == set()


def test_what_a_node_runs_is_never_guessed_when_its_docker_cannot_be_read(empty):
    lab = empty
    lab.deploy("solo")
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


def test_a_port_that_a_stranger_holds_is_refused_before_anything_changes(empty, until):
    lab = empty
    image = lab.on("node1", "docker", "image", "inspect", "--format", "{{.Id}}", "vllm-node:latest").strip()
    lab.on("node1", "docker", "run", "-d", "--name", "stranger", "--gpus", "all", "-v", "/dev/null:/dev/null",
           "--network", "host", "--entrypoint=", image, "python3", "-m", "http.server", "8000",
           "--bind", lab.address("node1"))  # fmt: skip
    assert until(lambda: lab.ask(f"http://{lab.address('node1')}:8000", "")[0]), "the stranger never came to listen"
    error = lab.deploy("solo", code=3)["error"]
    assert "port 8000" in error["message"]
    assert not lab.changed()
    assert lab.running() == {("node1", "stranger")}
