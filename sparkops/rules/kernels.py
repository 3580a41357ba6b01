"""Which kernels run on GB10 (SM121), which crash there, and what turns good ones off."""

from functools import partial

from sparkops.core.effective import Effective
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, image, is_mxfp4, refuse, warn

FOREIGN = {
    "TRITON": "is for GPUs SM90 to SM100; a GB10 is SM121",
    **dict.fromkeys(("TRTLLM", "TRTLLM_MXFP8"), "is for SM100 and crashes on a GB10 (SM121)"),
}
"""Backends that the mxfp4 image has and a GB10 cannot run."""

CUTLASS = {"quantization": "mxfp4", "mxfp4-backend": "CUTLASS"}


@partial(
    Rule,
    id="mxfp4-backend",
    actions=("refuse",),
    title="The MXFP4 backend runs on this GPU",
    why="On a GB10 (SM121), only the MXFP4 backends CUTLASS and MARLIN run. The TensorRT-LLM backends crash.",
    source="christopherowen/spark-vllm-mxfp4-docker, AGENTS.md; vllm-project/vllm #37751 (the same on SM120)",
    example_hit=Example(args={"mxfp4-backend": "TRTLLM"}),
    example_miss=Example(args={"mxfp4-backend": "MARLIN"}),
)
def mxfp4_backend(effective: Effective, _shape: Shape) -> Verdict | None:
    chosen = str(effective.value("mxfp4-backend", "auto"))
    if chosen not in FOREIGN:
        return None
    hint = "use --set args.mxfp4-backend=CUTLASS, or MARLIN if CUDA graphs crash"
    return refuse(f"--mxfp4-backend {chosen} {FOREIGN[chosen]}", hint)


@partial(
    Rule,
    id="cutlass-graphs",
    actions=("warn",),
    title="CUDA graphs on the CUTLASS kernels run on your machine",
    why=(
        "Some owners report illegal memory accesses (Xid 31) with full and with piecewise graphs. Their machines "
        "work with eager execution or with Marlin. Other owners run graphs for weeks, and 5 or 10 requests at once are "
        "faster than without graphs. Test your machine once under load."
    ),
    source=(
        "eugr/spark-vllm-docker #31, #334; christopherowen/spark-vllm-mxfp4-docker #3, #5, #7; opposite results: "
        "dendro-logic.com/recipes, Spark Arena"
    ),
    example_hit=Example(args=CUTLASS),
    example_miss=Example(args={**CUTLASS, "enforce-eager": True}),
)
def cutlass_graphs(effective: Effective, shape: Shape) -> Verdict | None:
    backend = str(effective.value("mxfp4-backend", "auto"))
    if shape.kind == "cluster" or image(effective).kind != "mxfp4" or not is_mxfp4(effective):
        return None
    if backend not in ("auto", "CUTLASS") or effective.eager:
        return None
    return warn(
        "CUDA graphs on the CUTLASS kernels are fast for many requests at once, but crash on some machines (Xid 31)",
        "if the engine crashes, use --set args.enforce-eager=true, which makes a single request about 1 % slower",
    )


@partial(
    Rule,
    id="eager-on-marlin",
    actions=("warn",),
    title="Eager execution is off with the Marlin kernels",
    why=(
        "Eager execution costs about 1 % of the speed on the mxfp4 image's CUTLASS kernels, but 55 % on Marlin. Use "
        "eager execution only if the first start hangs in graph capture; one capture hung for 44 minutes."
    ),
    source="conselara.dev, DGX Spark benchmarks, 2026-05; spark-arena/recipe-registry #17",
    example_hit=Example(image="nvcr.io/nvidia/vllm:26.04-py3", args={"enforce-eager": True}),
    example_miss=Example(args={**CUTLASS, "enforce-eager": True}),
)
def eager_on_marlin(effective: Effective, shape: Shape) -> Verdict | None:
    by_marlin = image(effective).stock or str(effective.value("mxfp4-backend")) == "MARLIN"
    if shape.kind == "cluster" or not (by_marlin and is_mxfp4(effective) and effective.eager):
        return None
    message = "eager execution halves the speed of the Marlin kernels (26 tokens/s instead of 59)"
    return warn(message, "use --set args.enforce-eager=false")


@partial(
    Rule,
    id="mxfp4-lora",
    actions=("warn",),
    title="LoRA is off if --mxfp4-layers lists dense layers",
    why=(
        "The mxfp4 image's vLLM quantises qkv, o and lm_head while it loads the weights, but leaves them in BF16 if "
        "LoRA is on. A benchmark then measures other kernels than its flags say."
    ),
    source="jaim12005/spark-vllm-mxfp4-docker, docs/plans/MXFP4_QKV_O_QUANTIZATION.md",
    example_hit=Example(args={"mxfp4-layers": "moe,qkv", "enable-lora": True}),
    example_miss=Example(args={"mxfp4-layers": "moe", "enable-lora": True}),
)
def mxfp4_lora(effective: Effective, _shape: Shape) -> Verdict | None:
    dense = sorted({"qkv", "o", "lm_head"} & {*effective.mxfp4_layers})
    if not dense or effective.value("enable-lora") is not True:
        return None
    message = f"with --enable-lora, {', '.join(dense)} stay in BF16, although --mxfp4-layers lists them"
    return warn(message, "remove --enable-lora, or these layers from --mxfp4-layers; decode stays slower with LoRA")


@partial(
    Rule,
    id="async-with-ray",
    actions=("warn",),
    title="Asynchronous scheduling is not used with Ray",
    why="With Ray, the vLLM of the mxfp4 image (January 2026) ignores --async-scheduling and prints no message.",
    source="launch scripts of jaim12005/spark-vllm-mxfp4-docker and christopherowen/spark-vllm-mxfp4-docker",
    example_hit=Example(topology="cluster", args={"async-scheduling": True}),
    example_miss=Example(topology="cluster", executor="mp", args={"async-scheduling": True}),
)
def async_with_ray(effective: Effective, shape: Shape) -> Verdict | None:
    by_ray = shape.kind == "cluster" and shape.executor == "ray" and image(effective).kind == "mxfp4"
    if not by_ray or effective.value("async-scheduling") is not True:
        return None
    message = "the mxfp4 image ignores --async-scheduling with the Ray executor"
    return warn(message, "remove the flag, or use --executor mp")


@partial(
    Rule,
    id="official-nccl",
    actions=("warn",),
    title="Several nodes do not run vLLM's official image",
    why="The image loads two NCCL versions (from pip and the system). Nodes connect, but the first NCCL call hangs.",
    source="vllm-project/vllm #42354, #52504; eugr/spark-vllm-docker, mod use-official-vllm",
    example_hit=Example(topology="cluster", image="vllm/vllm-openai:v0.28.0"),
    example_miss=Example(image="vllm/vllm-openai:v0.28.0"),
)
def official_nccl(effective: Effective, shape: Shape) -> Verdict | None:
    if shape.kind != "cluster" or image(effective).kind != "vllm-openai":
        return None
    message = f"{effective.image} may hang over several nodes: it loads one NCCL from pip and another from the system"
    hint = "add the mod use-official-vllm to the recipe, or use another image that can serve this model"
    return warn(message, hint)
