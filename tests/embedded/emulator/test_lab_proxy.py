"""The emulated LiteLLM in front of two engines: shares, retries elsewhere, asks for the key."""

from __future__ import annotations

import json

import pytest

from support import serving

KEY = "sk-master"
IMAGE = "ghcr.io/berriai/litellm:main-stable"
NAME = "gpt-oss-120b"


def config(addresses, **router):
    models = [
        {
            "model_name": NAME,
            "litellm_params": {
                "model": f"hosted_vllm/{serving.GPT}",
                "api_base": f"http://{address}:8000/v1",
                "api_key": "os.environ/BACKEND_KEY",
            },
            "model_info": {"id": f"spark-{number}"},
        }
        for number, address in enumerate(addresses, start=1)
    ]
    settings = {"routing_strategy": "simple-shuffle", "num_retries": 2, "timeout": 60, "cooldown_time": 1, **router}
    general = {"master_key": "os.environ/LITELLM_MASTER_KEY"}
    return json.dumps({"model_list": models, "router_settings": settings, "general_settings": general})


def proxy(client, text, *more):
    client.run("mkdir -p ~/left && cat > ~/left/proxy.yml", stdin=text)
    words = f"{IMAGE} litellm --config /etc/sparkops/proxy.yml --host 0.0.0.0 --port 4000 {' '.join(more)}"
    secrets = f"-e LITELLM_MASTER_KEY={KEY} -e BACKEND_KEY=sk-backend"
    mount = '-v "$HOME/left/proxy.yml:/etc/sparkops/proxy.yml:ro"'
    return client.run(
        f"docker run {'--rm' if more else '-d'} --name proxy --network host {secrets} {mount} --entrypoint= {words}"
    )


@pytest.fixture
def pair(lab, eventually):
    """Two engines with a key, and the proxy on the first node."""
    clients = [lab.connect(1), lab.connect(2)]
    for client in clients:
        serving.serve(client, serving.STOCK, serving.GPT, *serving.SMALL, "--api-key", "sk-backend")
    assert proxy(clients[0], config([client.address for client in clients])).code == 0
    address = clients[0].address
    eventually(lambda: serving.ask(address, "/health/readiness", port=4000)[0] == 200)
    eventually(lambda: all(serving.healthy(client.address) for client in clients))
    return clients


def ask(pair, **more):
    return serving.chat(pair[0].address, model=NAME, key=KEY, port=4000, **more)


def served(client):
    lines = serving.ask(client.address, "/metrics")[1].splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("vllm:request_success_total"))


def test_both_engines_get_requests_under_the_proxys_own_name(pair, eventually):
    models = json.loads(serving.ask(pair[0].address, "/v1/models", key=KEY, port=4000)[1])
    assert [model["id"] for model in models["data"]] == [NAME]
    answers = [ask(pair) for _ in range(16)]
    assert {status for status, _ in answers} == {200}
    assert json.loads(answers[0][1])["model"] == NAME
    eventually(lambda: served(pair[0]) + served(pair[1]) == 16)  # an engine counts after it has answered
    assert all(served(client) > 0 for client in pair)


def test_streams_pass_through_event_by_event(pair):
    status, text = ask(pair, stream=True)
    assert status == 200
    assert text.strip().endswith("data: [DONE]")
    assert text.count("data: ") == 6


def test_requests_go_on_when_an_engine_is_killed_and_come_back_to_it(lab, pair, eventually):
    lab.fault(2, "engine-killed")
    assert [ask(pair)[0] for _ in range(12)] == [200] * 12
    eventually(lambda: serving.ended(pair[1]) is not None)
    pair[1].docker("start", "e")
    eventually(lambda: serving.healthy(pair[1].address))
    eventually(lambda: ask(pair)[0] == 200 and served(pair[1]) > 0)


def test_no_key_is_refused_and_a_wrong_one_asks_for_a_database(pair):
    assert serving.chat(pair[0].address, model=NAME, port=4000)[0] == 401
    status, text = serving.chat(pair[0].address, model=NAME, key="sk-wrong", port=4000)
    assert (status, "No connected db." in text) == (400, True)
    assert serving.ask(pair[0].address, "/health/liveliness", port=4000) == (200, "I'm alive!")


def test_health_asks_every_engine_while_readiness_asks_none(lab, pair):
    pair[1].docker("kill", "e")
    health = json.loads(serving.ask(pair[0].address, "/health", key=KEY, port=4000)[1])
    assert (health["healthy_count"], health["unhealthy_count"]) == (1, 1)
    pair[0].docker("kill", "e")
    assert serving.ask(pair[0].address, "/health/readiness", port=4000)[0] == 200
    status, text = ask(pair)
    assert (status, "litellm.InternalServerError" in text) == (500, True)


CHECK = """
from litellm.proxy._types import ProxyException, UserAPIKeyAuth


async def check(request, api_key):
    if api_key == "sk-mine":
        return UserAPIKeyAuth(api_key=api_key)
    raise ProxyException(message="not yours", type="auth_error", param="None", code=401)
"""


def test_a_check_of_ones_own_beside_the_configuration_decides(node, eventually):
    own = json.loads(config([node.address]))
    own["general_settings"] = {"custom_auth": "doorman.check"}
    node.run("mkdir -p ~/left && cat > ~/left/doorman.py", stdin=CHECK)
    node.run("cat > ~/left/proxy.yml", stdin=json.dumps(own))
    mount = '-v "$HOME/left/proxy.yml:/etc/p/proxy.yml:ro" -v "$HOME/left/doorman.py:/etc/p/doorman.py:ro"'
    words = "litellm --config /etc/p/proxy.yml --host 0.0.0.0 --port 4000"
    assert node.run(f"docker run -d --network host {mount} --entrypoint= {IMAGE} {words}").code == 0
    eventually(lambda: serving.ask(node.address, "/health/readiness", port=4000)[0] == 200)
    assert serving.ask(node.address, "/v1/models", key="sk-mine", port=4000)[0] == 200
    status, text = serving.ask(node.address, "/v1/models", key="sk-other", port=4000)
    assert (status, json.loads(text)["error"]["message"]) == (401, "not yours")


def test_an_unknown_strategy_is_refused_by_the_config_check(node):
    good = proxy(node, config(["127.0.0.9"]), "--validate_config")
    assert (good.code, good.out) == (0, "LiteLLM: config OK (1 models)\n")
    bad = proxy(node, config(["127.0.0.9"], routing_strategy="bogus"), "--validate_config")
    assert bad.code == 1
    assert "Invalid routing_strategy: 'bogus'" in bad.err
