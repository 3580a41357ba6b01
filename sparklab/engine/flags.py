"""`vllm serve`'s command line, judged by the table of its release as argparse judges it."""

import json
import os
import re
from typing import Any

TABLE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "vllm-0.32.0.json")
SIZE = re.compile(r"\d+(\.\d+)?[kKmMgGtT]?|-1|auto")
FACTORS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class UsageError(Exception):
    """Argparse's last words; the exit code is 2."""


class Table:
    def __init__(self, build: str) -> None:
        with open(TABLE, encoding="utf-8") as stream:
            table = json.load(stream)
        self.options: dict[str, Any] = table["options"] | table["builds"].get(build, {})
        self.short: dict[str, str] = table["short"]

    def find(self, flag: str) -> str | None:
        """The full name of a flag as typed: underscores, short forms, `--no-`, unambiguous beginnings."""
        if flag in self.short:
            return self.short[flag]
        name = flag.replace("_", "-")
        positive = name.replace("--no-", "--", 1)
        if name in self.options:
            return name
        if positive in self.options and self.kind(positive) == "onoff":
            return positive
        starting = [option for option in self.options if option.startswith(name)]
        if len(starting) > 1:
            raise UsageError(f"vllm serve: error: ambiguous option: {flag} could match {', '.join(starting)}")
        return starting[0] if starting and len(name) > 2 else None

    def kind(self, name: str) -> str:
        entry = self.options[name]
        return entry if isinstance(entry, str) else str(entry["kind"])

    def more(self, name: str, key: str) -> Any:
        entry = self.options[name]
        return None if isinstance(entry, str) else entry.get(key)


def parse(words: list[str], build: str) -> dict[str, Any]:
    """Values by dest (`max_model_len`); a repeated option: the last one wins."""
    table = Table(build)
    found: dict[str, Any] = {}
    unknown: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            if "model_tag" in found:
                unknown.append(word)
            found.setdefault("model_tag", word)
            continue
        flag, equals, value = word.partition("=")
        flag, _, inner = flag.partition(".")
        name = table.find(flag)
        if name is None:
            unknown.append(word)
            while rest and not rest[0].startswith("-"):
                unknown.append(rest.pop(0))
            continue
        found[name[2:].replace("-", "_")] = _value(table, name, flag, inner, value if equals else None, rest)
    if unknown:
        raise UsageError(f"vllm: error: unrecognized arguments: {' '.join(unknown)}")
    return found


def _value(table: Table, name: str, flag: str, inner: str, value: str | None, rest: list[str]) -> Any:
    kind, nargs = table.kind(name), table.more(name, "nargs")
    if kind in ("bare", "onoff"):
        if value is not None:
            raise UsageError(f"vllm serve: error: argument {_shown(table, name)}: ignored explicit argument '{value}'")
        return not flag.startswith("--no-")
    if nargs == "+":
        values = [] if value is None else [value]
        while value is None and rest and not _is_flag(rest[0]):
            values.append(rest.pop(0))
        return [_typed(table, name, kind, item) for item in values] or _missing(table, name)
    if value is None:
        if not rest or _is_flag(rest[0]):
            return None if nargs == "?" else _missing(table, name)
        value = rest.pop(0)
    return {inner: value} if inner else _typed(table, name, kind, value)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not re.fullmatch(r"-\d+(\.\d+)?", word)


def _missing(table: Table, name: str) -> Any:
    raise UsageError(f"vllm serve: error: argument {_shown(table, name)}: expected one argument")


def _shown(table: Table, name: str) -> str:
    short = [alias for alias, target in table.short.items() if target == name]
    return "/".join([name, *short])


def _typed(table: Table, name: str, kind: str, value: str) -> Any:
    try:
        result = _convert(kind, value)
    except ValueError:
        told = {"int": "int", "float": "float", "size": "human_readable_int", "json": "loads"}[kind]
        raise UsageError(
            f"vllm serve: error: argument {_shown(table, name)}: invalid {told} value: '{value}'"
        ) from None
    choices = table.more(name, "choices")
    if choices and str(value) not in choices:
        listed = ", ".join(f"'{choice}'" for choice in choices)
        raise UsageError(
            f"vllm serve: error: argument {_shown(table, name)}: invalid choice: '{value}' (choose from {listed})"
        )
    return result


def _convert(kind: str, value: str) -> Any:
    match kind:
        case "int":
            return int(value)
        case "float":
            return float(value)
        case "json":
            return json.loads(value)
        case "size":
            return size(value)
    return value


def size(value: str) -> int:
    """`4096`, `32k`, `1K`; -1 for `auto`."""
    if not SIZE.fullmatch(value):
        raise ValueError(value)
    if value == "auto":
        return -1
    factor = FACTORS.get(value[-1], 1)
    return int(float(value.rstrip("kKmMgGtT")) * factor)
