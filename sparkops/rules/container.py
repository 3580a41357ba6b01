"""What a container gives to a recipe: which build it is, what is installed in it, and how its variables arrive."""

import re
from functools import partial

from sparkops.core.effective import Effective
from sparkops.core.mods import PREFIX
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, image, warn

LOADERS = {"fastsafetensors": ("vllm-node", "mxfp4"), "instanttensor": ("vllm-node",)}
"""Loaders that are packages of their own, and the images that have them."""

_EXPANDED = re.compile(r"\$(\{[A-Za-z_]|\(|[A-Za-z_])")


@partial(
    Rule,
    id="rolling-image",
    actions=("warn",),
    title="The image has a fixed version",
    why=(
        "On 2026-08-15, a rolling tag got a broken build, and the good build of 2026-08-13 could no longer be pulled. "
        "A container keeps its image, but the next pull gets another build, so you cannot repeat a benchmark."
    ),
    source="eugr/spark-vllm-docker #349, #296, #16",
    example_hit=Example(image="ghcr.io/spark-arena/dgx-vllm-eugr-nightly:latest"),
    example_miss=Example(image="vllm/vllm-openai:v0.28.0"),
)
def rolling_image(effective: Effective, _shape: Shape) -> Verdict | None:
    name, at, _ = effective.image.partition("@")
    before, slash, last = name.rpartition("/")
    tag = last.partition(":")[2] or "latest"
    ours = before.startswith(PREFIX.rstrip("/"))
    if at or ours or not slash or not (tag == "latest" or "nightly" in tag):
        return None
    message = f"the tag {effective.image} moves: each pull may get another image"
    return warn(message, "use a version tag or a digest, and export a working image to a file")


@partial(
    Rule,
    id="loader-installed",
    actions=("warn",),
    title="The image has the package of the loader in --load-format",
    why="The engine accepts any --load-format. Without the loader's package, the engine fails when it loads weights.",
    source="vLLM 0.32 (fastsafetensors is optional); eugr/spark-vllm-docker (only new images have instanttensor)",
    example_hit=Example(image="nvcr.io/nvidia/vllm:26.04-py3", args={"load-format": "fastsafetensors"}),
    example_miss=Example(args={"load-format": "fastsafetensors"}),
)
def loader_installed(effective: Effective, _shape: Shape) -> Verdict | None:
    loader, kind = str(effective.value("load-format", "")), image(effective).kind
    if loader not in LOADERS or kind in (*LOADERS[loader], "unknown"):
        return None
    message = f"--load-format {loader} needs a package that {effective.image} does not have"
    return warn(message, "use --set args.load-format=auto")


@partial(
    Rule,
    id="env-literal",
    actions=("warn",),
    title="Environment variables are passed exactly as written",
    why="Launchers that write a shell script expand $HOME or ${TOKEN}. sparkops uses docker run -e, which does not.",
    source="eugr/spark-vllm-docker #202",
    example_hit=Example(env={"HF_HOME": "$HOME/models"}),
    example_miss=Example(env={"HF_HOME": "/root/models", "PRICE": "5$"}),
)
def env_literal(effective: Effective, _shape: Shape) -> Verdict | None:
    meant = [name for name, setting in effective.env.items() if _EXPANDED.search(str(setting.value))]
    if not meant:
        return None
    message = f"{', '.join(sorted(meant))}: no shell expands this variable, so the engine gets the $ as written"
    return warn(message, "write the whole value without $, such as /root instead of $HOME")
