"""A fleet over real engines: two models on one node, one over both nodes, and one address for all."""

import threading

import anthropic
import openai
import pytest

from support.long import LONG

NODES = ("node1", "node2")
PORT = 4000
SMALL = """model: {model}
container: vllm-node-mxfp4
args:
  tensor-parallel-size: 1
  gpu-memory-utilization: {share}
  max-model-len: 2048
  max-num-seqs: {seqs}
  served-model-name: {name}
"""
FLEET = """deployments:
  first: {recipe: ./first.yml, nodes: [node1], alongside: true, allow: [memory-fits]}
  second: {recipe: ./second.yml, nodes: [node1], alongside: true, allow: [memory-fits]}
  pair: {recipe: openai-gpt-oss-120b, topology: cluster, alongside: true, allow: [memory-fits],
         set: {args.gpu-memory-utilization: 0.3, args.max-model-len: 2048}}
endpoint: {node: node1, port: 4000, names: {auto: first, large: pair}}
"""
MODELS = ("openai/gpt-oss-120b", "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8")
FIRST, SECOND, PAIR = "first", "second", "openai/gpt-oss-120b"
CLIENT = """
import sys
import openai

url, key, model, tokens = sys.argv[1:]
client = openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=240)
if model == "models":
    print(" ".join(sorted(one.id for one in client.models.list())))
elif tokens == "0":
    said = client.completions.create(model=model, prompt="Hello", max_tokens=4, extra_body={"ignore_eos": True})
    print(said.usage.completion_tokens)
else:
    asked = {"model": model, "prompt": "Hello", "max_tokens": int(tokens), "stream": True}
    usage = {"stream_options": {"include_usage": True}, "extra_body": {"ignore_eos": True}}
    parts = list(client.completions.create(**asked, **usage))
    print(parts[-1].usage.completion_tokens, *{one.finish_reason for part in parts for one in part.choices} - {None})
"""
TOKENS = 400
ALL = {"ignore_eos": True}


def write(folder, seqs):
    for name, model, most in ((FIRST, MODELS[0], 4), (SECOND, MODELS[1], seqs)):
        (folder / f"{name}.yml").write_text(SMALL.format(name=name, model=model, share=0.2, seqs=most))
    (folder / "fleet.yml").write_text(FLEET)
    return folder / "fleet.yml"


def asked(lab, model, key, tokens=0):
    """What the openai client in the endpoint's container, from its node, gets there."""
    url = f"http://{lab.address('node1')}:{PORT}/v1"
    words = ("docker", "exec", "-i", gateway(lab), "python3", "-c", CLIENT, url, key, model, str(tokens))
    done = lab.ran_on("node1", *words)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def gateway(lab):
    (found,) = [name for name in lab.containers("node1") if "-gateway-" in name]
    return found


@pytest.fixture
def fleet(lab, tmp_path):
    """All of it serves; it is loaded once for all tests."""
    if not any("-gateway-" in name for name in lab.containers("node1")):
        lab.clear()
    path = write(tmp_path, seqs=4)
    lab.json("apply", path)
    return path


class Streams(threading.Thread):
    """Streams of one model, one after the other, while it is entered."""

    def __init__(self, lab, model, key):
        super().__init__(daemon=True)
        self.lab, self.model, self.key = lab, model, key
        self.ends, self.enough = [], threading.Event()

    def run(self):
        while not self.enough.is_set():
            self.ends.append(asked(self.lab, self.model, self.key, TOKENS))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.enough.set()
        self.join(600)


def test_real_models_side_by_side_answer_at_one_address_and_streams_outlive_an_apply(lab, fleet):
    key = lab.key()
    assert asked(lab, "models", key) == " ".join(sorted((FIRST, SECOND, PAIR, "auto", "large")))
    for model in (FIRST, SECOND, PAIR, "auto", "large"):
        assert asked(lab, model, key) == "4"
    assert "401" in asked(lab, FIRST, "sk-wrong")
    assert "404" in asked(lab, "nothing", key)
    assert not lab.json("apply", fleet)["changed"]
    before = lab.everywhere()
    with Streams(lab, "auto", key) as streams:
        write(fleet.parent, seqs=8)
        changed = lab.json("apply", fleet)
    assert {one["name"] for one in changed["deployments"] if one["action"] != "none"} == {"second"}
    assert set(streams.ends) == {f"{TOKENS} length"}
    assert len(streams.ends) > 1
    after = lab.everywhere()
    replaced = {name for node in NODES for name in before[node].items() ^ after[node].items()}
    assert {name.split("-")[1] for name, _ in replaced} == {"second"}
    assert asked(lab, SECOND, key) == "4"


def test_people_ask_real_engines_with_the_clients_that_they_have(lab, fleet, eventually):
    url, hello = f"http://{lab.address('node1')}:{PORT}", [{"role": "user", "content": "Hello"}]
    key = lab.json("gateway", "key", "add", "anna", "--models", "auto,large")["key"]
    with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
        assert eventually(lambda: listed(client) == ["auto", "large"])
        for model in ("auto", "large"):
            parts = client.completions.create(model=model, prompt="Hello", max_tokens=4, stream=True, extra_body=ALL)
            assert len(list(parts)) >= 4
        with pytest.raises(openai.PermissionDeniedError):
            client.completions.create(model=SECOND, prompt="Hello")
    with anthropic.Anthropic(base_url=url, api_key=key, max_retries=0) as client:
        said = client.messages.create(model="auto", max_tokens=4, messages=hello)
        assert said.usage.output_tokens > 0
    assert eventually(lambda: used(lab, "anna")["requests"] == 3)
    assert used(lab, "anna")["tokens_out"] >= 9
    lab.json("gateway", "key", "revoke", "anna")
    with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
        assert eventually(lambda: listed(client) == [])


def listed(client):
    try:
        return [one.id for one in client.models.list()]
    except openai.AuthenticationError:
        return []


def used(lab, name):
    """What a person used, of all models."""
    rows = [one for one in lab.json("gateway", "usage")["usage"] if one["name"] == name]
    return {key: sum(one[key] for one in rows) for key in ("requests", "tokens_out")}


@LONG
def test_the_endpoint_comes_back_after_a_power_loss(lab, fleet, eventually):
    key = lab.key()
    lab.fault("node1", "power-loss")
    assert eventually(lambda: asked(lab, "auto", key) == "4")
    assert eventually(lambda: asked(lab, "large", key) == "4")
    assert eventually(lambda: lab.cli("status", code=None).code == 0)
