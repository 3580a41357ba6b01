"""LiteLLM's configuration file: the part of it that a proxy in front of a few engines needs."""

import os
from collections.abc import Callable
from typing import Any

import yaml

from sparklab import files
from sparklab.engine.proxy_auth import MasterKey, OwnCheck

STRATEGIES = [
    "simple-shuffle", "lar1", "least-busy", "latency-based-routing", "cost-based-routing", "usage-based-routing-v2",
    "usage-based-routing", "provider-budget-routing",
]  # fmt: skip


class ConfigError(Exception):
    """What LiteLLM prints before it exits."""


class Deployment:
    """One backend of a model name."""

    def __init__(self, entry: dict[str, Any], number: int) -> None:
        parameters = entry["litellm_params"]
        self.name: str = entry["model_name"]
        self.id: str = str(entry.get("model_info", {}).get("id") or f"deployment-{number}")
        self.model: str = str(parameters["model"]).partition("/")[2]
        self.base: str = str(parameters.get("api_base", "")).rstrip("/")
        self.key: str = secret(parameters.get("api_key", ""))
        self.failures = 0
        self.cold_until = 0.0


class Config:
    def __init__(self, path: str) -> None:
        text = files.read(path, "\0")
        if text == "\0":
            raise ConfigError(f"Exception: Config file not found: {path}")
        raw = yaml.safe_load(text) or {}
        router, general = raw.get("router_settings") or {}, raw.get("general_settings") or {}
        lite = raw.get("litellm_settings") or {}
        self.deployments = [Deployment(entry, number) for number, entry in enumerate(raw.get("model_list") or [])]
        self.strategy: str = router.get("routing_strategy", "simple-shuffle")
        if self.strategy not in STRATEGIES:
            raise ConfigError(f"Invalid routing_strategy: '{self.strategy}'. Valid options: {STRATEGIES}")
        self.retries = int(router.get("num_retries", lite.get("num_retries", 2)))
        self.timeout = float(router.get("timeout", lite.get("request_timeout", 6000)))
        self.stream_timeout = float(router.get("stream_timeout", self.timeout))
        self.allowed_fails = int(router.get("allowed_fails", 3))
        self.cooldown = float(router.get("cooldown_time", 5))
        self.check = _check(os.path.dirname(path), general)


def _check(directory: str, general: dict[str, Any]) -> Callable[[Any, str], None]:
    if own := general.get("custom_auth"):
        try:
            return OwnCheck(directory, own)
        except (ImportError, AttributeError, OSError) as error:
            raise ConfigError(f"ImportError: Could not import {own}: {error}") from error
    return MasterKey(secret(general.get("master_key", "") or os.environ.get("LITELLM_MASTER_KEY", "")))


def secret(value: Any) -> str:
    """`os.environ/NAME` stands for that variable."""
    text = str(value or "")
    return os.environ.get(text.removeprefix("os.environ/"), "") if text.startswith("os.environ/") else text
