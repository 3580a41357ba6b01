"""An exec request is served as OpenSSH serves it."""

import paramiko
import pytest


def test_streams_input_exit_code_and_signal_arrive_as_from_sshd(node):
    done = node.run("cat; echo err >&2; exit 7", stdin="line\n")
    assert (done.code, done.out, done.err) == (7, "line\n", "err\n")
    assert node.open("kill -9 $$").recv_exit_status() == -1
    told = node.run('echo "$USER"; cd "$HOME" && pwd; test -r "$SPARKOPS_ROOT/proc/meminfo" && command -v docker')
    user, home, docker = told.out.splitlines()
    assert (user, home[-10:], docker[-16:]) == ("spark", "node1/home", "node1/bin/docker")
    late = node.open("(sleep 0.5; echo late) & exit 3")
    assert late.recv_exit_status() == 3, "the exit code does not wait for a child that still has the output"
    assert late.makefile("rb").read() == b"late\n"


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


def test_a_command_outlives_its_channel_and_its_connection_and_reads_end_of_file(lab, node, eventually):
    node.run("mkdir ~/left")
    node.open("cat >/dev/null; sleep 0.2; echo lived > ~/left/channel").close()
    node.open("cat >/dev/null; sleep 0.2; echo lived > ~/left/connection")
    node.ssh.close()
    other = lab.connect(1)
    eventually(lambda: other.run("cat ~/left/*").out == "lived\nlived\n")


def test_more_than_ten_sessions_on_one_connection_are_refused(node):
    kept = [node.open("cat") for _ in range(10)]
    with pytest.raises(paramiko.ChannelException):
        node.open("true")
    for channel in kept:
        channel.close()


def test_the_password_and_an_installed_key_open_the_door_and_nothing_else_does(lab, tmp_path):
    key = paramiko.RSAKey.generate(2048)
    key.write_private_key_file(str(tmp_path / "key"))
    client = lab.connect(1, password="spark")
    line = f"{key.get_name()} {key.get_base64()} me"
    client.run(f"printf '%s\\n' '{line}' >> ~/.ssh/authorized_keys")
    assert lab.connect(1, key_filename=str(tmp_path / "key")).run("whoami").out == "spark\n"
    for login in ({"password": "wrong"}, {"password": "spark", "username": "root"}):
        with pytest.raises(paramiko.AuthenticationException):
            lab.connect(1, **login)


def test_each_node_has_its_own_key_counts_what_comes_and_writes_every_line_down(lab):
    lines = (lab.inventory.parent / "inventory.yml.known_hosts").read_text().split()
    assert len({word for word in lines if word.startswith("AAAA")}) == 2
    lab.rows(reset=True)
    client = lab.connect(2)
    assert client.run("hostname").out != lab.connect(1).run("hostname").out
    client.run("echo second")
    row = lab.rows()[1]
    assert (row["connections"], row["commands"]) == (1, 2)
    assert [entry["line"] for entry in lab.log(2, "exec")][-2:] == ["hostname", "echo second"]
