"""An exec request is served as OpenSSH serves it."""

from __future__ import annotations

import paramiko
import pytest


def test_the_two_streams_and_the_exit_code_arrive_apart(node):
    done = node.run("echo out; echo err >&2; exit 7")
    assert (done.code, done.out, done.err) == (7, "out\n", "err\n")


def test_a_command_killed_by_a_signal_is_told_as_a_signal(node):
    channel = node.open("kill -9 $$")
    assert channel.recv_exit_status() == -1


def test_stdin_arrives_with_its_end(node):
    assert node.run("cat; echo over", stdin="line\n").out == "line\nover\n"


def test_megabytes_of_any_bytes_pass_both_ways_unchanged(node):
    data = bytes(range(256)) * 8192
    channel = node.open("cat")
    received = bytearray()
    channel.settimeout(60)
    sent = 0
    while len(received) < len(data):
        if sent < len(data) and channel.send_ready():
            sent += channel.send(data[sent : sent + 65536])
            if sent == len(data):
                channel.shutdown_write()
        if channel.recv_ready() or sent == len(data):
            received += channel.recv(65536)
    assert bytes(received) == data


def test_a_command_outlives_its_channel_and_reads_end_of_file(lab, node, eventually):
    channel = node.open("cat >/dev/null; sleep 0.2; echo lived > ~/left")
    channel.close()
    other = lab.connect(1)
    eventually(lambda: other.run("cat ~/left").out == "lived\n")


def test_a_command_outlives_its_connection_too(lab, node, eventually):
    node.open("cat >/dev/null; sleep 0.2; echo lived > ~/left")
    node.ssh.close()
    other = lab.connect(1)
    eventually(lambda: other.run("cat ~/left").out == "lived\n")


def test_output_of_a_background_child_is_waited_for_but_the_exit_code_is_not(node):
    channel = node.open("(sleep 0.5; echo late) & exit 3")
    assert channel.recv_exit_status() == 3
    assert channel.makefile("rb").read() == b"late\n"


def test_more_than_ten_sessions_on_one_connection_are_refused(node):
    kept = [node.open("cat") for _ in range(10)]
    with pytest.raises(paramiko.ChannelException):
        node.open("true")
    for channel in kept:
        channel.close()


def test_the_password_opens_the_door_and_a_key_that_was_installed_does(lab, tmp_path):
    key = paramiko.RSAKey.generate(2048)
    key.write_private_key_file(str(tmp_path / "key"))
    client = lab.connect(1, password="spark")
    line = f"{key.get_name()} {key.get_base64()} me"
    client.run(f"printf '%s\\n' '{line}' >> ~/.ssh/authorized_keys")
    assert lab.connect(1, key_filename=str(tmp_path / "key")).run("whoami").out == "spark\n"


@pytest.mark.parametrize("login", [{"password": "wrong"}, {"password": "spark", "username": "root"}])
def test_nobody_else_gets_in(lab, login):
    with pytest.raises(paramiko.AuthenticationException):
        lab.connect(1, **login)


def test_every_node_has_its_own_host_key_and_the_pinned_one_fits(lab):
    lines = (lab.inventory.parent / "inventory.yml.known_hosts").read_text().split()
    keys = [word for word in lines if word.startswith("AAAA")]
    assert len(set(keys)) == 2
    assert lab.connect(2).run("hostname").out != lab.connect(1).run("hostname").out


def test_the_node_counts_connections_and_commands_and_writes_every_line_down(lab):
    lab.rows(reset=True)
    client = lab.connect(2)
    client.run("echo first")
    client.run("echo second")
    row = lab.rows()[1]
    assert (row["connections"], row["commands"]) == (1, 2)
    assert [entry["line"] for entry in lab.log(2, "exec")][-2:] == ["echo first", "echo second"]


def test_the_environment_is_the_nodes_own(node):
    done = node.run('echo "$USER"; cd "$HOME" && pwd; test -r "$SPARKOPS_ROOT/proc/meminfo" && command -v docker')
    user, home, docker = done.out.splitlines()
    assert user == "spark"
    assert home.endswith("node1/home")
    assert docker.endswith("node1/bin/docker")
