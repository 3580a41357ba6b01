"""LiteLLM in front of independent servers: its image, words, environment and configuration."""

import json
from typing import Any

from sparkops.core.endpoints import health_url
from sparkops.core.revision import Member, Revision

CONFIG_IN_CONTAINER = "/etc/sparkops/proxy.yml"
AUTH_IN_CONTAINER = "/etc/sparkops/sparkops_auth.py"

ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # no look-up on the internet at every start
    "LITELLM_TELEMETRY": "False",
}

AUTH = '''"""The key check of the proxy: LiteLLM's own answers 400 to a wrong key when it has no database."""

import json
import os
import secrets
from pathlib import Path

from litellm.proxy._types import ProxyException, UserAPIKeyAuth


CONFIG = Path(__file__).with_name("proxy.yml")
SERVED = json.loads(CONFIG.read_text())["model_list"][0]["model_name"]


async def check(request, api_key):
    if api_key and secrets.compare_digest(api_key.encode(), os.environ["LITELLM_MASTER_KEY"].encode()):
        return UserAPIKeyAuth(api_key=api_key, models=[SERVED])
    raise ProxyException(message="wrong or missing API key", type="auth_error", param="None", code=401)


async def anyone(request, api_key):
    return UserAPIKeyAuth(models=[SERVED])
'''
"""A module that LiteLLM imports from beside its configuration (`custom_auth`)."""

REQUEST_TIMEOUT = 3600
STREAM_TIMEOUT = 600


def words(member: Member) -> tuple[str, ...]:
    """The entry script's arguments."""
    listen = ("--host", "0.0.0.0", "--port", str(member.port))
    return ("proxy", "--health", health_url(member), "--", "litellm", "--config", CONFIG_IN_CONTAINER, *listen)


def config(revision: Revision) -> str:
    """The configuration as JSON, which LiteLLM reads as YAML. Keys stay in the environment.

    `simple-shuffle`, since the published comparison of 2x-solo has `least-busy` never best. It draws anew for every
    retry and may draw the server that is down each time, so each server is also a group of its own to fall back to.
    """
    served = revision.served
    servers = [one for one in revision.engines if one.port is not None]
    alone = [_server(revision, server, f"{served}@{server.name}") for server in servers]
    together = [_server(revision, server, served) for server in servers]
    router = {"routing_strategy": "simple-shuffle", "num_retries": 2, "allowed_fails": 1, "cooldown_time": 5}
    return json.dumps(
        {
            "model_list": [*together, *alone],
            "router_settings": {
                **router,
                "fallbacks": [{served: [one["model_name"] for one in alone]}],
                "timeout": REQUEST_TIMEOUT,
                "stream_timeout": STREAM_TIMEOUT,
            },
            "litellm_settings": {"drop_params": True, "telemetry": False},
            "general_settings": {"custom_auth": f"sparkops_auth.{'anyone' if revision.without_key else 'check'}"},
        },
        indent=1,
    )


def _server(revision: Revision, server: Member, group: str) -> dict[str, Any]:
    return {
        "model_name": group,
        "litellm_params": {
            "model": f"hosted_vllm/{revision.served}",
            "api_base": f"http://{server.address}:{server.port}/v1",
            "api_key": "none" if revision.without_key else "os.environ/VLLM_API_KEY",
            "timeout": REQUEST_TIMEOUT,
            "stream_timeout": STREAM_TIMEOUT,
        },
        "model_info": {"id": server.name if group == revision.served else group},
    }
