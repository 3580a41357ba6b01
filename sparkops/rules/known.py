"""Flags that the target vLLM does not know: it would exit on them, after the old server was stopped."""

from collections.abc import Iterable, Iterator
from functools import partial

from sparkops.core.effective import Effective
from sparkops.core.flags import ELSEWHERE, FORK, PATCHED, VANISHED
from sparkops.core.recipe import Setting
from sparkops.core.schema import did_you_mean, nearest
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, image, refuse, warn

SLIP = 0.8
"""How similar to a known flag an unknown one must be to count as a typing mistake."""

PLUGIN = {"tool-call-parser": "tool-parser-plugin", "reasoning-parser": "reasoning-parser-plugin"}
"""Flags that take the name of a parser, and the flag that adds parsers of one's own."""


@partial(
    Rule,
    id="unknown-flag",
    actions=("warn", "refuse"),
    title="The image's vLLM knows every flag of the recipe",
    why=(
        "vLLM exits with code 2 on an unknown flag, about 13 seconds after the start. Flags change between versions: "
        "old Spark recipes still have --swap-space. sparkops compares with the flags of vLLM 0.32.0. If these "
        "lack a flag, `plan` and `deploy` read the image's own flags first, as `sparkops image flags` does."
    ),
    source="vLLM 0.32.0's own argument parser; names of parsers: vllm-project/vllm at 0064cc9, read 2026-11-25",
    example_hit=Example(args={"max-model-length": 4096}),
    example_miss=Example(args={"mxfp4-backend": "CUTLASS", "mxfp4-layers": "moe,qkv"}),
)
def unknown_flag(effective: Effective, _shape: Shape) -> tuple[Verdict, ...]:
    table, patches = effective.recipe.flags, [] if effective.recipe.mods else PATCHED
    unknown = [name for name in effective.args if table.find(name) is None]
    patched = [name for name in effective.args if name in patches and name not in unknown]
    return tuple(_unknown(effective, name) for name in (*unknown, *patched)) + tuple(_wrong_values(effective))


def _unknown(effective: Effective, name: str) -> Verdict:
    """What is wrong with a flag that the image may lack."""
    table, hints = effective.recipe.flags, []
    if table.find(name) is None:
        near = None if name in (*VANISHED, *ELSEWHERE) else table.nearest(name)
        hints = [f"did you mean --{near}?"] if near else []
        stale = f"if the image changed, read its flags again: `sparkops image flags {table.image}`"
        hints += [stale] * bool(table.fingerprint)  # that of a table that is stored
        read = f"read the image's own flags to know it before the start: `sparkops image flags {effective.image}`"
        hints = hints or [read] * (name not in VANISHED and not effective.own_flags)
    verdict = refuse if table.find(name) is None and _certain(effective, name) else warn
    return verdict(_said(effective, name), "; ".join(hints), where=effective.args[name].origin)


def _certain(effective: Effective, name: str) -> bool:
    """Whether the engine certainly lacks this flag.

    It does if the image's own table lacks it. Else a name similar to a known flag is a typing mistake on any image,
    and a flag that vLLM removed is missing in images that are new enough.
    """
    if effective.own_flags:
        return True
    if name in ELSEWHERE:
        return False
    if name in VANISHED:
        return image(effective).current
    return not effective.recipe.mods and effective.recipe.flags.nearest(name, SLIP) is not None


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


def _wrong_values(effective: Effective) -> Iterator[Verdict]:
    """Values outside a flag's choices; images that are not current may have other ones than upstream.

    The mxfp4 image has one version only, so its own flags are always judged.
    """
    for name in (name for name in FORK if name in effective.args):
        value = str(effective.args[name].value)
        wrong = [word.strip() for word in (value.split(",") if name == "mxfp4-layers" else [value])]
        if wrong := [word for word in wrong if word not in FORK[name]]:
            yield _wrong(effective, name, ",".join(wrong), FORK[name])
    for name, setting in effective.args.items():
        flag, value = effective.recipe.flags.find(name), setting.value
        if not (flag and flag.choices and isinstance(value, str)) or value in flag.choices:
            continue
        typing_mistake = nearest(value, flag.choices, SLIP) is not None
        judged = effective.own_flags or image(effective).current or typing_mistake or name not in PLUGIN
        if judged and PLUGIN.get(name) not in effective.args:
            yield _wrong(effective, name, value, flag.choices)


def _wrong(effective: Effective, name: str, value: str, choices: Iterable[str]) -> Verdict:
    setting, table = effective.args[name], effective.recipe.flags
    if name not in PLUGIN:
        certain = name in FORK or effective.own_flags
        known = certain or image(effective).current
        which = "it must be one of" if known else f"sparkops knows its values of vLLM {table.version} only:"
        verdict = refuse if certain else warn
        return verdict(f"--{name} {value} ({_short(setting)}): {which} {', '.join(choices)}", where=setting.origin)
    has = f"{table.image} has" if table.image else f"vLLM {table.version} has"
    hint = f"list what an image knows: `sparkops image flags {table.image or effective.image} --json`"
    said = f"--{name} {value} ({_short(setting)}): {has} no parser of this name{did_you_mean(value, choices)}"
    return (refuse if effective.own_flags else warn)(said, hint, where=setting.origin)


def _short(setting: Setting) -> str:
    """The setting's file without its directories, and the line."""
    return setting.origin.rpartition("/")[2]
