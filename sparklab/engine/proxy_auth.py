"""Access to the proxy: its master key, or a function in a file beside the configuration (`custom_auth`).

Without a database LiteLLM knows only the master key and answers 400 to any other.
"""

import asyncio
import importlib.util
import os
import sys
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
    """A check returns it to accept a request."""

    def __init__(self, api_key: str | None = None, **more: Any) -> None:
        self.api_key = api_key


class MasterKey:
    """LiteLLM's own check."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, request: Any, api_key: str) -> None:
        if not self.key or api_key == self.key:
            return
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

    def __call__(self, request: Any, api_key: str) -> None:
        try:
            asyncio.run(self.check(request, api_key))
        except ProxyException:
            raise
        except Exception as error:
            raise ProxyException(f"Authentication Error, {error}", "auth_error", "None", 401) from error


def _offer_litellm() -> None:
    """The two names that a check imports from LiteLLM."""
    names = ("litellm", "litellm.proxy", "litellm.proxy._types")
    modules = {name: ModuleType(name) for name in names}
    vars(modules[names[-1]]).update(ProxyException=ProxyException, UserAPIKeyAuth=UserAPIKeyAuth)
    sys.modules.update(modules)
