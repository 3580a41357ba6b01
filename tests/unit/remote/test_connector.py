"""What is decided about a connection before any SSH server is asked: pins, ~/.ssh/config, silence."""

import socket
import subprocess
from dataclasses import replace

import pytest

from sparkops.core.inventory import Node
from sparkops.remote.connect_errors import Unreached
from sparkops.remote.ssh import Connector, Options
from sparkops.remote.trust import KnownHosts, SeenHostKey, known_hosts_file, pin, pinned_host_keys

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIHeu5OdjOZsxyQCGwVkn8D4Q1DuPrCh7d0e5lSxIj78I"
OTHER = "AAAAC3NzaC1lZDI1NTE5AAAAIAkxBotjp+XoK2bfvD5FD8S+77OaQApIzQNjrsmn1rA2"


@pytest.fixture
def options(tmp_path):
    return Options(login="me", home=tmp_path, known_hosts=())


def test_pinning_replaces_what_was_pinned_for_the_address_and_nothing_else(tmp_path):
    file = tmp_path / "hosts"
    file.write_text(f"# by hand\n[10.0.0.1]:2222 ssh-ed25519 {OTHER}\n")
    for _ in range(2):
        pin(file, [SeenHostKey("10.0.0.1", 22, "ssh-ed25519", KEY, "")])
    by_hand = ["# by hand", f"[10.0.0.1]:2222 ssh-ed25519 {OTHER}"]
    assert file.read_text().splitlines() == [*by_hand, f"10.0.0.1 ssh-ed25519 {KEY}"]
    assert [one.key for one in pinned_host_keys([file], "10.0.0.1")] == [KEY]
    assert len(KnownHosts([file]).keys("10.0.0.1", 2222)) == 1
    assert str(known_hosts_file("inventories/lab.yml")) == "inventories/lab.yml.known_hosts"


def test_lines_of_a_known_hosts_file_that_nobody_here_can_read_pin_nothing(tmp_path):
    odd = ("@cert-authority *.example.com", "@revoked host", "host1 sk-ssh-ed25519@openssh.com AAAA")
    pinned = f"10.0.0.1,10.0.0.2 ssh-ed25519 {KEY} a comment"
    (tmp_path / "hosts").write_text("\n".join((*odd, "host2 ssh-ed25519 no", "garbage", pinned, "")))
    known = KnownHosts([tmp_path / "hosts"])
    assert [one.get_base64() for one in known.keys("10.0.0.2", 22)] == [KEY]
    assert known.keys("host2", 22) == ()


def test_hashed_names_are_found(tmp_path):
    pin(tmp_path / "hosts", [SeenHostKey("10.0.0.1", 2222, "ssh-ed25519", KEY, "")])
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", tmp_path / "hosts"], check=True, capture_output=True)
    assert "10.0.0.1" not in (tmp_path / "hosts").read_text()
    assert len(KnownHosts([tmp_path / "hosts"]).keys("10.0.0.1", 2222)) == 1


def test_the_ssh_config_fills_in_what_the_inventory_leaves_open(options, tmp_path):
    config = tmp_path / "config"
    config.write_text("Host 10.9.8.7\n  User someone\n  Port 2222\n  IdentityFile ~/.ssh/spark\nHost *\n  User other\n")
    connector = Connector(replace(options, ssh_config=config))
    open_ = connector.target(Node("a", "10.9.8.7"))
    assert (open_.user, open_.port, open_.key_file.name) == ("someone", 2222, "spark")
    said = connector.target(Node("a", "10.9.8.7", user="me", port=22022, key_file="/k"))
    assert (said.user, said.port, str(said.key_file)) == ("me", 22022, "/k")
    assert connector.target(Node("b", "10.9.8.8")).user == "other"
    config.write_text("Host *\n  ProxyCommand nc %h %p\n")
    with pytest.raises(Unreached, match="ProxyCommand"):
        Connector(replace(options, ssh_config=config)).target(Node("a", "10.9.8.7"))


@pytest.mark.parametrize(
    ("listens", "kind", "told"), [(False, "refused", "connection refused by"), (True, "timeout", "SSH on")]
)
def test_a_closed_port_is_told_from_a_server_that_says_nothing(options, listens, kind, told):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if listens:
            server.listen()
        port = server.getsockname()[1]
        connector = Connector(replace(options, connect_timeout=0.2))
        with pytest.raises(Unreached, match=f"{told} 127.0.0.1 port {port}") as error:
            connector.open(connector.target(Node("a", "127.0.0.1", port=port)))
    assert (error.value.kind, error.value.sent) == (kind, False)
