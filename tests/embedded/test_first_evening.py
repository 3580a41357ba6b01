"""The first evening: a login by password, an inventory, host keys, and the verbs around a deployment that serves."""

import shlex
import shutil
from pathlib import Path

import asyncssh
import pytest


@pytest.fixture(scope="module")
def serving(shared):
    """One deployment for the verbs that only look at it."""
    shared.deploy("2x-solo")
    return shared


def test_init_with_a_password_makes_an_inventory_that_deploys(lab_with):
    lab = lab_with()
    nodes = lab.cli("lab", "status", "--json", lab=False, code=0).document["nodes"]
    addresses = [node["address"] for node in nodes]
    ssh = lab.home / ".ssh"
    ssh.mkdir(mode=0o700)
    login = ("--user", "spark", "--port", "2222", "--ask-pass", "--yes")
    keyless = lab.cli("init", *addresses, *login, lab=False, code=2)
    assert "ssh-keygen -t ed25519" in keyless.err
    assert "terminal" not in keyless.err, "the password is not asked for before there is a key to install"
    without = lab.cli("init", *addresses, *(word for word in login if word != "--ask-pass"), lab=False, code=4)
    assert "first make a key: `ssh-keygen -t ed25519`; then install" in without.err
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(ssh / "id_ed25519"))
    assert (
        f"ssh-keygen -y -f {shlex.quote(f'{ssh}/id_ed25519')}"
        in lab.cli("init", *addresses, *login, lab=False, code=2).err
    )
    key.write_public_key(str(ssh / "id_ed25519.pub"))

    lab.cli("init", *addresses, *login, lab=False, code=2)
    wrong = lab.cli("init", *addresses, *login, lab=False, code=4, SPARKOPS_PASSWORD="hunter2")
    assert "hunter2" not in wrong.told
    assert "refused the password" in wrong.err
    assert "--ask-pass" not in wrong.err
    lab.fault("node2", "no-docker-group")
    lab.fault("node2", "sudo-password")
    told = lab.cli("init", *addresses, *login, lab=False, code=0, SPARKOPS_PASSWORD="spark").out
    assert told.splitlines()[-1] == "Next: give the nodes these rights, then sparkops preflight"
    login = (*login, "--force")
    made = lab.cli("init", "--json", *addresses, *login, lab=False, code=0, SPARKOPS_PASSWORD="spark").document
    inventory = Path(made["inventory"])
    assert inventory.is_file()
    assert Path(made["known_hosts"]).is_file()
    assert str(lab.home) in made["inventory"]
    first, second = made["nodes"]
    assert first["missing"] == []
    assert first["fabric_address"]
    assert [hint for item in second["missing"] if "usermod -aG docker" in (hint := item["hint"])]
    assert [hint for item in second["missing"] if "cache permit" in (hint := item["hint"])]
    lab.fault("node2", "no-docker-group", off=True)
    lab.fault("node2", "sudo-password", off=True)
    assert "exists" in lab.cli("init", *addresses, *login[:-1], lab=False, code=2, SPARKOPS_PASSWORD="spark").err

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
    pins = lab.work / "my nodes.yml.known_hosts"
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    shown_key, old_key = pins.read_text().split()[2], stranger.export_public_key().decode().split()[1]
    pins.write_text(pins.read_text().replace(shown_key, old_key))
    changed = lab.cli(*mine, "trust", "--yes", lab=False, code=0)
    now = pinned["nodes"][0]["keys"][0]["fingerprint"]
    assert now in changed.err
    assert stranger.get_fingerprint() in changed.err, "what was pinned is shown beside what the node shows"
    lab.cli(*mine, "status", lab=False, code=0)


def test_a_new_key_locks_the_old_one_out_and_stands_in_no_log_no_label_and_no_command(serving):
    lab = serving
    (endpoint,) = lab.shown()[0]["endpoints"]
    old = lab.key()
    mine = lab.json("key", "rotate", SPARKOPS_API_KEY="sk-of-my-own-choice")
    assert mine["key"] == "sk-of-my-own-choice" == lab.key()
    assert [lab.ask(endpoint["url"], key)[0] for key in (old, mine["key"])] == [401, 200]
    for name in lab.names:
        for container in lab.on(name, "docker", "ps", "-aq").split():
            assert mine["key"] not in lab.on(name, "docker", "inspect", container)
        assert mine["key"] not in lab.node(name, "ssh.jsonl").read_text()
        path = lab.node(name, "home", ".local", "state", "sparkops", "key")
        assert path.stat().st_mode & 0o777 == 0o600
    assert not [path for path in lab.home.rglob("*.jsonl") if mine["key"] in path.read_text()]
