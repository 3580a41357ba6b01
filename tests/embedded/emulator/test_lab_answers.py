"""What a node is asked all the time the lab's process answers: as the program would, and no Python starts."""

from __future__ import annotations

import shlex
import socket

import pytest

from sparkops.remote.frame import script_text

TALKS = """import sys, time
for n in range(6):
    print(n, file=(sys.stdout, sys.stderr)[n % 2], flush=True)
    time.sleep(0.1)
"""
ENDED = ("--name", "talker", "--entrypoint=", "vllm-node", "python3", "-c", TALKS)
WITHOUT_PYTHON = (
    'mkdir left && cp "$(dirname "$(command -v docker)")"/* left/ && cd left && '
    "sed -i 's/^exec .*main.py.*/exit 99/' docker dpkg nvidia-smi ip lscpu nproc systemctl && "
    "grep -q '^exit 99' docker && grep -q '^exit 99' dpkg && grep -q '^exit 99' nvidia-smi && "
    "PATH=$PWD:$PATH && cd && "
)
"""The programs with nothing behind their stubs: what got there has 99."""
FACTS = 'sh -c "$(cat)" facts --image vllm-node'
EVERY_OTHER = (
    "python3",
    "-c",
    "import sys\nfor n in range(30): print(n, file=(sys.stdout, sys.stderr)[n % 2], flush=True)",
)


def started_python(node) -> set[str]:
    told = node.run(f"{WITHOUT_PYTHON}{FACTS}", script_text("facts")).out
    probes = {line.split()[1]: line.split()[2] for line in told.splitlines() if line.startswith("== ")}
    assert {"packages", "docker-version", "docker-info", "docker-ps", "nvidia-smi", "end"} <= set(probes)
    return {name for name, code in probes.items() if code == "99"}


def test_the_facts_of_an_idle_node_start_no_python(node):
    assert started_python(node) == set()


def test_the_facts_of_a_node_with_a_container_start_no_python(node):
    node.docker("run", "-d", "--entrypoint=", "vllm-node", "sleep", "600")
    assert started_python(node) == set()


@pytest.mark.parametrize(
    "words",
    [
        ["docker", "ps", "-a", "--no-trunc", "--format", "{{.ID}} {{.State}} {{.Labels}}"],
        ["docker", "container", "ls", "-aq"],
        ["docker", "inspect", "talker"],
        ["docker", "inspect", "--format", "{{.State.ExitCode}}\n{{.Name}}", "talker"],
        ["docker", "inspect", "nobody's", "talker"],
        ["docker", "image", "inspect", "vllm-node", "nothing"],
        ["docker", "logs", "talker"],
        ["docker", "logs", "--tail", "3", "-t", "talker"],
        ["docker", "ps", "--filter", "nonsense=1"],
        ["docker", "info", "--format", "{{.ContainersStopped}} {{.Images}}"],
        ["docker", "images"],
        ["nvidia-smi", "-L"],
        ["nvidia-smi", "--query-gpu=temperature.gpu", "--format=csv"],
    ],
    ids=" ".join,
)
def test_it_is_what_the_program_says(node, words):
    assert node.docker("run", *ENDED).code == 0
    line = shlex.join(words)
    assert node.run(f"{WITHOUT_PYTHON}{line}") == node.run(f"unset SPARKLAB_ANSWERS; {line}")
    assert node.run(f"{line} 2>&1") == node.run(f"unset SPARKLAB_ANSWERS; {line} 2>&1")


@pytest.mark.parametrize("words", ["docker logs --follow talker", "docker logs -n x talker", "docker hover", "docker"])
def test_what_waits_or_is_wrong_is_left_to_the_program(node, words):
    assert node.docker("run", *ENDED).code == 0
    assert node.run(f"{WITHOUT_PYTHON}{words}").code == 99


def test_a_log_that_goes_to_and_fro_is_left_to_the_program(node):
    assert node.docker("run", "--name", "talker", "--entrypoint=", "vllm-node", *EVERY_OTHER).code == 0
    assert sorted(map(int, node.run("docker logs talker 2>&1").out.split())) == [*range(30)]


def test_every_change_shows_at_once(node):
    def told():
        return node.docker("ps", "-a", "--format", "{{.Names}} {{.State}}").out.strip()

    assert told() == ""
    node.docker("run", "-d", "--name", "e", "--entrypoint=", "vllm-node", "sleep", "600")
    assert told() == "e running"
    node.docker("kill", "e")
    assert told() == "e exited"
    node.docker("rm", "e")
    assert told() == ""


@pytest.mark.parametrize("token", ["", "0" * 32])
def test_nobody_else_is_answered(node, token):
    address, port, own = node.run('printf %s "$SPARKLAB_ANSWERS"').out.split("/")
    request = "\0".join(["node1", "2", "docker", "ps", ""])

    def answer(by: str) -> bytes:
        with socket.create_connection((address, int(port)), timeout=60) as client:
            client.sendall(f"{by}\0{request}".encode())
            client.shutdown(socket.SHUT_WR)
            return client.makefile("rb").read()

    assert answer(own).endswith(b"end 0\n")
    assert answer(token) == b""


def test_a_program_that_hangs_holds_up_itself_alone(lab, node):
    lab.fault(1, "gpu-hangs")
    assert node.run("timeout 1 nvidia-smi -L").code == 124
    assert node.docker("ps", "--quiet").code == 0
