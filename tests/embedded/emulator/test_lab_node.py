"""The programs of a node as a shell there finds them; what they say is in tests/unit/emulator."""

import hashlib

SAID = {
    "nproc": "20",
    "nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader": "NVIDIA GB10, 580.142, 12.1",
    "ibdev2netdev | head -1": "rocep1s0f0 port 1 ==> enp1s0f0np0 (Up)",
    'cat "$SPARKOPS_ROOT/sys/class/net/enP2p1s0f0np0/speed"': "200000",
    "sudo -n id -u": "0",
    "ping -c 1 -W 1 $(hostname -I | cut -d' ' -f2) >/dev/null; echo $?": "0",
    "ping -c 1 -W 1 10.9.8.7 >/dev/null; echo $?": "1",
    "printf secret | sha256sum": f"{hashlib.sha256(b'secret').hexdigest()}  -",
    "crontab -l 2>&1": "no crontab for spark",
    "echo '*/30 * * * * true' | crontab -; crontab -l": "*/30 * * * * true",
    "crontab -r; crontab -l >/dev/null 2>&1; echo $?": "1",
}


def test_the_programs_of_a_node_say_what_a_healthy_spark_says(node):
    for line, said in SAID.items():
        assert node.run(line).out == f"{said}\n", line


def test_ss_shows_the_nodes_own_listeners_only(lab, node, eventually):
    node.docker("run", "-d", "--entrypoint=", "vllm-node", "python3", "-c", listener(node.address, 8123))
    eventually(lambda: f"{node.address}:8123 " in node.run("ss -Hltn").out)
    assert ":8123" not in lab.connect(2).run("ss -Hltn").out


def listener(address, port):
    return f"import socket, time; s = socket.create_server(({address!r}, {port})); time.sleep(600)"


def test_sudo_takes_the_password_line_leaves_the_rest_to_the_command_and_may_use_docker(lab, node):
    lab.fault(1, "no-docker-group")
    assert node.docker("ps").code == 1
    assert node.run("sudo -n docker ps").code == 0
    lab.fault(1, "sudo-password")
    refused = node.run("sudo -n true")
    assert (refused.code, refused.err) == (1, "sudo: a password is required\n")
    assert node.run("sudo -S -p '' -- cat", stdin="spark\nfor the command\n").out == "for the command\n"
    assert node.run("sudo -S -p '' -- cat", stdin="wrong\n").code == 1
