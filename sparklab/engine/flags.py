"""`vllm serve`'s command line: argparse with the options of the emulated release."""

import argparse
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

TABLE = Path(__file__).parents[1] / "data" / "vllm-0.32.0.json"
FLAG = re.compile(r"--?[A-Za-z]")
SIZE = re.compile(r"\d+(\.\d+)?[kKmMgGtT]?|-1|auto")
FACTORS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class UsageError(Exception):
    """argparse's error message; the exit code is 2."""


def human_readable_int(value: str) -> int:
    """`4096`, `32k`, `1K`; -1 for `auto`."""
    if not SIZE.fullmatch(value):
        raise ValueError(value)
    if value == "auto":
        return -1
    return int(float(value.rstrip("kKmMgGtT")) * FACTORS.get(value[-1], 1))


TYPES: dict[str, Any] = {"int": int, "float": float, "json": json.loads, "size": human_readable_int, "text": None}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: error: {message}")


def make_arg_parser(parser: argparse.ArgumentParser, build: str | None = None) -> argparse.ArgumentParser:
    """Add all options of this release, and the fork's in an image of its build."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    own = table["builds"].get(os.environ.get("SPARKLAB_KIND", "") if build is None else build, {})
    for name, entry in (table["options"] | own).items():
        if name != "--help":
            about = {"kind": entry} if isinstance(entry, str) else entry
            _add(parser, [name, *(alias for alias, full in table["short"].items() if full == name)], **about)
    return parser


def _add(
    parser: argparse.ArgumentParser, names: list[str], kind: str, nargs: str | None = None, choices: Any = None
) -> None:
    if kind == "onoff":
        parser.add_argument(*names, action=argparse.BooleanOptionalAction)
    elif kind == "bare":
        parser.add_argument(*names, action="store_true")
    else:
        read = TYPES[kind]
        parser.add_argument(*names, type=read, nargs=nargs, choices=choices and [(read or str)(one) for one in choices])


def parse(words: list[str], build: str) -> dict[str, Any]:
    """Values by dest (`max_model_len`) of what was given; if an option is repeated, the last one counts."""
    parser = make_arg_parser(_Parser("vllm serve", argument_default=argparse.SUPPRESS), build)
    found, rest = parser.parse_known_args(list(_spelled(words)))
    model = {"model_tag": rest.pop(0)} if rest and not rest[0].startswith("-") else {}
    if rest:
        raise UsageError(f"vllm: error: unrecognized arguments: {' '.join(rest)}")
    return model | vars(found)


def _spelled(words: list[str]) -> Iterator[str]:
    """Underscores of options as dashes; `--config.key value` as the JSON object `--config={"key": "value"}`."""
    rest = iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if not FLAG.match(flag):
            yield word
            continue
        name, dot, key = flag.partition(".")
        if dot:
            equals, value = "=", json.dumps({key: value if equals else next(rest, "")})
        yield name.replace("_", "-") + equals + value
