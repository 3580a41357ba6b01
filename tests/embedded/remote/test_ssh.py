"""Who is let in, who is trusted, and what a person is told when it does not work."""

import socket
import subprocess
import threading
from dataclasses import replace

import pytest

from sparkops.core.inventory import Node
from sparkops.remote.connect_errors import Unreached
from sparkops.remote.ssh import Connector
from sparkops.remote.trust import fetch_host_key, pin
from support.shells import until

JUMP = "Host 127.0.0.1\n  ProxyJump jump\nHost jump\n  HostName 127.0.0.1\n  Port {}\n  User me\n  IdentityFile {}\n"


@pytest.fixture
def enter(options):
    """Open one connection and close it; raises what the operator would see."""

    def enter(node, **changes):
        connector = Connector(replace(options, **changes))
        connector.open(connector.target(node)).close()

    return enter


@pytest.fixture
def new_key(tmp_path, monkeypatch):
    """Makes a key that no server knows; no agent has another."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)

    def make(name, passphrase=""):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", tmp_path / name]
        subprocess.run(words, check=True)
        return str(tmp_path / name)

    return make


def refused(enter, node, **changes):
    with pytest.raises(Unreached) as error:
        enter(node, **changes)
    assert not error.value.sent
    return error.value


def test_an_unknown_host_key_is_refused_before_anybody_logs_in_and_a_pinned_one_is_not(enter, node, server, tmp_path):
    hosts = tmp_path / "hosts"
    error = refused(enter, node, known_hosts=(hosts,))
    assert (error.kind, error.hint) == ("unknown-key", "pin it: `sparkops trust`")
    assert f"ssh-ed25519 {server.host_key.get_fingerprint()}" in error.reason
    key = fetch_host_key("127.0.0.1", server.port)
    assert (key, server.logins) == (server.key_line(), 0)
    pin(hosts, [key])
    shown = subprocess.run(["ssh-keygen", "-lf", hosts], capture_output=True, text=True, check=True).stdout
    assert [word in shown for word in (key.fingerprint, f"[127.0.0.1]:{server.port}")] == [True, True]
    enter(node, known_hosts=(hosts,))
    assert until(lambda: server.logins == 1)


def test_a_changed_host_key_is_refused_and_the_inventorys_pins_decide_alone(enter, node, make_server, server, tmp_path):
    mine, other = tmp_path / "inventory.known_hosts", make_server()
    pin(mine, [replace(other.key_line(), port=server.port)])
    error = refused(enter, node, known_hosts=(mine, server.known_hosts))
    assert error.kind == "changed-key"
    assert [one.host_key.get_fingerprint() in error.reason for one in (server, other)] == [True, True]
    mine.unlink()
    pin(mine, [replace(other.key_line(), port=1)])
    enter(node, known_hosts=(mine, server.known_hosts))


def test_a_login_that_is_refused_once_names_what_was_tried_and_the_way_in(enter, node, server, new_key, tmp_path):
    stranger = replace(node, key_file=new_key("new"))
    error = refused(enter, stranger)
    assert (error.kind, server.accepted) == ("auth", 1)
    assert "me@127.0.0.1 refused the login: sparkops tried ssh-ed25519 SHA256:" in error.reason
    assert f"ssh-copy-id -p {node.port} me@127.0.0.1" in error.hint
    server.password = "hunter2"
    enter(stranger, password="hunter2")
    assert "a password" in refused(enter, stranger, password="wrong").reason
    assert "does not exist" in refused(enter, replace(node, key_file=str(tmp_path / "gone"))).reason
    locked = new_key("locked", "secret")
    error = refused(enter, replace(node, key_file=locked))
    assert ("has a passphrase" in error.reason, error.hint) == (True, f"ssh-add {locked}")


def test_without_a_named_key_those_of_the_home_are_tried(enter, node, server, new_key, tmp_path):
    nobody, home = replace(node, key_file=None), tmp_path / "home"
    assert "sparkops found no SSH key" in refused(enter, nobody, home=home).reason
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_ed25519").write_bytes((server.home / "id").read_bytes())
    enter(nobody, home=home)


def test_a_server_that_is_no_ssh_server_is_tried_three_times_and_said(enter, node):
    accepted = []
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet():
            for _ in range(3):
                sock, peer = other.accept()
                accepted.append(peer)
                sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                sock.close()

        thread = threading.Thread(target=greet)
        thread.start()
        error = refused(enter, replace(node, port=other.getsockname()[1]))
        thread.join()
    assert (error.kind, len(accepted)) == ("ended", 3)
    assert "ended the SSH handshake" in error.reason


def test_a_jump_host_is_used_and_held_to_the_same_trust(enter, options, make_server, server, tmp_path, nodes_of):
    jump, only, config = make_server(), tmp_path / "only", tmp_path / "config"
    config.write_text(JUMP.format(jump.port, jump.home / "id"))
    pin(only, [server.key_line()])
    node = Node("a", "127.0.0.1", port=server.port)
    assert Connector(replace(options, ssh_config=config)).shown_by(node) == server.key_line()
    assert until(lambda: (server.logins, jump.logins) == (0, 1))
    enter(nodes_of(server), ssh_config=config)
    assert until(lambda: (server.logins, jump.logins) == (1, 2))
    assert refused(enter, nodes_of(server), ssh_config=config, known_hosts=(only,)).kind == "unknown-key"
    with pytest.raises(Unreached, match="jump host me@127.0.0.1") as unknown:
        Connector(replace(options, ssh_config=config, known_hosts=(only,))).shown_by(node)
    assert f"ssh -p {jump.port} me@127.0.0.1" in unknown.value.hint
    config.write_text(f"Host 127.0.0.1\n  Port {server.port}\n")
    assert Connector(replace(options, ssh_config=config)).shown_by(Node("a", "127.0.0.1")) == server.key_line()
