"""LiteLLM in front of independent servers: its image, words, environment and configuration."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sparkops.core.endpoints import api_url, health_url
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

METRICS = {"callbacks": ["prometheus"], "require_auth_for_metrics_endpoint": False}
REQUEST_TIMEOUT = 3600
STREAM_TIMEOUT = 600


@dataclass(frozen=True)
class Group:
    """A model name that clients ask for, and the servers behind it, by name, with the API key that they are sent.

    The servers know the model as `served`.
    """

    name: str
    served: str
    servers: Mapping[str, str]
    key: str


def words(member: Member) -> tuple[str, ...]:
    """The entry script's arguments."""
    listen = ("--host", "0.0.0.0", "--port", str(member.port))
    return ("proxy", "--health", health_url(member), "--", "litellm", "--config", CONFIG_IN_CONTAINER, *listen)


def config(revision: Revision) -> str:
    """The configuration for the servers of this revision. Keys stay in the environment."""
    servers = {one.name: api_url(one) for one in revision.engines if one.port is not None}
    key, check = ("none", "anyone") if revision.without_key else ("os.environ/VLLM_API_KEY", "check")
    group = Group(revision.served, revision.served, servers, key)
    return configured([group], f"sparkops_auth.{check}", metrics=bool(revision.proxy_metrics))


def configured(groups: Iterable[Group], check: str, metrics: bool = False) -> str:
    """The configuration as JSON, which LiteLLM reads as YAML. `check` is the function that judges API keys.

    `metrics`: count for Prometheus, at `/metrics/` without a key, as vLLM does; the image must have prometheus_client.

    `simple-shuffle`, since the published comparison of 2x-solo has `least-busy` never best. It draws anew for every
    retry and may draw the server that is down each time, so each server is also a group of its own to fall back to.
    """
    router = {"routing_strategy": "simple-shuffle", "num_retries": 2, "allowed_fails": 1, "cooldown_time": 5}
    several = list(groups)
    together = [_server(one, name, one.name) for one in several for name in one.servers]
    alone = [_server(one, name, _alone(one, name)) for one in several for name in one.servers]
    return json.dumps(
        {
            "model_list": [*together, *alone],
            "router_settings": {
                **router,
                "fallbacks": [{one.name: [_alone(one, name) for name in one.servers]} for one in several],
                "timeout": REQUEST_TIMEOUT,
                "stream_timeout": STREAM_TIMEOUT,
            },
            "litellm_settings": {"drop_params": True, "telemetry": False, **(METRICS if metrics else {})},
            "general_settings": {
                "custom_auth": check,
                # Newer versions of LiteLLM do not start without a master key, although the check is in force.
                "dangerously_permit_weak_or_unset_master_key": True,
            },
        },
        indent=1,
    )


def _alone(group: Group, server: str) -> str:
    return f"{group.name}@{server}"


def _server(group: Group, server: str, called: str) -> dict[str, Any]:
    return {
        "model_name": called,
        "litellm_params": {
            "model": f"hosted_vllm/{group.served}",
            "api_base": f"{group.servers[server]}/v1",
            "api_key": group.key,
            "timeout": REQUEST_TIMEOUT,
            "stream_timeout": STREAM_TIMEOUT,
        },
        "model_info": {"id": server if called == group.name else called},
    }
