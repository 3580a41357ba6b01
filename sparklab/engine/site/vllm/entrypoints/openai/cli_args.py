"""The options of `vllm serve`, from the table of the emulated release."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parents[5] / "data" / "vllm-0.32.0.json"


def human_readable_int(value: str) -> int:
    """`1k` and the like; here only its name matters."""
    return int(value)


TYPES: dict[str, Any] = {"int": int, "float": float, "json": json.loads, "size": human_readable_int, "text": None}


def make_arg_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Every option of this release, the fork's of the image that has them."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    options = table["options"] | table["builds"].get(os.environ.get("SPARKLAB_KIND", ""), {})
    short: dict[str, list[str]] = {}
    for alias, name in table["short"].items():
        short.setdefault(name, []).append(alias)
    for name, entry in options.items():
        if name != "--help":
            about = {"kind": entry} if isinstance(entry, str) else entry
            add(parser, [name, *short.get(name, ())], about)
    return parser


def add(parser: argparse.ArgumentParser, names: list[str], about: dict[str, Any]) -> None:
    if about["kind"] == "onoff":
        parser.add_argument(*names, action=argparse.BooleanOptionalAction)
    elif about["kind"] == "bare":
        parser.add_argument(*names, action="store_true")
    else:
        given = {key: about[key] for key in ("nargs", "choices") if about.get(key)}
        parser.add_argument(*names, type=TYPES[about["kind"]], **given)
