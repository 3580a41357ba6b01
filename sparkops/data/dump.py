"""Runs inside an image: prints every option of its `vllm serve` as one line of JSON, read from its own parser.

`docker run --rm --entrypoint= IMAGE python3 -c "$(cat dump.py)"`, some 15 seconds, no GPU needed. What imports print is
not ours, so the line has a mark before it. `python -m sparkops.data.compact` makes a table of it.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

MARK = "sparkops-flags 1 "
PARSERS = ("vllm.utils.argparse_utils", "vllm.utils")
OPTIONS = ("vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")
REGISTERED = {
    "--tool-call-parser": (("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers"), "ToolParserManager"),
    "--reasoning-parser": (("vllm.reasoning",), "ReasoningParserManager"),
}
"""Where the names are registered that an option takes although its parser has no choices."""


def found(modules: tuple[str, ...], name: str) -> Any:
    """The first of the places where versions have put a thing."""
    missing = []
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            missing.append(f"{module}: {error}")
    raise SystemExit(f"this image has no {name}: {'; '.join(missing)}")


def option(action: Any) -> dict[str, Any]:
    kind = getattr(action.type, "__name__", str(action.type)) if action.type else None
    choices = [str(choice) for choice in action.choices or registered(action.option_strings)] or None
    about = {"flags": list(action.option_strings), "nargs": action.nargs, "kind": type(action).__name__}
    return {**about, "type": kind, "choices": choices}


def registered(names: list[str]) -> list[str]:
    places = [REGISTERED[name] for name in names if name in REGISTERED]
    try:
        return sorted(name for place in places for name in found(*place).list_registered())
    except (SystemExit, AttributeError, TypeError):  # a version that registers them in another way
        return []


def main() -> None:
    parser = found(OPTIONS, "make_arg_parser")(found(PARSERS, "FlexibleArgumentParser")(prog="vllm serve"))
    options = [option(action) for action in parser._actions if action.option_strings]
    version = getattr(importlib.import_module("vllm"), "__version__", "unknown")
    sys.stdout.write("\n" + MARK + json.dumps({"version": version, "options": options}) + "\n")


if __name__ == "__main__":
    main()
