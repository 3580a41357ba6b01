"""What a simulated image tells of its `vllm serve`: the flags of the packaged table, and those of the mxfp4 fork."""

import json
from collections.abc import Mapping
from typing import Any

from sparkops.core.flags import FORK, Flag
from sparkops.data.dump import MARK
from sparkops.files.recipes import flag_table
from sparkops.testing.store import DockerRefused

_NARGS = {"": None, "0": 0}


def dumped(image: Mapping[str, Any]) -> str:
    """The line that `dump.py` prints inside the image; raises DockerRefused if it has no engine."""
    name = " ".join(image["RepoTags"] or ())
    if "vllm" not in name:
        raise DockerRefused("this image has no make_arg_parser", 1)
    flags = dict(flag_table().flags)
    if "mxfp4" in name:
        flags |= {fork: Flag(fork) for fork in FORK}
    options = [_option(flag) for flag in flags.values()]
    return f"{MARK}{json.dumps({'version': flag_table().version, 'options': options})}\n"


def _option(flag: Flag) -> dict[str, Any]:
    names = [f"--{name}" for name in (flag.name, *flag.aliases, *([f"no-{flag.name}"] if flag.negatable else []))]
    return {
        "flags": [*names, *(f"-{short}" for short in flag.short)],
        "nargs": _NARGS.get(flag.nargs, flag.nargs),
        "kind": "_AppendAction" if flag.repeats else "_StoreAction",
        "type": {"json": "loads", "size": "human_readable_int"}.get(flag.type, flag.type),
        "choices": list(flag.choices) or None,
    }
