"""One address for two deployments: which key opens which model, and what goes on while an apply changes the rest."""

import http.client
import json
import os
import signal
from urllib.parse import urlsplit

import pytest

from support import serving

SMALL = "recipe: nemotron-3-nano-nvfp4, nodes: [node3], set: {args.gpu-memory-utilization: 0.4"
CHAT = "recipe: openai-gpt-oss-120b, topology: cluster, nodes: [node1, node2]"
FLEET = {"chat": CHAT, "small": SMALL + "}"}
CHANGED = {**FLEET, "small": SMALL + ", args.max-num-seqs: 4}"}
GPT, NEMOTRON = "openai/gpt-oss-120b", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"
TOKENS = 20000
PEOPLE = {"anna": (), "bob": ("--models", "auto", "--rpm", "3"), "carl": ("--parallel", "1")}


@pytest.fixture(scope="module")
def lab(lab_with):
    found = lab_with(nodes=3, speed=60)
    write(found, FLEET)
    found.json("apply", "--setup")
    return found


def write(lab, fleet, endpoint="node: node3, names: {auto: chat}"):
    lines = [f"  {name}: {{{text}}}" for name, text in fleet.items()]
    (lab.work / "fleet.yml").write_text("\n".join(["deployments:", *lines, f"endpoint: {{{endpoint}}}", ""]))


@pytest.fixture
def url(lab):
    return lab.json("diff")["endpoint"]["url"]


def models(url, key):
    code, text = serving.request(f"{url}/models", None, key, 30)
    return [one["id"] for one in json.loads(text)["data"]] if code == 200 else code


def test_one_address_answers_for_every_model_name(lab, url):
    key = lab.json("key", "--deployment", "chat")["key"]
    served = models(url, key)
    assert {GPT, "auto"} <= set(served)
    for model in served:
        assert lab.ask(url, key, model)[0] == 200
    assert lab.ask(url, key, "nothing")[0] == 404
    assert lab.ask(url, "sk-wrong", GPT)[0] == 401
    assert lab.json("endpoint", "chat", "--for", "openai")["variables"]["OPENAI_BASE_URL"] == url
    assert lab.state() == dict.fromkeys((*FLEET, "fleet-gateway"), "serving")


class Stream:
    """A streamed answer of which only the beginning is read until `rest`."""

    def __init__(self, url, key, model):
        place = urlsplit(url)
        self.link = http.client.HTTPConnection(place.hostname, place.port, timeout=120)
        asked = {"model": model, "prompt": "Hello", "max_tokens": TOKENS, "stream": True, "ignore_eos": True}
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self.link.request("POST", f"{place.path}/completions", json.dumps(asked), headers)
        self.answer = self.link.getresponse()
        self.first = self.answer.readline()

    def rest(self):
        text = self.answer.read().decode()
        self.link.close()
        return text.count("data: ") + 1, text.rstrip().endswith("data: [DONE]")


def test_a_stream_goes_on_while_an_apply_replaces_another_deployment_and_its_routes_change(lab, url):
    before = {(node, name): at for (node, name), at in lab.starts().items() if "small" not in name}
    stream = Stream(url, lab.json("key", "--deployment", "chat")["key"], "auto")
    write(lab, CHANGED, "node: node3, names: {auto: chat, quick: small}")
    found = lab.json("apply")
    assert found["endpoint"]["action"] == "routes"
    assert stream.rest() == (TOKENS + 1, True)
    assert before.items() <= lab.starts().items(), "the endpoint did not restart"
    assert lab.ask(url, lab.json("key", "--deployment", "small")["key"], "quick")[0] == 200
    assert not lab.json("apply")["changed"]


def test_it_comes_back_after_its_node_lost_power(lab, url, until):
    lab.fault("node3", "reboot")
    key = lab.json("key", "--deployment", "chat")["key"]
    assert until(lambda: models(url, key) != [] and lab.ask(url, key, "auto")[0] == 200)


def used(lab, name, what):
    """What a person used, of all models."""
    return sum(one[what] for one in lab.json("gateway", "usage")["usage"] if one["name"] == name)


def test_people_have_keys_with_limits_and_a_revoked_one_ends_alone(lab, url, until):
    made = {name: lab.json("gateway", "key", "add", name, *limits)["key"] for name, limits in PEOPLE.items()}
    assert until(lambda: models(url, made["carl"]) != 401)
    assert models(url, made["bob"]) == ["auto"]
    assert lab.ask(url, made["anna"], GPT)[0] == 200
    assert lab.ask(url, made["bob"], GPT)[0] == 403
    assert [lab.ask(url, made["bob"], "auto")[0] for _ in range(3)] == [200, 200, 429]
    hers, others = Stream(url, made["anna"], "auto"), Stream(url, made["carl"], "auto")
    lab.json("gateway", "key", "revoke", "anna")
    assert until(lambda: models(url, made["anna"]) == 401)
    assert not hers.rest()[1], "her stream ended"
    assert others.rest() == (TOKENS + 1, True)
    assert until(lambda: used(lab, "carl", "tokens_out") == TOKENS)
    assert used(lab, "bob", "requests") == 2


def test_keys_and_what_was_used_outlive_a_killed_endpoint(lab, url, until):
    first = lab.json("gateway", "key", "add", "dora", "--models", "auto", "--rpm", "1")["key"]
    assert until(lambda: models(url, first) == ["auto"])
    assert [lab.ask(url, first, "auto")[0] for _ in range(2)] == [200, 429]
    key = lab.json("gateway", "key", "rotate", "dora")["key"]
    assert until(lambda: used(lab, "dora", "refused") == 1)
    before = lab.json("gateway", "usage")["usage"]
    (name,) = (name for node, name in lab.running() if "-gateway-" in name)
    os.kill(int(lab.on("node3", "docker", "inspect", "--format", "{{.State.Pid}}", name)), signal.SIGKILL)
    assert until(lambda: models(url, key) == ["auto"])
    assert lab.json("gateway", "usage")["usage"] == before
    assert "dora" in [one["name"] for one in lab.json("gateway", "key", "list")["keys"]]
