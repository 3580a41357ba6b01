"""What the key of a fleet's endpoint may do at a real sshd; and three real models of which one fits at a time.

The second loads models a dozen times, so it runs only where SPARKOPS_LAB_LONG is set, and not in CI.
"""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
from lab.test_fleet import FIRST, MODELS, PAIR, PORT, SECOND, SMALL

from sparkops.core.plan import Secret
from sparkops.node_commands import ondemand
from sparkops.remote.frame import expand
from support.long import LONG

FLEET = """deployments:
  first: {recipe: ./first.yml, nodes: [node1], allow: [memory-fits]}
  second: {recipe: ./second.yml, nodes: [node1], allow: [memory-fits]}
  pair: {recipe: openai-gpt-oss-120b, topology: cluster, allow: [memory-fits],
         set: {args.gpu-memory-utilization: 0.3, args.max-model-len: 2048}}
endpoint: {node: node1, port: 4000}
on-demand: {idle: 20m, stay: 5s}
"""
NAMES = (FIRST, SECOND, PAIR)
CLIENTS, EACH, IN_A_ROW = 8, 25, 9


HOME = "/home/spark"
STATE, GATEWAY, OURS = f"{HOME}/.local/state/sparkops", "lab-gateway", "sparkops-chat-server-0123abcd"


class Door:
    """The key of an endpoint on node2, for a container of node1."""

    def __init__(self, lab):
        self.lab = lab
        lab.on("node2", "sh", "-c", f"rm -f {HOME}/door*; ssh-keygen -q -t ed25519 -N '' -f {HOME}/door", user="spark")
        self.key, self.public = (lab.on("node2", "cat", f"{HOME}/door{end}", user="spark") for end in ("", ".pub"))
        for name in ("stranger", OURS):
            label = ("--label", "sparkops.deployment=chat") if name == OURS else ()
            lab.on(
                "node1", "docker", "create", "--name", name, *label, "--entrypoint", "sleep", "vllm-node-mxfp4", "inf"
            )

    def run(self, command):
        words = expand(command.words)
        done = self.lab.ran_on("node1", *words, user="spark", stdin=" ".join(self.public.split()[:2]) + "\n")
        assert done.returncode == 0, done.stderr

    def open(self):
        origins = (self.lab.address("node2"),)
        self.run(ondemand.open_to(STATE, GATEWAY, origins, Secret("key"), {OURS: "chat"}, None))

    def close(self):
        self.run(ondemand.close(STATE, GATEWAY))

    def ask(self, *words, node="node2", options=()):
        """The exit code and what it said; 255 if sshd lets nobody in."""
        settings = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes", "IdentitiesOnly=yes")
        given = [word for one in settings for word in ("-o", one)]
        place = f"spark@{self.lab.address('node1')}"
        line = ["ssh", "-q", "-i", f"{HOME}/door", *given, *options, place, *words]
        done = self.lab.ran_on(node, *line, user="spark")
        return done.returncode, done.stdout.strip()

    def state(self, name):
        return self.lab.on("node1", "docker", "inspect", "--format", "{{.State.Status}}", name)


@pytest.fixture
def door(trio):
    trio.clear("node1")
    made = Door(trio)
    yield made
    made.close()
    trio.on("node1", "docker", "rm", "-f", "stranger", OURS)
    for node in ("node2", "node3"):
        trio.on(node, "rm", "-f", f"{HOME}/door", f"{HOME}/door.pub")


REFUSED = (
    (), ("sh",), ("id",), ("look; id",), ("look\nid",), ("look $(id)",), ("start",), ("start stranger",), ("LOOK",),
    ("stop stranger",), (f"start {OURS} stranger",), (f"start {OURS}; id",), (f"start ../{OURS}",), ("start .*",),
    (f"rm {OURS}",), ("docker ps",), ("/bin/sh -c id",), (f"restart {OURS}",), ("scp -t .",),
)  # fmt: skip


def test_the_key_of_an_endpoint_opens_three_verbs_from_one_address_until_it_is_closed(door, trio):
    door.open()
    code, said = door.ask("look")
    assert (code, f"{OURS} created 0" in said.splitlines()) == (0, True)
    assert door.ask("start", OURS)[0] == 0
    assert door.state(OURS) == "running"
    assert door.ask("stop", OURS)[0] == 0
    assert door.state(OURS) == "exited"
    answers = {words: door.ask(*words) for words in (*REFUSED, ("-s", "sftp"))}
    assert {words: answer for words, answer in answers.items() if answer != (77, "")} == {}
    assert door.state("stranger") == "created"
    forward = ("-o", "ExitOnForwardFailure=yes", "-N", "-R", "12345:127.0.0.1:22")
    assert door.ask(options=forward)[0] == 255
    trio.ran_on("node3", "sh", "-c", f"umask 077; cat >{HOME}/door", user="spark", stdin=f"{door.key}\n")
    assert door.ask("look", node="node3") == (255, "")
    door.close()
    assert door.ask("look") == (255, "")


@pytest.fixture
def fleet(lab, tmp_path):
    lab.clear()
    for name, model in zip((FIRST, SECOND), MODELS, strict=True):
        (tmp_path / f"{name}.yml").write_text(SMALL.format(name=name, model=model, share=0.2, seqs=4))
    (tmp_path / "fleet.yml").write_text(FLEET)
    lab.json("apply", tmp_path / "fleet.yml")
    assert not lab.json("apply", tmp_path / "fleet.yml")["changed"]
    return tmp_path / "fleet.yml"


def log(lab):
    """What the endpoint started and stopped, in order."""
    (name,) = [name for name in lab.containers("node1") if "-gateway-" in name]
    lines = lab.ran_on("node1", "docker", "logs", name).stdout.splitlines()
    return [line for line in lines if ": start: " in line or ": stop: " in line]


def asks(client, at, number):
    """One request, every second one as a stream; how it ended."""
    model = NAMES[(at + number // IN_A_ROW) % len(NAMES)]
    try:
        asked = {"model": model, "prompt": "Hello", "max_tokens": 4, "extra_body": {"ignore_eos": True}}
        if number % 2:
            parts = list(client.completions.create(stream=True, **asked))
            return "right" if parts and {one.model for one in parts} == {model} else f"parts of {model}: {parts}"
        return "right" if client.completions.create(**asked).model == model else "another model"
    except openai.APIStatusError as error:
        return str(error.status_code)
    except openai.APIError as error:
        return f"broken off: {error}"


def kill(lab, names):
    """End the first process of these containers of ours, as the kernel may: Docker starts them again."""
    found = f"docker ps --format '{{{{.Names}}}}' | grep -E 'sparkops-.*({names})'"
    lab.ran_on(
        "node1", "sh", "-c", f"for one in $({found}); do kill -9 $(docker inspect -f '{{{{.State.Pid}}}}' $one); done"
    )


@LONG
def test_200_requests_of_8_clients_for_three_models_while_parts_are_killed(lab, fleet, eventually):
    url = f"http://{lab.address('node1')}:{PORT}/v1"
    key = lab.json("gateway", "key", "add", "anna")["key"]
    strangers = lab.ran_on("node1", "docker", "run", "-d", "--name", "stranger", "vllm-node-mxfp4", "sleep", "inf")
    assert strangers.returncode == 0
    ends, broken = list[str](), list[str]()

    def client(at):
        with openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=1500) as found:
            for number in range(EACH):
                while (end := asks(found, at, number)).startswith("broken off"):
                    broken.append(end)
                    time.sleep(3)
                ends.append(end)

    def trouble():
        assert eventually(lambda: len(ends) >= 40)
        kill(lab, "gateway")
        assert eventually(lambda: len(ends) >= 90)
        kill(lab, "server|head")
        assert eventually(lambda: len(ends) >= 140)
        lab.fault("node2", "power-loss")

    kills = threading.Thread(target=trouble, daemon=True)
    kills.start()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(client, range(CLIENTS)))
    kills.join(60)
    print(Counter(ends), Counter(broken), *log(lab), sep="\n")  # noqa: T201 - what a person who runs it reads
    assert len(ends) == CLIENTS * EACH
    assert set(ends) <= {"right", "429", "503", "502"}
    assert Counter(ends)["right"] > CLIENTS * EACH * 0.7
    assert eventually(lambda: not lab.json("diff", fleet)["changed"])
    state = lab.ran_on("node1", "docker", "inspect", "--format", "{{.State.Running}} {{.RestartCount}}", "stranger")
    assert state.stdout.strip() == "true 0"
    lab.ran_on("node1", "docker", "rm", "-f", "stranger")
