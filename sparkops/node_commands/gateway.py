"""LiteLLM as the endpoint of a fleet: its configuration, and the module that knows the keys and reads it again."""

import hashlib
from collections.abc import Sequence

from sparkops.core.endpoints import api_url
from sparkops.core.fleet.routes import ModelRoute, by_key
from sparkops.node_commands.proxy import Group, configured

CONFIG = "proxy.yml"
MODULE_FILE = "sparkops_gateway.py"

MODULE = '''"""The endpoint of a fleet: checks API keys, hands them on, and follows its configuration without a restart.

Each engine checks the key itself, so none is stored here; the configuration has only digests.
"""

import contextlib
import hashlib
import json
from pathlib import Path

import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy import proxy_server
from litellm.proxy._types import ProxyException, UserAPIKeyAuth

CONFIG = Path(__file__).with_name("proxy.yml")


class Gateway(CustomLogger):
    """`models` are the model names that each key opens, by its digest; `keys` the keys that clients have sent."""

    def __init__(self):
        super().__init__()
        self.text = CONFIG.read_text()
        self.models = json.loads(self.text)["sparkops"]["models"]
        self.keys = {}

    def refresh(self):
        """Route by the configuration as it is now. A stream that is under way stays with the router that it has."""
        text = CONFIG.read_text()
        if text == self.text:
            return
        self.text = text
        try:
            config = json.loads(text)
            models = config["sparkops"]["models"]
            router = litellm.Router(model_list=config["model_list"], **config["router_settings"])
        except Exception as error:
            print(f"sparkops: keeps its routes: {CONFIG.name} cannot be used: {error!r}", flush=True)
            return
        self.models = models
        before, proxy_server.llm_router = proxy_server.llm_router, router
        proxy_server.llm_model_list = config["model_list"]
        with contextlib.suppress(Exception):
            before.discard()

    def opened(self, key):
        """The digest of a key, and the model names that it opens."""
        digest = hashlib.sha256(key.encode()).hexdigest() if key else ""
        if digest in self.models:
            self.keys[digest] = key
        return digest, [*self.models.get("", ()), *(self.models.get(digest, ()) if digest else ())]

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        if data.get("model") not in user_api_key_dict.models:
            told = f"there is no model {data.get('model')} for this API key; /v1/models lists those that there are"
            raise ProxyException(message=told, type="invalid_request_error", param="model", code=404)
        for name in [one for one in data if one.endswith("fallbacks") or one in ("api_base", "base_url")]:
            del data[name]  # these would take the client's key to other engines
        data["api_key"] = self.keys.get(user_api_key_dict.api_key) or "none"
        return data


gateway = Gateway()
litellm.callbacks.append(gateway)


async def check(request, api_key):
    gateway.refresh()
    digest, models = gateway.opened(api_key)
    if not models:
        raise ProxyException(message="wrong or missing API key", type="auth_error", param="None", code=401)
    return UserAPIKeyAuth(api_key=digest, models=models)
'''
"""A module that LiteLLM imports from beside its configuration (`custom_auth`)."""

CHECK = hashlib.sha256(MODULE.encode()).hexdigest()[:12]
"""Stands for the module in a revision, so that another one replaces the container."""


def config(routes: Sequence[ModelRoute]) -> str:
    """The configuration as JSON, which LiteLLM reads as YAML; it holds no key."""
    return configured(map(_group, routes), "sparkops_gateway.check", {"sparkops": {"models": by_key(routes)}})


def _group(route: ModelRoute) -> Group:
    """LiteLLM wants another id for each server of each name."""
    servers = {f"{name}/{one.name}/{route.name}": api_url(one) for name, one in route.servers}
    return Group(route.name, route.served, servers, key="none")
