"""Two models of which one fits at a time, one of them over both nodes: each request wakes the one that it names."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import serving

SMALL = "recipe: nemotron-3-nano-nvfp4, nodes: [node1]"
CHAT = "recipe: openai-gpt-oss-120b, topology: cluster, nodes: [node1, node2]"
GPT, NEMOTRON = "openai/gpt-oss-120b", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"


@pytest.fixture(scope="module")
def lab(lab_with):
    found = lab_with(nodes=3, speed=60)
    lines = ["deployments:", f"  chat: {{{CHAT}}}", f"  small: {{{SMALL}}}"]
    lines += ["endpoint: {node: node3}", "on-demand: {stay: 1s}", ""]
    (found.work / "fleet.yml").write_text("\n".join(lines))
    found.json("apply", "--setup")
    return found


@pytest.fixture(scope="module")
def url(lab):
    return lab.json("diff")["endpoint"]["url"]


@pytest.fixture(scope="module")
def key(lab):
    return lab.json("gateway", "key", "add", "anna")["key"]


def acts(lab):
    """What the endpoint started and stopped, in order."""
    (name,) = [name for node, name in lab.running() if node == "node3"]
    lines = lab.on("node3", "docker", "logs", name).splitlines()
    found = [line.split(": ")[1:3] for line in lines if ": start: " in line or ": stop: " in line]
    return [f"{verb} {name}" for name, verb in found]


def states(url, key):
    code, text = serving.request(f"{url}/models", None, key, 30)
    assert code == 200, text
    return {one["id"]: one["state"] for one in json.loads(text)["data"]}


def test_the_last_one_of_the_apply_is_awake_and_each_request_wakes_its_own(lab, url, key):
    before = acts(lab)
    assert lab.state() == {"chat": "stopped", "small": "serving", "fleet-gateway": "serving"}
    assert lab.ask(url, key, GPT, 200)[0] == 200
    assert states(url, key) == {GPT: "loaded", NEMOTRON: "asleep"}
    assert {node for node, _ in lab.running()} == {"node1", "node2", "node3"}
    assert lab.ask(url, key, NEMOTRON, 200)[0] == 200
    assert acts(lab) == [*before, "stop small", "start chat", "stop chat", "start small"]
    assert not lab.json("diff", "--exit-code")["changed"]


def test_many_requests_for_both_are_all_answered_with_few_switches(lab, url, key):
    before = len(acts(lab))
    with ThreadPoolExecutor(8) as pool:
        codes = pool.map(lambda at: lab.ask(url, key, (GPT, NEMOTRON)[at % 2], 300)[0], range(40))
        assert {*codes} == {200}
    assert len(acts(lab)) - before <= 12
    assert lab.state()["fleet-gateway"] == "serving"


def test_by_hand_one_is_started_and_stopped(lab):
    assert lab.json("model", "activate", "chat")["state"] == "loaded"
    assert lab.state()["chat"] == "serving"
    assert lab.json("model", "sleep", "chat")["state"] == "asleep"
    assert lab.state()["chat"] == "stopped"
    assert lab.json("model", "activate", "small")["state"] == "loaded"  # as the `apply` left it
    did = [one["command"] for one in lab.json("history")["runs"] if one["operator"] == "fleet-gateway"]
    assert did[-3:] == ["start chat", "stop chat", "start small"]
    assert "is not on demand" in lab.json("model", "sleep", "fleet-gateway", code=3)["error"]["message"]
