"""Values as text that YAML reads as themselves."""

import json
import re
from typing import Any

_PLAIN = re.compile(r"[A-Za-z][\w./-]*(?: [\w./-]+)*", re.ASCII)
"""Texts that YAML reads as themselves, but for words such as `yes`."""

_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def flow(value: Any) -> str:
    """A value in YAML's flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else json.dumps(value)
    return json.dumps(value)
