"""What recipes of other launchers need that sparkops does another way, or not at all."""

from __future__ import annotations

from sparkops.core import mods
from sparkops.core.recipe import Effective
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict


def mods_image(effective: Effective, _shape: Shape) -> Verdict | None:
    recipe = effective.recipe
    wanted = mods.needed(recipe.mods)
    if not wanted or effective.image != mods.derived(recipe.container, recipe.mods):
        return None
    names = ", ".join(map(mods.short, wanted))
    return Verdict(
        "warn",
        f"needs the mods {names} in its image: {effective.image}",
        f"`sparkops image build {recipe.name} --mods DIR` makes it; --set container=IMAGE names one that has them",
    )


def not_carried_over(effective: Effective, _shape: Shape) -> Verdict | None:
    caveats = effective.recipe.foreign.caveats if effective.recipe.foreign else ()
    if not caveats:
        return None
    needed = [caveat for caveat in caveats if caveat.refuse]
    said = "; ".join(f"{caveat.text} ({caveat.where})" for caveat in needed or caveats)
    hint = "write what it needs into a recipe of your own: `sparkops recipe export --schema sparkops`" if needed else ""
    return Verdict("refuse" if needed else "warn", said, hint)


RULES = (
    Rule(
        id="mods-image",
        actions=("warn",),
        title="Mods are in the image before it is started",
        why="A recipe's mods are scripts that patch vLLM inside a running container. Done at every start they need the "
        "network and may fail on one node of two; built once into an image, every node runs the same bytes.",
        source="spark-vllm-docker's launch-cluster.sh --apply-mod; image-present refuses where the image is missing",
        example_hit=Example(mods=("mods/fix-qwen3.5-chat-template",)),
        example_miss=Example(mods=("mods/drop-caches",)),
        judge=mods_image,
    ),
    Rule(
        id="not-carried-over",
        actions=("warn", "refuse"),
        title="All that a recipe of another launcher asks for is done",
        why="What a shell would expand, what runs before the engine and options of another launcher's containers are "
        "not in a command line. Serving without them would be another engine than the one that was measured.",
        source="run-recipe.py and sparkrun render a script for a shell; sparkops passes words",
        example_hit=Example(caveats=("pre_exec is not carried over",)),
        example_miss=Example(),
        judge=not_carried_over,
    ),
)
