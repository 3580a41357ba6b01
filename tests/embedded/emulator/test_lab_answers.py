"""What a node is asked all the time the lab's process answers: as the program would, and no Python starts."""

import shlex

from sparkops.remote.frame import script_text

TALKS = """import sys, time
for n in range(6):
    print(n, file=(sys.stdout, sys.stderr)[n % 2], flush=True)
    time.sleep(0.1)
"""
WITHOUT_PYTHON = (
    'rm -rf left && mkdir left && cp "$(dirname "$(command -v docker)")"/* left/ && cd left && '
    "sed -i 's/^exec .*main.py.*/exit 99/' docker dpkg nvidia-smi ip lscpu nproc systemctl && "
    "grep -q '^exit 99' docker && grep -q '^exit 99' dpkg && grep -q '^exit 99' nvidia-smi && "
    "PATH=$PWD:$PATH && cd && "
)
"""The programs with nothing behind their stubs: what got there has 99."""
FACTS = 'sh -c "$(cat)" facts --image vllm-node'


def started_python(node) -> set[str]:
    told = node.run(f"{WITHOUT_PYTHON}{FACTS}", script_text("facts")).out
    probes = {line.split()[1]: line.split()[2] for line in told.splitlines() if line.startswith("== ")}
    assert {"packages", "docker-version", "docker-info", "docker-ps", "nvidia-smi", "end"} <= set(probes)
    return {name for name, code in probes.items() if code == "99"}


def test_the_facts_of_a_node_start_no_python_whether_it_has_a_container_or_none(node):
    assert started_python(node) == set()
    node.docker("run", "-d", "--entrypoint=", "vllm-node", "sleep", "600")
    assert started_python(node) == set()


QUESTIONS = (
    ["docker", "inspect", "nobody's", "talker"],
    ["docker", "inspect", "--format", "{{.State.ExitCode}}\n{{.Name}}", "talker"],
    ["docker", "logs", "talker"],
    ["docker", "ps", "--filter", "nonsense=1"],
    ["nvidia-smi", "-L"],
)


def test_an_answer_is_what_the_program_says_on_both_streams(node):
    assert node.docker("run", "--name", "talker", "--entrypoint=", "vllm-node", "python3", "-c", TALKS).code == 0
    for line in map(shlex.join, QUESTIONS):
        assert node.run(f"{WITHOUT_PYTHON}{line}") == node.run(f"unset SPARKLAB_ANSWERS; {line}"), line
    both = "docker logs talker 2>&1"
    assert node.run(both) == node.run(f"unset SPARKLAB_ANSWERS; {both}")
    assert node.run(f"{WITHOUT_PYTHON}docker logs --follow talker").code == 99, "what waits is left to the program"


def test_every_change_shows_at_once(node):
    def told():
        names = node.docker("ps", "-a", "--format", "{{.Names}} {{.State}}").out.strip()
        info = [node.docker("info", "--format", "{{json .ContainersRunning}}").out.strip() for _ in "12"]
        return names, *info

    assert told() == ("", "0", "0")
    node.docker("run", "-d", "--name", "e", "--entrypoint=", "vllm-node", "sleep", "600")
    assert told() == ("e running", "1", "1")
    node.docker("kill", "e")
    assert told() == ("e exited", "0", "0")
    node.docker("rm", "e")
    assert told() == ("", "0", "0")


def test_a_program_that_hangs_holds_up_itself_alone(lab, node):
    lab.fault(1, "gpu-hangs")
    assert node.run("timeout 1 nvidia-smi -L").code == 124
    assert node.docker("ps", "--quiet").code == 0
