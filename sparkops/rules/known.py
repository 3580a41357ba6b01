"""Flags that the target vLLM does not know: it would exit on them, after the old server was stopped."""

from functools import partial

from sparkops.core.flags import ELSEWHERE, FORK, PATCHED, VANISHED
from sparkops.core.recipe import Effective, Setting
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, image, refuse, warn

SLIP = 0.8
"""How similar to a known flag an unknown one must be to count as a typing mistake."""


@partial(
    Rule,
    id="unknown-flag",
    actions=("warn", "refuse"),
    title="The image's vLLM knows every flag of the recipe",
    why=(
        "vLLM exits with code 2 on an unknown flag, about 13 seconds after the start. Flags change between versions: "
        "old Spark recipes still have --swap-space. sparkops compares with the flags of vLLM 0.32.0, or with the "
        "image's own flags if `sparkops image flags` has read them."
    ),
    source="vLLM 0.32.0's own argument parser",
    example_hit=Example(args={"max-model-length": 4096}),
    example_miss=Example(args={"mxfp4-backend": "CUTLASS", "mxfp4-layers": "moe,qkv"}),
)
def unknown_flag(effective: Effective, _shape: Shape) -> Verdict | None:
    table = effective.recipe.flags
    unknown = [name for name in effective.args if table.find(name) is None]
    patched = [name for name in effective.args if name in PATCHED and name not in unknown and not effective.recipe.mods]
    problems = [_said(effective, name) for name in (*unknown, *patched)] + _wrong_values(effective)
    if not problems:
        return None
    certain = any(_certain(effective, name) for name in unknown)
    near = (table.nearest(name) for name in unknown if name not in (*VANISHED, *ELSEWHERE))
    hints = [f"did you mean --{close}?" for close in near if close]
    if unknown and table.image:
        hints.append(f"if the image changed, read its flags again: `sparkops image flags {table.image}`")
    verdict = refuse if certain else warn
    return verdict("; ".join(problems), "; ".join(hints))


def _certain(effective: Effective, name: str) -> bool:
    """Whether the engine certainly lacks this flag.

    It does if the image's own table lacks it. Else a name similar to a known flag is a typing mistake on any image,
    and a flag that vLLM removed is missing in images that are new enough.
    """
    table = effective.recipe.flags
    if table.exact and table.image in ("", effective.image):
        return True
    if name in ELSEWHERE:
        return False
    if name in VANISHED:
        return image(effective).current
    return not effective.recipe.mods and table.nearest(name, SLIP) is not None


def _said(effective: Effective, name: str) -> str:
    origin = _short(effective.args[name])
    if name in PATCHED:
        return f"--{name} ({origin}) exists only in {PATCHED[name]}"
    if name in VANISHED:
        return f"--{name} ({origin}): {VANISHED[name]}"
    table = effective.recipe.flags
    image = f" of {table.image}" if table.image else ""
    where = f"; it exists in {ELSEWHERE[name]}" if name in ELSEWHERE else ""
    return f"--{name} ({origin}) is not a flag of vLLM {table.version}{image}{where}"


def _wrong_values(effective: Effective) -> list[str]:
    """Values outside a flag's choices; of upstream's, images that are not current may have others."""
    table, found = effective.recipe.flags, _wrong_words(effective)
    if not image(effective).current:
        return found
    for name, setting in effective.args.items():
        flag = table.find(name)
        if flag and flag.choices and isinstance(setting.value, str) and setting.value not in flag.choices:
            found.append(f"--{name} {setting.value} ({_short(setting)}): it must be one of {', '.join(flag.choices)}")
    return found


def _wrong_words(effective: Effective) -> list[str]:
    """Values that the mxfp4 image's own flags do not take. That image has one version only."""
    found = []
    for name in (name for name in FORK if name in effective.args):
        setting, known = effective.args[name], FORK[name]
        words = str(setting.value).split(",") if name == "mxfp4-layers" else [str(setting.value)]
        if wrong := [word.strip() for word in words if word.strip() not in known]:
            found.append(f"--{name} {','.join(wrong)} ({_short(setting)}): it must be one of {', '.join(known)}")
    return found


def _short(setting: Setting) -> str:
    """The setting's file without its directories, and the line."""
    return setting.origin.rpartition("/")[2]
