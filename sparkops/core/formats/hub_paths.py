"""Paths in the hub cache, which sparkrun mounts at `/cache/huggingface`, sparkops where the hub's tools expect it."""

import re
from collections.abc import Mapping
from typing import Any

from sparkops.core.formats.commandline import Serving
from sparkops.core.recipe import MOUNTS, Caveat, Setting

THEIRS, OURS = "/cache/huggingface", MOUNTS["huggingface"][1]
_THEIRS = re.compile(rf"(?<![\w/.-]){THEIRS}(?![\w.-])")
_SNAPSHOT = re.compile(
    rf"(?:{THEIRS}|{OURS})(?:/hub)?/models--(?P<owner>[\w.-]+?)--(?P<name>[\w.-]+)/snapshots/(?P<commit>[0-9a-f]{{40}})/?"
)


def mapped(found: Serving, env: Mapping[str, Setting]) -> tuple[Serving, str | None, dict[str, Setting]]:
    """The engine, the revision of its model and the variables, with every path where sparkops has it."""
    names = [name for name, one in {**env, **found.args}.items() if _moved(one.value) != one.value]
    revision = _model(found)
    found.args = {name: Setting(_moved(_draft(name, one.value)), one.origin) for name, one in found.args.items()}
    if names:
        first = {**env, **found.args}[names[0]].origin
        said = f"{THEIRS} is {OURS} in containers of sparkops; changed in: {', '.join(names)}"
        found.caveats.append(Caveat(first, said))
    return found, revision, {name: Setting(_moved(one.value), one.origin) for name, one in env.items()}


def _model(found: Serving) -> str | None:
    """Name the model of a snapshot's path, and return its commit."""
    if snapshot := _SNAPSHOT.fullmatch(found.model):
        found.model = f"{snapshot['owner']}/{snapshot['name']}"
        said = f"the model is served as {found.model}@{snapshot['commit'][:12]}, not by its path in the hub cache"
        found.caveats.append(Caveat(found.model_at, said))
        return snapshot["commit"]
    found.model = str(_moved(found.model))
    return None


def _draft(name: str, value: Any) -> Any:
    """`speculative-config` with the name of a draft model in place of a snapshot's path."""
    path = value.get("model") if name == "speculative-config" and isinstance(value, Mapping) else None
    snapshot = _SNAPSHOT.fullmatch(path) if isinstance(path, str) else None
    if snapshot is None:
        return value
    return {**value, "model": f"{snapshot['owner']}/{snapshot['name']}", "revision": snapshot["commit"]}


def _moved(value: Any) -> Any:
    if isinstance(value, str):
        return _THEIRS.sub(OURS, value)
    if isinstance(value, Mapping):
        return {key: _moved(item) for key, item in value.items()}
    return [_moved(item) for item in value] if isinstance(value, list) else value
