"""The part of Go templates that people use with docker: `{{.A.B}}`, `{{json .A}}`, `{{index .A "k"}}`."""

import json
import re
from typing import Any

from sparklab.fake_docker.errors import DockerError

ACTION = re.compile(r"\{\{\s*(.*?)\s*\}\}")
WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')


def option(words: list[str]) -> str:
    """Take `--format T`, `--format=T`, `-f T` out of the words; empty if there is none."""
    for place, word in enumerate(words):
        if word in ("--format", "-f") and place + 1 < len(words):
            form = words[place + 1]
            del words[place : place + 2]
            return "{{json .}}" if form == "json" else form
        if word.startswith("--format="):
            del words[place]
            form = word.partition("=")[2]
            return "{{json .}}" if form == "json" else form
    return ""


def render(form: str, value: Any) -> str:
    return ACTION.sub(lambda match: _action(match[1], value), form.replace("\\t", "\t").replace("\\n", "\n"))


def _action(text: str, value: Any) -> str:
    words = WORDS.findall(text)
    if words[0] == "json":
        return json.dumps(_path(words[1], value), separators=(",", ":"))
    if words[0] == "index":
        found = _path(words[1], value)
        for key in words[2:]:
            found = _key(found, key.strip('"'))
        return _plain("" if found is None else found)
    if words[0].startswith("."):
        return _plain(_path(words[0], value))
    raise DockerError(f'template parsing error: template: :1: function "{words[0]}" not defined', 64)


def _path(path: str, value: Any) -> Any:
    for key in path.strip(".").split("."):
        if key:
            if not isinstance(value, dict) or key not in value:
                raise DockerError(f'template: :1:2: executing "" at <{path}>: map has no entry for key "{key}"')
            value = value[key]
    return value


def _key(value: Any, key: str) -> Any:
    if isinstance(value, list):
        return value[int(key)]
    return value.get(key) if isinstance(value, dict) else None


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "<no value>"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_plain(item)}" for key, item in sorted(value.items())) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_plain(item) for item in value) + "]"
    return str(value)
