"""What recipes of other launchers need that sparkops does another way, or not at all."""

from functools import partial

from sparkops.core import mods
from sparkops.core.image_sources import image_source
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
        "fail on one of two nodes. If you build them into an image once, all nodes have the same mods."
    ),
    source="eugr/spark-vllm-docker, launch-cluster.sh --apply-mod",
    example_hit=Example(mods=("mods/fix-qwen3.5-chat-template",)),
    example_miss=Example(mods=("mods/drop-caches",)),
)
def mods_image(effective: Effective, _shape: Shape) -> Verdict | None:
    recipe = effective.recipe
    wanted = mods.needed(recipe.mods)
    if not wanted or effective.image != mods.derived(recipe.container, recipe.mods):
        return None
    message = f"the recipe needs the image {effective.image}, with the mods {', '.join(map(mods.short, wanted))}"
    return warn(message, f"{image_source(effective.image, recipe).command}; or use an image that has these mods")


@partial(
    Rule,
    id="not-carried-over",
    actions=("warn", "refuse"),
    title="sparkops can do everything that another launcher's recipe requests",
    why=(
        "sparkops runs only the engine's command line, without another launcher's shell expansions, container options "
        "and programs that run before the engine. So the engine would not run as in the published measurements."
    ),
    source="eugr/spark-vllm-docker (run-recipe.py) and spark-arena/sparkrun write a shell script; sparkops does not",
    example_hit=Example(caveats=("sparkops does not use the key pre_exec",)),
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
        said,
        f"write a recipe that does not need this; start from `sparkops recipe export {effective.recipe.target} "
        "--schema sparkops`",
    )
