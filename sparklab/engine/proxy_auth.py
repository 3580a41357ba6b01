"""Access to the proxy: its master key, or a function in a file beside the configuration (`custom_auth`).

Without a database LiteLLM knows only the master key and answers 400 to any other.
"""

import asyncio
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any


class ProxyException(Exception):
    """LiteLLM's exception: a check raises it to refuse a request."""

    def __init__(self, message: str, type: str, param: str | None, code: int | str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.type = type
        self.param = param
        self.code = str(code)


class UserAPIKeyAuth:
    """A check returns it to accept a request; without `models`, the key opens all."""

    def __init__(self, api_key: str | None = None, models: Sequence[str] = (), **more: Any) -> None:
        self.api_key = api_key
        self.models = models


class CustomLogger:
    """What listens to requests, and may change what the engines are sent."""

    async def async_pre_call_hook(self, auth: UserAPIKeyAuth, cache: None, data: dict[str, Any], kind: str) -> Any:
        return data


LITELLM, PROXY_SERVER = ModuleType("litellm"), ModuleType("litellm.proxy.proxy_server")
"""Of LiteLLM's modules those that a check may change: who listens (`callbacks`), and who routes (`llm_router`)."""


class MasterKey:
    """LiteLLM's own check."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, request: Any, api_key: str) -> UserAPIKeyAuth:
        if not self.key or api_key == self.key:
            return UserAPIKeyAuth(api_key)
        if not api_key:
            raise ProxyException("Authentication Error, No api key passed in.", "auth_error", "None", 401)
        raise ProxyException("No connected db.", "no_db_connection", None, 400)


class OwnCheck:
    """`module.function` of a file beside the configuration."""

    def __init__(self, directory: str, dotted: str) -> None:
        name, _, function = dotted.rpartition(".")
        _offer_litellm()
        spec = importlib.util.spec_from_file_location(name, os.path.join(directory, *name.split(".")) + ".py")
        if spec is None or spec.loader is None:
            raise ImportError(f"Could not import {function} from {name}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.check = getattr(module, function)

    def __call__(self, request: Any, api_key: str) -> UserAPIKeyAuth:
        try:
            found: UserAPIKeyAuth = asyncio.run(self.check(request, api_key))
            return found
        except ProxyException:
            raise
        except Exception as error:
            raise ProxyException(f"Authentication Error, {error}", "auth_error", "None", 401) from error


def listened(auth: UserAPIKeyAuth, body: dict[str, Any]) -> dict[str, Any]:
    """The request as those who listen leave it; `api_key` in it is the key for the engine."""
    for one in vars(LITELLM).get("callbacks", ()):
        body = asyncio.run(one.async_pre_call_hook(auth, None, body, "completion"))
    return body


def _offer_litellm() -> None:
    """What a check imports from LiteLLM."""
    types, loggers = ModuleType("litellm.proxy._types"), ModuleType("litellm.integrations.custom_logger")
    proxy = ModuleType("litellm.proxy")
    vars(LITELLM)["callbacks"] = []
    vars(proxy)["proxy_server"] = PROXY_SERVER
    vars(types).update(ProxyException=ProxyException, UserAPIKeyAuth=UserAPIKeyAuth)
    vars(loggers)["CustomLogger"] = CustomLogger
    modules = (LITELLM, PROXY_SERVER, types, loggers, proxy, ModuleType("litellm.integrations"))
    sys.modules.update({one.__name__: one for one in modules})
