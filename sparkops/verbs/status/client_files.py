"""What a client that reads a file, not variables, needs in it."""

from collections.abc import Callable
from typing import Any

import yaml

from sparkops.verbs.status.options import Client

ROLES = {"chat": ["chat", "edit", "apply"], "completion": ["autocomplete"], "embedding": ["embed"], "score": ["rerank"]}
"""What Continue uses a model for, by its kind (docs.continue.dev/reference)."""

Made = Callable[[str, str, str, str], dict[str, Any]]


def _continue(url: str, key: str, model: str, kind: str) -> dict[str, Any]:
    entry = {"name": model, "provider": "openai", "model": model, "apiBase": url, "apiKey": key, "roles": ROLES[kind]}
    return {"name": "sparkops", "version": "1.0.0", "schema": "v1", "models": [entry]}


def _litellm(url: str, key: str, model: str, _kind: str) -> dict[str, Any]:
    parameters = {"model": f"hosted_vllm/{model}", "api_base": url, "api_key": key}
    return {"model_list": [{"model_name": model, "litellm_params": parameters}]}


FILES: dict[Client, tuple[str, Made]] = {
    "continue": ("~/.continue/config.yaml", _continue),
    "litellm": ("config.yaml", _litellm),
}
"""By client: the file, and what makes it of base URL, key, model and kind."""


def file_of(client: Client, url: str, key: str, model: str, kind: str) -> dict[str, str] | None:
    """Path and YAML text of the client's file; None if it reads variables."""
    if client not in FILES:
        return None
    path, made = FILES[client]
    return {"path": path, "text": yaml.safe_dump(made(url, key, model, kind), sort_keys=False)}
