"""Who is let in, who is trusted, and what a person is told when it does not work."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from dataclasses import replace

import pytest

from sparkops.core.inventory import Node
from sparkops.remote.reasons import Unreached
from sparkops.remote.ssh import Door
from sparkops.remote.trust import HostKey, KnownHosts, fetch_host_key, known_hosts_file, pin, pinned_host_keys


@pytest.fixture
def enter(options):
    """Open one connection and close it; raises what the operator would see."""

    def enter(node, **changes):
        door = Door(replace(options, **changes))
        transport = door.open(door.target(node))
        transport.close()

    return enter


def until(holds):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


def refused(enter, node, **changes):
    with pytest.raises(Unreached) as error:
        enter(node, **changes)
    assert not error.value.sent
    return error.value


def test_a_pinned_host_and_the_named_key_are_let_in(enter, node, server):
    enter(node)
    assert until(lambda: server.logins == 1)


def test_an_unknown_host_is_refused_before_anything_is_sent(enter, node, server, tmp_path):
    error = refused(enter, node, known_hosts=(tmp_path / "nothing",))
    assert error.kind == "unknown-key"
    assert f"ssh-ed25519 {server.host_key.get_fingerprint()}" in error.reason
    assert error.hint == "sparkops trust"
    assert server.logins == 0


def test_a_changed_host_key_is_refused_with_both_fingerprints(enter, node, server, make_server):
    other = make_server()
    pin(server.known_hosts, [replace(other.key_line(), port=server.port)])
    error = refused(enter, node)
    assert error.kind == "changed-key"
    assert server.host_key.get_fingerprint() in error.reason
    assert other.host_key.get_fingerprint() in error.reason


def test_the_inventorys_pins_decide_alone_about_the_addresses_they_name(enter, node, server, make_server, tmp_path):
    mine = tmp_path / "inventory.known_hosts"
    other = make_server()
    pin(mine, [replace(other.key_line(), port=server.port)])
    assert refused(enter, node, known_hosts=(mine, server.known_hosts)).kind == "changed-key"
    pin(mine, [replace(other.key_line(), port=1)])
    mine.write_text(mine.read_text().splitlines()[-1] + "\n")
    enter(node, known_hosts=(mine, server.known_hosts))


def test_a_key_that_is_not_installed_names_what_was_tried_and_the_way_to_install_it(enter, node, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "new"], check=True)
    error = refused(enter, replace(node, key_file=str(tmp_path / "new")))
    assert error.kind == "auth"
    assert "me@127.0.0.1 refused the login: tried ssh-ed25519 SHA256:" in error.reason
    assert f"ssh-copy-id -p {node.port} me@127.0.0.1" in error.hint


def test_a_refused_login_is_tried_once(enter, node, server, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "new"], check=True)
    before = server.accepted
    refused(enter, replace(node, key_file=str(tmp_path / "new")))
    assert server.accepted == before + 1


def test_a_password_lets_in_where_no_key_does(enter, node, server, tmp_path):
    server.password = "hunter2"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "new"], check=True)
    stranger = replace(node, key_file=str(tmp_path / "new"))
    enter(stranger, password="hunter2")
    assert "a password" in refused(enter, stranger, password="wrong").reason


def test_without_a_named_key_those_of_the_home_are_tried(enter, node, server, tmp_path, monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    nobody = replace(node, key_file=None)
    assert "there is no key to try" in refused(enter, nobody, home=tmp_path / "empty").reason
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_bytes((server.home / "id").read_bytes())
    enter(nobody, home=home)


def test_a_missing_key_file_and_one_with_a_passphrase_are_named(enter, node, tmp_path, monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    assert "does not exist" in refused(enter, replace(node, key_file=str(tmp_path / "gone"))).reason
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", tmp_path / "locked"], check=True)
    error = refused(enter, replace(node, key_file=str(tmp_path / "locked")))
    assert "has a passphrase" in error.reason
    assert error.hint == f"ssh-add {tmp_path / 'locked'}"


def test_a_closed_port_is_refused_and_tried_again_for_a_moment(enter, node, server):
    server.down()
    error = refused(enter, node)
    assert error.kind == "refused"
    assert error.reason == f"connection refused by 127.0.0.1 port {server.port}"


def test_a_server_that_says_nothing_runs_into_the_time_limit(enter, node):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = refused(enter, replace(node, port=silent.getsockname()[1]), connect_timeout=0.5)
    assert error.kind == "timeout"


def test_a_server_that_is_no_ssh_server_is_said(enter, node):
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet():
            for _ in range(3):
                sock, _ = other.accept()
                sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                sock.close()

        thread = threading.Thread(target=greet)
        thread.start()
        error = refused(enter, replace(node, port=other.getsockname()[1]))
        thread.join()
    assert error.kind == "ended"
    assert "ended the SSH handshake" in error.reason


def test_the_ssh_config_fills_in_what_the_inventory_leaves_open(options, server, tmp_path):
    config = tmp_path / "config"
    config.write_text("Host 10.9.8.7\n  User someone\n  Port 2222\n  IdentityFile ~/.ssh/spark\nHost *\n  User other\n")
    door = Door(replace(options, ssh_config=config))
    open_ = door.target(Node("a", "10.9.8.7"))
    assert (open_.user, open_.port, open_.key_file.name) == ("someone", 2222, "spark")
    said = door.target(Node("a", "10.9.8.7", user="me", port=22022, key_file="/k"))
    assert (said.user, said.port, str(said.key_file)) == ("me", 22022, "/k")
    assert door.target(Node("b", "10.9.8.8")).user == "other"


def test_a_jump_host_is_used_and_held_to_the_same_trust(enter, make_server, server, tmp_path, nodes_of):
    jump = make_server()
    config = tmp_path / "config"
    text = (
        "Host 127.0.0.1\n  ProxyJump jump\nHost jump\n  HostName 127.0.0.1\n  Port {}\n  User me\n  IdentityFile {}\n"
    )
    config.write_text(text.format(jump.port, jump.home / "id"))
    enter(nodes_of(server), ssh_config=config)
    assert until(lambda: (server.logins, jump.logins) == (1, 1))
    only = tmp_path / "only"
    pin(only, [server.key_line()])
    assert refused(enter, nodes_of(server), ssh_config=config, known_hosts=(only,)).kind == "unknown-key"


def test_a_host_key_is_fetched_where_a_connection_would_go(options, make_server, server, tmp_path):
    jump = make_server()
    config = tmp_path / "config"
    config.write_text(f"Host 127.0.0.1\n  Port {server.port}\n")
    assert Door(replace(options, ssh_config=config)).shown_by(Node("a", "127.0.0.1")) == server.key_line()
    text = (
        "Host 127.0.0.1\n  ProxyJump jump\nHost jump\n  HostName 127.0.0.1\n  Port {}\n  User me\n  IdentityFile {}\n"
    )
    config.write_text(text.format(jump.port, jump.home / "id"))
    through = Door(replace(options, ssh_config=config)).shown_by(Node("a", "127.0.0.1", port=server.port))
    assert (through, server.logins) == (server.key_line(), 0)
    assert until(lambda: jump.logins == 1)
    only = tmp_path / "only"
    pin(only, [server.key_line()])
    with pytest.raises(Unreached, match="jump host me@127.0.0.1") as unknown:
        Door(replace(options, ssh_config=config, known_hosts=(only,))).shown_by(
            Node("a", "127.0.0.1", port=server.port)
        )
    assert f"ssh -p {jump.port} me@127.0.0.1" in unknown.value.hint


def test_a_proxy_command_is_refused_with_the_way_out(options, tmp_path):
    config = tmp_path / "config"
    config.write_text("Host *\n  ProxyCommand nc %h %p\n")
    with pytest.raises(Unreached, match="ProxyCommand"):
        Door(replace(options, ssh_config=config)).target(Node("a", "10.9.8.7"))


def test_a_host_key_is_fetched_without_logging_in(server):
    assert fetch_host_key("127.0.0.1", server.port) == server.key_line()
    assert server.logins == 0


def test_openssh_agrees_about_the_fingerprint(server, tmp_path):
    key = fetch_host_key("127.0.0.1", server.port)
    pin(tmp_path / "hosts", [key])
    shown = subprocess.run(["ssh-keygen", "-lf", tmp_path / "hosts"], capture_output=True, text=True, check=True)
    assert key.fingerprint in shown.stdout
    assert f"[127.0.0.1]:{server.port}" in shown.stdout


def test_pinning_replaces_what_was_pinned_for_the_address_and_nothing_else(tmp_path):
    file = tmp_path / "hosts"
    file.write_text(
        "# by hand\n[10.0.0.1]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAkxBotjp+XoK2bfvD5FD8S+77OaQApIzQNjrsmn1rA2\n"
    )
    key = "AAAAC3NzaC1lZDI1NTE5AAAAIHeu5OdjOZsxyQCGwVkn8D4Q1DuPrCh7d0e5lSxIj78I"
    pin(file, [HostKey("10.0.0.1", 22, "ssh-ed25519", key, "")])
    pin(file, [HostKey("10.0.0.1", 22, "ssh-ed25519", key, "")])
    lines = file.read_text().splitlines()
    assert lines[0] == "# by hand"
    assert lines[1].startswith("[10.0.0.1]:2222 ")
    assert lines[2:] == [f"10.0.0.1 ssh-ed25519 {key}"]
    assert [one.key for one in pinned_host_keys(file, "10.0.0.1")] == [key]
    assert len(KnownHosts([file]).keys("10.0.0.1", 2222)) == 1


def test_lines_of_a_known_hosts_file_that_nobody_here_can_read_pin_nothing(tmp_path):
    key = "AAAAC3NzaC1lZDI1NTE5AAAAIHeu5OdjOZsxyQCGwVkn8D4Q1DuPrCh7d0e5lSxIj78I"
    odd = (
        "@cert-authority *.example.com",
        "@revoked host",
        "host1 sk-ssh-ed25519@openssh.com AAAA",
        "host2 ssh-ed25519 no",
    )
    (tmp_path / "hosts").write_text("\n".join((*odd, "garbage", f"10.0.0.1,10.0.0.2 ssh-ed25519 {key} a comment", "")))
    known = KnownHosts([tmp_path / "hosts"])
    assert [one.get_base64() for one in known.keys("10.0.0.2", 22)] == [key]
    assert known.keys("host2", 22) == ()


def test_hashed_names_are_found(tmp_path):
    key = "AAAAC3NzaC1lZDI1NTE5AAAAIHeu5OdjOZsxyQCGwVkn8D4Q1DuPrCh7d0e5lSxIj78I"
    pin(tmp_path / "hosts", [HostKey("10.0.0.1", 2222, "ssh-ed25519", key, "")])
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", tmp_path / "hosts"], check=True, capture_output=True)
    assert "10.0.0.1" not in (tmp_path / "hosts").read_text()
    assert len(KnownHosts([tmp_path / "hosts"]).keys("10.0.0.1", 2222)) == 1


def test_pins_lie_beside_the_inventory():
    assert str(known_hosts_file("inventories/lab.yml")) == "inventories/lab.yml.known_hosts"
