"""What recipes, mostly of other launchers, need that sparkops does another way, or not at all."""

import shlex
from collections.abc import Iterator
from functools import partial

from sparkops.core import mods
from sparkops.core.effective import Effective
from sparkops.core.image_sources import image_source
from sparkops.core.recipe import PLACED, Caveat, Layer, Recipe
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, refuse, warn

USUAL = {"port": ("8000",), "host": ("0.0.0.0", "::"), "nnodes": ("1",), "node-rank": ("0",)}
"""Values of placed flags that mean what sparkops does by itself."""

DIFFERENTLY = {
    "port": ("sparkops chooses the port", "to use this port: --port {}"),
    "host": ("vLLM listens on all addresses of the node", ""),
}
"""What sparkops does instead of a placed flag, and where the user can change it."""


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
    id="vllm-wrapper",
    actions=("warn", "refuse"),
    title="The recipe starts vLLM itself, or names the program that does",
    why=(
        "A program of the image that starts vLLM may change its flags and variables, and sparkops cannot see how. So "
        "it runs only after you named it yourself."
    ),
    source="images with an entrypoint of their own: aidendle94/sparkrun-vllm-ds4-gb10, eugr/spark-vllm-docker (b12x)",
    example_hit=Example(program=("b12x-kcache", "exec", "vllm")),
    example_miss=Example(program=("/opt/venv/bin/vllm",)),
)
def vllm_wrapper(effective: Effective, _shape: Shape) -> Verdict | None:
    recipe, starts = effective.recipe, effective.recipe.starts
    if len(starts) == 1 and starts[0].rpartition("/")[2] == "vllm":
        return None
    said = " ".join(starts)
    message = f"vLLM is started by `{said}` of the image; sparkops cannot check what this program changes"
    if recipe.program is not None:
        return warn(message)
    hint = (
        f"if you trust the image: --set program={shlex.quote(said)}, or `program: {said}` in a recipe of your own that "
        "extends this one; to start vLLM without it: --set program=vllm"
    )
    return refuse(message, hint)


@partial(
    Rule,
    id="not-carried-over",
    actions=("warn", "refuse"),
    title="sparkops can do everything that the recipe requests",
    why=(
        "sparkops runs only the engine's command line, without another launcher's shell expansions, container options "
        "and programs that run before the engine, and sets ports and ranks itself. So the engine may run otherwise "
        "than in the published measurements."
    ),
    source="eugr/spark-vllm-docker (run-recipe.py) and spark-arena/sparkrun write a shell script; sparkops does not",
    example_hit=Example(caveats=("sparkops does not use the key pre_exec",)),
    example_miss=Example(),
)
def not_carried_over(effective: Effective, shape: Shape) -> tuple[Verdict, ...]:
    recipe = effective.recipe
    caveats = recipe.foreign.caveats if recipe.foreign else ()
    return tuple(_told(recipe, caveat) for caveat in (*caveats, *_placed(recipe, shape)))


def _told(recipe: Recipe, caveat: Caveat) -> Verdict:
    other = (
        f"write a recipe that does not need this; start from `sparkops recipe export {recipe.target} --schema sparkops`"
    )
    message = f"{caveat.text} ({caveat.where.rpartition('/')[2]})"
    hint = caveat.instead or (other if caveat.refuse else "")
    return Verdict("refuse" if caveat.refuse else "warn", message, hint, where=caveat.where)


def _placed(recipe: Recipe, shape: Shape) -> Iterator[Caveat]:
    """Flags of the recipe that the placement sets, if it would set another value."""
    layer = recipe.topologies.get("cluster" if shape.kind == "cluster" else "solo", Layer())
    for name, setting in {**recipe.args, **layer.args}.items():
        off = setting.value is None or setting.value is False
        if name in PLACED and not off and str(setting.value) not in USUAL.get(name, ()):
            value = "" if setting.value is True else f" {setting.value}"
            said, instead = DIFFERENTLY.get(name, ("sparkops sets it for each node", ""))
            yield Caveat(setting.origin, f"--{name}{value} is not used: {said}", instead=instead.format(setting.value))
