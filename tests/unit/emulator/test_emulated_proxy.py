"""The emulated LiteLLM in front of two engines of this process: shares, retries elsewhere, asks for the key."""

import contextlib
import io
import json
import os
import random
import sys
from unittest.mock import patch

import pytest

from sparklab.engine import http, litellm
from sparklab.engine.proxy import Router, handler
from sparklab.engine.proxy_config import Config
from support.emulated import opened
from support.serving import (
    BACKEND,
    GPT,
    PROXY_NAME,
    PROXY_PORT,
    SMALL,
    STOCK,
    ask_proxy,
    chat_proxy,
    proxy_config,
    served,
)

CHECK = """
from litellm.proxy._types import ProxyException, UserAPIKeyAuth


async def check(request, api_key):
    if api_key == "sk-mine":
        return UserAPIKeyAuth(api_key=api_key)
    raise ProxyException(message="not yours", type="auth_error", param="None", code=401)
"""


@pytest.fixture
def proxy(nodes):
    """Opens a proxy with a configuration on the first node."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, BACKEND))
        stack.enter_context(patch.dict(sys.modules))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))

        def begin(wishes):
            path = nodes.place / "proxy.yml"
            path.write_text(json.dumps(wishes))
            servers = http.listen(nodes.one, nodes.one.address, PROXY_PORT, handler(Router(Config(str(path)))))
            stack.enter_context(opened(servers))
            return nodes.one.address

        yield begin


@pytest.fixture
def engines(nodes):
    """Two engines with a key; one of them ends when the test says so."""
    with contextlib.ExitStack() as first, contextlib.ExitStack() as second:
        flags = (GPT, *SMALL, "--api-key", "sk-backend")
        first.enter_context(nodes.serves(STOCK, *flags))
        second.enter_context(nodes.serves(STOCK, *flags, node=nodes.two))
        yield first, second


@pytest.fixture
def addresses(nodes):
    return [nodes.one.address, nodes.two.address]


def test_both_engines_get_requests_under_the_proxys_own_name(proxy, engines, addresses):
    address = proxy(proxy_config(addresses))
    models = json.loads(ask_proxy(address, "/v1/models")[1])
    assert [model["id"] for model in models["data"]] == [PROXY_NAME]
    random.seed(1)
    answers = [chat_proxy(address) for _ in range(16)]
    assert {status for status, _ in answers} == {200}
    assert json.loads(answers[0][1])["model"] == PROXY_NAME
    assert all(served(one) > 0 for one in addresses)


def test_streams_pass_through_event_by_event(proxy, engines, addresses):
    status, text = chat_proxy(proxy(proxy_config(addresses)), stream=True)
    assert (status, text.count("data: ")) == (200, 6)
    assert text.strip().endswith("data: [DONE]")


def test_no_key_is_refused_and_a_wrong_one_asks_for_a_database(proxy, addresses):
    address = proxy(proxy_config(addresses))
    assert chat_proxy(address, key=None)[0] == 401
    status, text = chat_proxy(address, key="sk-wrong")
    assert (status, "No connected db." in text) == (400, True)
    assert ask_proxy(address, "/health/liveliness", key=None) == (200, "I'm alive!")


def test_requests_go_on_without_an_engine_and_health_alone_asks_every_one(proxy, engines, addresses):
    address = proxy(proxy_config(addresses))
    engines[1].close()
    assert [chat_proxy(address)[0] for _ in range(12)] == [200] * 12
    health = json.loads(ask_proxy(address, "/health")[1])
    assert (health["healthy_count"], health["unhealthy_count"]) == (1, 1)
    engines[0].close()
    assert ask_proxy(address, "/health/readiness")[0] == 200
    status, text = chat_proxy(address)
    assert (status, "litellm.InternalServerError" in text) == (500, True)


def test_what_failed_is_left_out_until_it_has_cooled_down(tmp_path, addresses):
    (tmp_path / "proxy.yml").write_text(json.dumps(proxy_config(addresses, cooldown_time=3600)))
    router = Router(Config(str(tmp_path / "proxy.yml")))
    first, second = router.config.deployments
    random.seed(1)
    assert {router.tries(PROXY_NAME)[0].id for _ in range(16)} == {"spark-1", "spark-2"}
    router.failed(second)
    assert set(router.tries(PROXY_NAME)) == {first}
    second.cold_until = 0.0
    assert {one.id for one in router.tries(PROXY_NAME)} == {"spark-1", "spark-2"}


def test_a_check_of_ones_own_beside_the_configuration_decides(nodes, proxy, addresses):
    (nodes.place / "doorman.py").write_text(CHECK)
    address = proxy(proxy_config(addresses) | {"general_settings": {"custom_auth": "doorman.check"}})
    assert ask_proxy(address, "/v1/models", key="sk-mine")[0] == 200
    status, text = ask_proxy(address, "/v1/models", key="sk-other")
    assert (status, json.loads(text)["error"]["message"]) == (401, "not yours")


def test_an_unknown_strategy_is_refused_by_the_config_check(nodes, addresses, capsys):
    for strategy, code, told in (
        ("simple-shuffle", 0, "LiteLLM: config OK (2 models)"),
        ("bogus", 1, "Invalid routing_strategy: 'bogus'"),
    ):
        (nodes.place / "proxy.yml").write_text(json.dumps(proxy_config(addresses, routing_strategy=strategy)))
        with patch.dict(os.environ, SPARKOPS_ROOT=str(nodes.place)):
            assert litellm.main("litellm", ["--config", "/proxy.yml", "--validate_config"]) == code
        assert told in "".join(capsys.readouterr())
