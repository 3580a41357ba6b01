"""What changes, must change or cannot work when a model spans nodes, and when it does not."""

from functools import partial

from sparkops.core import models
from sparkops.core.recipe import Effective
from sparkops.core.topology import Shape
from sparkops.rules.graphs import captures
from sparkops.rules.rule import Example, Rule, Verdict, fix, image, refuse, set_args, warn

CLUSTER_FLAGS = (
    "distributed-executor-backend",
    "pipeline-parallel-size",
    "data-parallel-size",
    "data-parallel-size-local",
    "data-parallel-backend",
)

GRAPHS_ARGS = {"tensor-parallel-size": 2, "distributed-executor-backend": "ray"}


@partial(
    Rule,
    id="topology-allowed",
    actions=("refuse",),
    title="A recipe runs only in topologies that its author allows",
    why="Some recipes for one node crash on two nodes, and some recipes for two nodes crash on one.",
    source="eugr/spark-vllm-docker: its gpt-oss-120b recipe has solo_only; spark-arena/sparkrun: recipe key max_nodes",
    example_hit=Example(topology="cluster", only=("solo",)),
    example_miss=Example(topology="2x-solo", only=("solo",)),
)
def topology_allowed(effective: Effective, shape: Shape) -> Verdict | None:
    only, nodes = effective.recipe.only, effective.recipe.nodes
    kind = "cluster" if shape.kind == "cluster" else "solo"
    name = effective.recipe.name
    if only and kind not in only:
        instead = "solo" if "solo" in only else "cluster"
        return refuse(f"{name} is only for {' and '.join(only)}, not for {shape.topology}", f"use --topology {instead}")
    if shape.span < nodes.min:
        return refuse(f"{name} needs at least {nodes.min} nodes, but {shape.topology} uses {shape.span}")
    if nodes.max is not None and shape.span > nodes.max:
        hint = "use --limit to select fewer nodes" if nodes.max > 1 else "use --topology solo"
        return refuse(f"{name} runs on at most {nodes.max} nodes, but {shape.topology} uses {shape.span}", hint)
    return None


@partial(
    Rule,
    id="cluster-backend",
    actions=("fix", "refuse"),
    title="The executor and the tensor parallel size match the selected nodes",
    why=(
        "A GB10 has one GPU. If the parallel sizes multiplied are not the number of nodes, the engine waits half an "
        "hour for a Ray placement group or does not start. The number of attention heads must be a multiple of the "
        "tensor parallel size."
    ),
    source="vLLM 0.32; eugr/spark-vllm-docker, run-recipe.py; corti.com, 2026-06 (NGC images without Ray)",
    example_hit=Example(topology="cluster"),
    example_miss=Example(topology="cluster", args=GRAPHS_ARGS),
)
def cluster_backend(effective: Effective, shape: Shape) -> Verdict | None:
    if shape.kind != "cluster":
        return None
    if shape.executor == "ray" and image(effective).ray is False:
        return refuse(f"{effective.image} has no Ray", "use --executor mp, which needs no Ray")
    others = effective.parallel("pipeline") * effective.parallel("data")
    if shape.nodes % others:
        message = f"{shape.nodes} nodes cannot be divided by {others} (pipeline parallel size times data parallel size)"
        return refuse(message, f"use --limit to select a number of nodes that is a multiple of {others}")
    parallel = shape.nodes // others
    if refusal := _indivisible(effective, parallel, others):
        return refusal
    message = f"{shape.nodes} nodes, one GPU each, need tensor parallel size {parallel} and executor {shape.executor}"
    wanted = {"tensor-parallel-size": parallel, "distributed-executor-backend": shape.executor}
    return fix(message, set_args(effective, wanted))


@partial(
    Rule,
    id="solo-no-cluster-flags",
    actions=("fix",),
    title="A server on one node has no parallel sizes and no executor",
    why="A GB10 has one GPU. With tensor parallel size 2 the engine exits, because it needs two GPUs.",
    source="vLLM 0.32; eugr/spark-vllm-docker also removes these flags",
    example_hit=Example(args={"tensor-parallel-size": 2}),
    example_miss=Example(args={"tensor-parallel-size": 1}),
)
def solo_no_cluster_flags(effective: Effective, shape: Shape) -> Verdict | None:
    if shape.kind == "cluster":
        return None
    wanted: dict[str, int | None] = dict.fromkeys(CLUSTER_FLAGS)
    if "tensor-parallel-size" in effective.args:
        wanted["tensor-parallel-size"] = 1
    return fix("a server on one node with one GPU needs no parallel sizes and no executor", set_args(effective, wanted))


@partial(
    Rule,
    id="cluster-eager",
    actions=("fix", "warn"),
    title="CUDA graphs are off with tensor parallelism over several nodes",
    why=(
        "On a GB10 (SM121), CUDA graphs with tensor parallelism over nodes crash at the first request, or hang while "
        "one node is busy and the other idle. Some vLLM builds run graphs at tensor parallel size 2: 72 tokens/s for "
        "gpt-oss-120b, against 69 without graphs. If you have one of these builds, use --allow cluster-eager."
    ),
    source=(
        "kubis.ai, article 8 of 9; eugr/spark-vllm-docker #31, #35, #334; vllm-project/vllm #52504; opposite "
        "results: christopherowen/spark-vllm-mxfp4-docker, README"
    ),
    example_hit=Example(topology="cluster", args=GRAPHS_ARGS),
    example_miss=Example(topology="cluster", args={**GRAPHS_ARGS, "enforce-eager": True}),
)
def cluster_eager(effective: Effective, shape: Shape) -> Verdict | None:
    parallel = effective.parallel("tensor")
    if shape.kind != "cluster" or parallel < 2 or effective.eager:
        return None
    if captures(effective) and image(effective).stock:
        message = "CUDA graphs stay on, because the recipe configures them; over several nodes, they may hang or crash"
        return warn(message, "if the engine hangs or crashes, use --set args.enforce-eager=true")
    message = f"CUDA graphs are switched off, because tensor parallelism (size {parallel}) runs over several nodes"
    return fix(message, set_args(effective, {"enforce-eager": True}))


@partial(
    Rule,
    id="cluster-lm-head",
    actions=("fix",),
    title="With tensor parallelism, lm_head is not quantised",
    why=(
        "The vocabulary of gpt-oss-120b has 201088 tokens. With two nodes, each half has 100544, not a multiple of "
        "128. For the hidden size of 2880, Marlin has no other tile size, so the engine crashes at its start. An "
        "unquantised lm_head costs 9 to 20 % of decode speed, by source. If your build pads lm_head, use --allow "
        "cluster-lm-head."
    ),
    source=(
        "kubis.ai, article 8 of 9; eugr/spark-vllm-docker #136; opposite results: the two-node commands of "
        "christopherowen/spark-vllm-mxfp4-docker and Spark Arena"
    ),
    example_hit=Example(topology="cluster", args={**GRAPHS_ARGS, "mxfp4-layers": "moe,qkv,o,lm_head"}),
    example_miss=Example(args={"mxfp4-layers": "moe,qkv,o,lm_head"}),
)
def cluster_lm_head(effective: Effective, _shape: Shape) -> Verdict | None:
    layers, parallel = effective.value("mxfp4-layers"), effective.parallel("tensor")
    if not isinstance(layers, str) or parallel < 2:
        return None
    kept = ",".join(name for name in effective.mxfp4_layers if name not in ("", "lm_head"))
    message = f"lm_head is not quantised, because the tensor parallel size is {parallel}"
    return fix(message, set_args(effective, {"mxfp4-layers": kept or "moe"}) if kept != layers else ())


def _indivisible(effective: Effective, parallel: int, others: int) -> Verdict | None:
    known = models.known(effective.model)
    if known is None or models.splits(known, parallel):
        return None
    counts = ", ".join(str(count * others) for count in models.working_counts(known))
    message = f"tensor parallel size {parallel} does not divide the {known.heads} attention heads of {known.id}"
    return refuse(message, f"name fewer or more nodes with --limit; numbers of nodes that work: {counts}")
