"""What does not fit into memory that CPU, GPU and page cache share."""

from functools import partial

from sparkops.core import memory_estimate, models
from sparkops.core.effective import Effective
from sparkops.core.topology import Shape
from sparkops.core.utilization import OLD_UTILIZATION
from sparkops.rules.rule import Example, Rule, Verdict, image, refuse, warn

LONG = models.MODELS["openai/gpt-oss-120b"].context
FEW_SEQUENCES = 4
"""Most requests at once with 131072 tokens on one node for a warning instead of a refusal; the community ran 2."""

USUAL_UTILIZATION = 0.85
"""The most that others set on a GB10 with images that follow upstream."""

MINIMAX = "cyankiwi/MiniMax-M2.5-AWQ-4bit"


@partial(
    Rule,
    id="mxfp4-memory",
    actions=("warn", "refuse"),
    title="With the mxfp4 image, --gpu-memory-utilization is at most 0.90",
    why=(
        "This image needs more memory outside its share (--gpu-memory-utilization) than the image vllm-node, which "
        "runs at 0.95. Above 0.90 memory runs out, and Linux kills the engine."
    ),
    source="kubis.ai, article 8 of 9 (0.95 runs out of memory); eugr/spark-vllm-docker (recipe: 0.70, later 0.80)",
    example_hit=Example(args={"gpu-memory-utilization": 0.95}),
    example_miss=Example(args={"gpu-memory-utilization": 0.9}),
)
def mxfp4_memory(effective: Effective, _shape: Shape) -> Verdict | None:
    value = effective.number("gpu-memory-utilization", 0)
    if image(effective).kind != "mxfp4" or value <= 0.90:
        return None
    message = f"--gpu-memory-utilization {value} on the mxfp4 image"
    if value >= 0.95:
        return refuse(f"{message} runs out of memory", "use --set args.gpu-memory-utilization=0.90 or less")
    hint = "use --set args.gpu-memory-utilization=0.90 or less; 0.90 is the highest value known to run, 0.70 is usual"
    return warn(f"{message} leaves little memory for the system", hint)


@partial(
    Rule,
    id="long-context-memory",
    actions=("warn", "refuse"),
    title="gpt-oss-120b has enough memory for its full context",
    why=(
        "On one node, a context of 131072 tokens beside the weights runs out of memory at once. On two nodes with "
        "--gpu-memory-utilization 0.80, the page cache fills the rest of the memory within about 19 hours."
    ),
    source="kubis.ai, articles 6 and 8 of 9; opposite result: a command in article 3 (0.70, --max-num-seqs 2)",
    example_hit=Example(args={"max-model-len": LONG, "gpu-memory-utilization": 0.9}),
    example_miss=Example(topology="cluster", args={"max-model-len": LONG, "gpu-memory-utilization": 0.75}),
)
def long_context_memory(effective: Effective, shape: Shape) -> Verdict | None:
    context = effective.value("max-model-len")
    unset = context is None or context in ("auto", -1)
    if "gpt-oss-120b" not in effective.model.lower() or not (unset or effective.number("max-model-len", 0) >= LONG):
        return None
    used = effective.number("gpu-memory-utilization", OLD_UTILIZATION)
    said = f"a context of {LONG} tokens{' (the default)' if unset else ''} at --gpu-memory-utilization {used}"
    if shape.kind == "cluster":
        hint = "use --set args.gpu-memory-utilization=0.75, and run `sparkops cache schedule --every 30m`"
        message = f"{said} runs out of memory after about 19 hours, as the page cache grows"
        return warn(message, hint) if used >= 0.80 else None
    if used >= 0.85 and effective.number("max-num-seqs", LONG) > FEW_SEQUENCES:
        hint = "use --set args.max-model-len=4096, or --set args.gpu-memory-utilization=0.70 --set args.max-num-seqs=2"
        return refuse(f"{said} runs out of memory on one node", hint)
    hint = "0.70 with --max-num-seqs 2 worked for one source; if the engine fails, use --set args.max-model-len=4096"
    return warn(f"{said} may not fit on one node", hint)


@partial(
    Rule,
    id="utilization-unset",
    actions=("warn",),
    title="The recipe sets how much memory the engine requests",
    why=(
        "vLLM's default of 0.92 assumes a GPU with its own memory. On a GB10, 0.92 is 112 GiB, which is rarely free. "
        "If less is free, vLLM exits: free memory is less than desired GPU memory utilization."
    ),
    source="vLLM 0.32; vllm-project/recipes #632 (0.85 is required on GB10)",
    example_hit=Example(image="vllm-node", model="who/knows"),
    example_miss=Example(image="vllm-node", model="who/knows", args={"gpu-memory-utilization": 0.8}),
)
def utilization_unset(effective: Effective, _shape: Shape) -> Verdict | None:
    said = {"gpu-memory-utilization", "kv-cache-memory-bytes", "gpu-memory-utilization-gb"} & set(effective.args)
    if said or not image(effective).current:
        return None
    return warn(
        "--gpu-memory-utilization is not set: the engine requests 0.92 of the memory that it shares with the system",
        f"use --set args.gpu-memory-utilization={USUAL_UTILIZATION} or less",
    )


@partial(
    Rule,
    id="memory-fits",
    actions=("warn", "refuse"),
    title="Weights, overhead and one request of full length fit into a node",
    why=(
        "If the model does not fit, vLLM fails after minutes of loading, when the old server is already stopped. "
        "sparkops can only estimate the memory, so it refuses only if the weights are larger than the memory of a "
        "node, or weights and overhead (without CUDA graphs) larger than the engine's share of it."
    ),
    source="the models' config.json; vLLM's logs on GB10s (eugr/spark-vllm-docker #396)",
    example_hit=Example(image="vllm-node", model=MINIMAX, args={"gpu-memory-utilization": 0.9}),
    example_miss=Example(
        image="vllm-node",
        model=MINIMAX,
        topology="cluster",
        args={"gpu-memory-utilization": 0.8, "max-model-len": 65536},
    ),
)
def memory_fits(effective: Effective, shape: Shape) -> Verdict | None:
    """What the estimate rules out, with what would fit; a node's own memory is for the check model-memory."""
    found = memory_estimate.estimate(effective, shape)
    if found.fit != "no" or effective.only_on_node:
        return None
    hint = "would fit on a node for itself: " + ", or ".join(found.would_fit) if found.would_fit else ""
    if found.weights is not None and found.weights > found.total:
        message = f"{found.weights:.0f} GiB of weights do not fit into the {found.total:.0f} GiB of a node"
        return refuse(message, hint or "use --topology cluster with more nodes")
    if found.too_small:
        return refuse(found.too_small, hint or "use --topology cluster with more nodes")
    return warn(f"the model may not fit: {found.reason}", hint)
