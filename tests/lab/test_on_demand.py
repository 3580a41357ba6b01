"""Three real models of which one fits at a time, one of them over both nodes: 8 clients ask for all of them.

It loads models a dozen times, so it runs only where SPARKOPS_LAB_LONG is set, and not in CI.
"""

import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
from lab.test_fleet import FIRST, MODELS, PAIR, PORT, SECOND, SMALL

pytestmark = pytest.mark.skipif("SPARKOPS_LAB_LONG" not in os.environ, reason="long: SPARKOPS_LAB_LONG is not set")

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
