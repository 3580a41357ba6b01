"""Turns a dump of an image's argument parser into our flag table: `python -m sparkops.data.compact DUMP VERSION`.

The dump is a JSON list with one object for each option (flags, nargs, kind, type, choices), made inside the image.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TYPES = {
    "int": "int",
    "float": "float",
    "human_readable_int": "size",
    "human_readable_int_or_auto": "size",
    "parse_dataclass": "json",
    "loads": "json",
    "_parse_type": "json",
    "union_dict_and_str": "json",
}


def entry(option: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """One option as name and table entry; what is usual is left out."""
    longs = [flag[2:] for flag in option["flags"] if flag.startswith("--")]
    shorts = [flag[1:] for flag in option["flags"] if not flag.startswith("--")]
    name = longs[0]
    found: dict[str, Any] = {
        "aliases": [other for other in longs[1:] if other != f"no-{name}"],
        "short": shorts,
        "nargs": {None: "", 0: "0"}.get(option["nargs"], option["nargs"]),
        "negatable": f"no-{name}" in longs,
        "repeats": option["kind"] == "_AppendAction",
        "type": TYPES.get(option["type"], ""),
        "choices": [str(choice) for choice in option["choices"] or ()],
    }
    return name, {key: value for key, value in found.items() if value}


def table(options: list[Mapping[str, Any]], version: str) -> dict[str, Any]:
    return {"engine": "vllm", "version": version, "flags": dict(sorted(map(entry, options)))}


def main(dump: str, version: str) -> None:
    made = table(json.loads(Path(dump).read_text(encoding="utf-8")), version)
    head = {key: value for key, value in made.items() if key != "flags"}
    rows = [f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in made["flags"].items()]
    sys.stdout.write(json.dumps(head)[:-1] + ', "flags": {\n' + ",\n".join(rows) + "\n}}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
