"""The emulated LiteLLM in its container, before two engines; what it decides is in tests/unit/emulator."""

from __future__ import annotations

import json

from support import serving
from support.serving import BACKEND, GPT, PROXY_PORT, SMALL, STOCK, ask_proxy, chat_proxy, served

IMAGE = "ghcr.io/berriai/litellm:main-stable"


def test_requests_are_shared_go_on_when_an_engine_is_killed_and_come_back_to_it(lab, eventually):
    pair = [lab.connect(1), lab.connect(2)]
    one, two = (client.address for client in pair)
    for client in pair:
        serving.serve(client, STOCK, GPT, *SMALL, "--api-key", "sk-backend")
    pair[0].run("mkdir -p ~/left && cat > ~/left/proxy.yml", stdin=json.dumps(serving.proxy_config([one, two])))
    secrets = " ".join(f"-e {name}={value}" for name, value in BACKEND.items())
    mount = '-v "$HOME/left/proxy.yml:/etc/sparkops/proxy.yml:ro"'
    words = f"litellm --config /etc/sparkops/proxy.yml --host 0.0.0.0 --port {PROXY_PORT}"
    line = f"docker run -d --name proxy --network host {secrets} {mount} --entrypoint= {IMAGE} {words}"
    assert pair[0].run(line).code == 0
    eventually(lambda: ask_proxy(one, "/health/readiness")[0] == 200)
    eventually(lambda: all(serving.healthy(client.address) for client in pair))
    assert [chat_proxy(one)[0] for _ in range(16)] == [200] * 16
    eventually(lambda: served(one) + served(two) == 16)  # an engine counts after it has answered
    lab.fault(2, "engine-killed")
    assert [chat_proxy(one)[0] for _ in range(12)] == [200] * 12
    eventually(lambda: serving.ended(pair[1]) is not None)
    health = json.loads(ask_proxy(one, "/health")[1])
    assert (health["healthy_count"], health["unhealthy_count"]) == (1, 1)
    pair[1].docker("start", "e")
    eventually(lambda: serving.healthy(two))
    eventually(lambda: chat_proxy(one)[0] == 200 and served(two) > 0)
