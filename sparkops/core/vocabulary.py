"""Where the vocabulary files of gpt-oss' tokenizer lie on a node: below the home, or an absolute path."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparkops.core.effective import Effective
from sparkops.core.models import is_gpt_oss
from sparkops.core.recipe import MOUNTS

FIRST = {
    "TIKTOKEN_ENCODINGS_BASE": "o200k_base.tiktoken",
    "TIKTOKEN_RS_CACHE_DIR": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
"""By variable, the file that the engine opens first in its directory; in a cache its name is the SHA-1 of its URL."""

USUAL = f"~/{MOUNTS['tiktoken_rs'][0]}"


def usual(model: str) -> str | None:
    """The path that recipes mount, for a model without a recipe."""
    return USUAL if is_gpt_oss(model) else None


def wanted(effective: Effective) -> str | None:
    """The node's path of the directory that the engine's environment names; None if no mount has it."""
    return in_mounts({name: setting.value for name, setting in effective.env.items()}, effective.mounts)


def missing(effective: Effective, there: Sequence[str]) -> str:
    """The variable whose file is missing in the usual place; empty if none is, or if the engine uses another place."""
    if wanted(effective) != USUAL:
        return ""
    named = [name for name in FIRST if name in effective.env]
    return "" if any(FIRST[name] in there for name in named) else named[0]


def in_mounts(env: Mapping[str, Any], mounts: Sequence[str]) -> str | None:
    for path in (str(env[name]).rstrip("/") for name in FIRST if name in env):
        for mount in mounts:
            source, target = _sides(mount)
            if path == target or path.startswith(f"{target}/"):
                return source + path.removeprefix(target)
    return None


def _sides(mount: str) -> tuple[str, str]:
    if mount in MOUNTS:
        return f"~/{MOUNTS[mount][0]}", MOUNTS[mount][1]
    source, _, rest = mount.partition(":")
    target = rest.partition(":")[0] or source
    return source if source.startswith(("/", "~/")) else f"~/{source}", target.rstrip("/")
