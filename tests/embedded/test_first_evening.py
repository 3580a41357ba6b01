"""The first evening: a login by password, an inventory, host keys, and the verbs around a deployment that serves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import asyncssh
import pytest

from sparkops.core.facts import parse

GPT = "openai-gpt-oss-120b"


@pytest.fixture(scope="module")
def serving(shared):
    """One deployment for the verbs that only look at it."""
    shared.deploy("2x-solo")
    return shared


@pytest.fixture
def addresses(lab):
    nodes = lab.cli("lab", "status", "--json", lab=False, code=0).document["nodes"]
    return [node["address"] for node in nodes]


def test_init_with_a_password_makes_an_inventory_that_deploys(lab_with):
    lab = lab_with()
    nodes = lab.cli("lab", "status", "--json", lab=False, code=0).document["nodes"]
    addresses = [node["address"] for node in nodes]
    ssh = lab.home / ".ssh"
    ssh.mkdir(mode=0o700)
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(ssh / "id_ed25519"))
    key.write_public_key(str(ssh / "id_ed25519.pub"))
    login = ("--user", "spark", "--port", "2222", "--ask-pass", "--yes")

    lab.cli("init", *addresses, *login, lab=False, code=2)
    wrong = lab.cli("init", *addresses, *login, lab=False, code=4, SPARKOPS_PASSWORD="hunter2")
    assert "hunter2" not in wrong.told
    lab.fault("node2", "no-docker-group")
    lab.fault("node2", "sudo-password")
    made = lab.cli("init", "--json", *addresses, *login, lab=False, code=0, SPARKOPS_PASSWORD="spark").document
    inventory = Path(made["inventory"])
    assert inventory.is_file()
    assert Path(made["known_hosts"]).is_file()
    assert str(lab.home) in made["inventory"]
    first, second = made["nodes"]
    assert first["missing"] == []
    assert first["fabric_address"]
    assert [hint for item in second["missing"] if "usermod -aG docker" in (hint := item["hint"])]
    assert [hint for item in second["missing"] if "sudoers" in (hint := item["hint"])]
    lab.fault("node2", "no-docker-group", off=True)
    lab.fault("node2", "sudo-password", off=True)
    assert "exists" in lab.cli("init", *addresses, *login, lab=False, code=2, SPARKOPS_PASSWORD="spark").err

    deployed = lab.cli("deploy", "--topology", "cluster", "--json", lab=False, code=0).document
    assert deployed["endpoints"]
    lab.cli("stop", lab=False, code=0)
    logs = [path.read_text() for path in lab.home.rglob("*.jsonl")]
    assert logs
    assert not [text for text in logs if '"spark"' in text and "password" in text]


def test_unknown_host_keys_are_refused_until_they_are_trusted(serving):
    lab = serving
    inventory = lab.work / "my nodes.yml"
    shutil.copy(lab.directory / "inventory.yml", inventory)
    mine = ("-i", inventory)
    refused = lab.cli(*mine, "status", "--json", lab=False, code=4).document["error"]
    assert "trust" in refused["hint"]
    shown = lab.cli(*mine, "trust", "--json", lab=False)
    assert shown.code == 3, "nothing is pinned unasked"
    assert not (lab.work / "my nodes.yml.known_hosts").exists()
    pinned = lab.cli(*mine, "trust", "--yes", "--json", lab=False, code=0).document
    assert all(key["fingerprint"].startswith("SHA256:") for node in pinned["nodes"] for key in node["keys"])
    lab.cli(*mine, "status", lab=False, code=0)


def test_logs_show_every_part_and_previous_what_ran_before(serving):
    lab = serving
    entries = lab.json("logs")["logs"]
    assert sorted(entry["container"].rsplit("-", 2)[1] for entry in entries) == ["proxy", "server", "server"]
    assert any("Application startup complete" in entry["text"] for entry in entries)
    lab.deploy("2x-solo", "--set", "args.max-model-len=2048")
    previous = lab.json("logs", "--previous")["logs"]
    assert {entry["container"] for entry in entries} == {entry["container"] for entry in previous}
    shown = lab.cli("logs", "--tail", "3", code=0).out
    assert shown.count("==> ") == 3
    assert shown.index("==> node1") < shown.index("==> node2")


def test_the_log_of_what_was_removed_is_kept(lab_with):
    lab = lab_with(nodes=1)
    with lab.trouble("node1", "crash-while-loading"):
        lab.deploy("solo", code=5)
    (entry,) = lab.json("logs", "--previous")["logs"]
    assert "died unexpectedly" in entry["text"]
    lab.deploy("solo")
    lab.json("stop")
    (entry,) = lab.json("logs", "--previous")["logs"]
    assert "Application startup complete" in entry["text"]


def test_a_new_key_locks_the_old_one_out(serving, until):
    lab = serving
    (endpoint,) = lab.shown()[0]["endpoints"]
    old = lab.key()
    rotated = lab.json("key", "rotate")
    assert rotated["key"] not in ("", old)
    assert lab.key() == rotated["key"]
    assert lab.ask(endpoint["url"], old)[0] == 401
    assert lab.ask(endpoint["url"], rotated["key"])[0] == 200
    assert until(lambda: lab.cli("status").code == 0)
    mine = lab.json("key", "rotate", SPARKOPS_API_KEY="sk-of-my-own-choice")
    assert mine["key"] == "sk-of-my-own-choice" == lab.key()
    assert lab.ask(endpoint["url"], mine["key"])[0] == 200


def test_the_key_stands_in_no_log_no_label_and_no_command(serving):
    lab = serving
    key = lab.key()
    for name in lab.names:
        for container in lab.on(name, "docker", "ps", "-aq").split():
            assert key not in lab.on(name, "docker", "inspect", container)
        assert key not in lab.node(name, "ssh.jsonl").read_text()
        keys = [lab.node(name, "home", ".local", "state", "sparkops", "key")]
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in keys)
    assert not [path for path in lab.home.rglob("*.jsonl") if key in path.read_text()]


@pytest.mark.parametrize(
    ("client", "names"),
    [
        ("openai", {"OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"}),
        ("claude-code", {"ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL"}),
    ],
)
def test_endpoint_names_the_variables_of_a_client(serving, client, names):
    variables = serving.json("endpoint", "--for", client)["variables"]
    assert set(variables) == names
    assert serving.key() in variables.values()
    url = next(value for name, value in variables.items() if name.endswith("BASE_URL"))
    assert url.endswith("/v1") == (client == "openai")
    shown = serving.cli("endpoint", "--for", client, code=0).out
    assert all(f"export {name}=" in shown for name in names)


def test_a_raw_capture_is_a_fixture_file(serving):
    raw = serving.cli("facts", "node2", "--raw", code=0).out
    assert raw.startswith("sparkops-facts 1\n")
    facts = parse(raw)
    assert facts.fabric().address
    assert [container for container in facts.containers if container.ours]
    nodes = serving.json("facts")["nodes"]
    assert [node["name"] for node in nodes] == serving.names


def test_a_run_log_is_json_lines_and_named_last_on_failure(serving):
    ran = serving.cli("run", "--", "false", code=5)
    path = Path(ran.err.strip().splitlines()[-1].removeprefix("log: "))
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert events[-1]["exit_code"] == 5
