"""What recipes of other launchers need that sparkops does another way, or not at all."""

from functools import partial

from sparkops.core import mods
from sparkops.core.recipe import Effective
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, refuse, warn


@partial(
    Rule,
    id="mods-image",
    actions=("warn",),
    title="The image contains the recipe's mods",
    why=(
        "Mods are scripts that patch vLLM inside a running container. At every start they need the network and may "
        "fail on one of two nodes. Built once into an image, they are equal on every node."
    ),
    source="spark-vllm-docker's launch-cluster.sh --apply-mod; image-present refuses where the image is missing",
    example_hit=Example(mods=("mods/fix-qwen3.5-chat-template",)),
    example_miss=Example(mods=("mods/drop-caches",)),
)
def mods_image(effective: Effective, _shape: Shape) -> Verdict | None:
    recipe = effective.recipe
    wanted = mods.needed(recipe.mods)
    if not wanted or effective.image != mods.derived(recipe.container, recipe.mods):
        return None
    message = f"needs an image with the mods {', '.join(map(mods.short, wanted))}: {effective.image}"
    build = f"build it: `sparkops image build {recipe.name} --mods DIR`"
    return warn(message, f"{build}; or use an image that has them: --set container=IMAGE")


@partial(
    Rule,
    id="not-carried-over",
    actions=("warn", "refuse"),
    title="sparkops does everything that another launcher's recipe requests",
    why=(
        "Shell expansions, programs that run before the engine, and container options of another launcher are not part "
        "of the engine's command line. Without them the engine would differ from the one that was measured."
    ),
    source="run-recipe.py and sparkrun render a script for a shell; sparkops passes words",
    example_hit=Example(caveats=("pre_exec is not carried over",)),
    example_miss=Example(),
)
def not_carried_over(effective: Effective, _shape: Shape) -> Verdict | None:
    caveats = effective.recipe.foreign.caveats if effective.recipe.foreign else ()
    if not caveats:
        return None
    needed = [caveat for caveat in caveats if caveat.refuse]
    said = "; ".join(f"{caveat.text} ({caveat.where})" for caveat in needed or caveats)
    if not needed:
        return warn(said)
    return refuse(
        said, "write your own recipe with what it needs; start from: `sparkops recipe export --schema sparkops`"
    )
