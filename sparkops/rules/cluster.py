"""What changes, must change or cannot work when a model spans nodes, and when it does not."""

from functools import partial

from sparkops.core import memory_estimate, models
from sparkops.core.effective import Effective
from sparkops.core.findings import SettingChange
from sparkops.core.recipe import PARALLEL
from sparkops.core.topology import Shape
from sparkops.rules import data_parallel
from sparkops.rules.graphs import wants_graphs
from sparkops.rules.rule import Example, Rule, Verdict, fix, image, refuse, set_args, warn

CLUSTER_FLAGS = (
    "distributed-executor-backend",
    *(f"{way}-parallel-size" for way in PARALLEL if way != "tensor"),
    "decode-context-parallel-size",
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
        larger = "raise the recipe's parallel sizes with --set" if effective.span else "select more nodes"
        hint = larger if kind == "cluster" else "use --topology cluster"
        return refuse(f"{name} needs at least {nodes.min} nodes, but {shape.topology} uses {shape.span}", hint)
    if nodes.max is not None and shape.span > nodes.max:
        hint = "lower the recipe's parallel sizes with --set" if nodes.max > 1 else "use --topology solo"
        most = "1 node" if nodes.max == 1 else f"{nodes.max} nodes"
        return refuse(f"{name} runs on at most {most}, but {shape.topology} uses {shape.span}", hint)
    return None


@partial(
    Rule,
    id="cluster-backend",
    actions=("fix", "warn", "refuse"),
    title="The parallel sizes fill the nodes of the cluster, and the executor is one that the image has",
    why=(
        "A GB10 has one GPU. If the parallel sizes multiplied are not the number of nodes, the engine waits half an "
        "hour for a Ray placement group or does not start. The number of attention heads must be a multiple of the "
        "tensor parallel size. A recipe without parallel sizes gets a tensor parallel size: the number of nodes."
    ),
    source="vLLM 0.32; eugr/spark-vllm-docker, run-recipe.py; corti.com, 2026-06 (NGC images without Ray)",
    example_hit=Example(topology="cluster"),
    example_miss=Example(topology="cluster", args=GRAPHS_ARGS),
    final=True,
)
def cluster_backend(effective: Effective, shape: Shape) -> Verdict | None:
    if shape.kind != "cluster":
        return None
    if shape.executor == "ray" and image(effective).ray is False:
        return refuse(f"{effective.image} has no Ray", "use --executor mp, which needs no Ray")
    if effective.span not in (None, shape.span):
        return _unfilled(effective, shape)
    wanted: dict[str, object] = {"distributed-executor-backend": shape.executor}
    each = " a copy" if shape.copies > 1 else ""
    joined = f"{shape.span} nodes{each}, joined by executor {shape.executor}"
    if image(effective).ray is False and effective.value("distributed-executor-backend") == "ray":
        joined += f", because {effective.image} has no Ray"
    if effective.span is None:
        wanted = {"tensor-parallel-size": shape.span, **wanted}
        joined = f"the recipe sets no parallel sizes: tensor parallel size {shape.span} for {joined}"
    changes = set_args(effective, wanted)
    return _indivisible(effective, shape, changes) or fix(joined, changes)


@partial(
    Rule,
    id="solo-no-cluster-flags",
    actions=("fix", "warn"),
    title="A server on one node has no parallel sizes and no executor",
    why=(
        "A GB10 has one GPU. With tensor parallel size 2 the engine exits, because it needs two GPUs. Without it, one "
        "node must hold all of a model that its author spread over several."
    ),
    source="vLLM 0.32; eugr/spark-vllm-docker also removes these flags",
    example_hit=Example(args={"tensor-parallel-size": 2}),
    example_miss=Example(args={"tensor-parallel-size": 1}),
)
def solo_no_cluster_flags(effective: Effective, shape: Shape) -> Verdict | None:
    if shape.kind == "cluster":
        return None
    wanted: dict[str, int | None] = dict.fromkeys(CLUSTER_FLAGS)
    wanted |= {name: None for name in data_parallel.SEVERAL_APIS if effective.value(name)}
    if "tensor-parallel-size" in effective.args:
        wanted["tensor-parallel-size"] = 1
    changes = set_args(effective, wanted)
    if (effective.span or 1) == 1:
        return fix("a server on one node with one GPU needs no parallel sizes and no executor", changes)
    found = memory_estimate.estimate(effective, shape)
    size = "sparkops does not know the size of its weights"
    if found.weights is not None:
        size = f"its weights need {found.weights:.0f} GiB, and a node has {found.total:.0f} GiB"
    message = (
        f"the recipe is for {effective.span} nodes ({_sizes(effective)}), but here one node holds the model: {size}"
    )
    return Verdict("warn", message, "to run it as its author does, use --topology cluster", changes)


@partial(
    Rule,
    id="cluster-eager",
    actions=("fix", "warn"),
    title="CUDA graphs are off over several nodes with images that crash or hang",
    why=(
        "With the mxfp4 image, CUDA graphs with tensor parallelism over nodes crash at the first request. With NCCL "
        "2.28, they hang: one node is busy and the other idle. NCCL 2.30.4 does not hang. Most two-node recipes of "
        "other images run with graphs. If your build runs graphs, use --allow cluster-eager."
    ),
    source=(
        "kubis.ai, article 8 of 9; eugr/spark-vllm-docker #31, #35, #334; vllm-project/vllm #52504; opposite "
        "results: christopherowen/spark-vllm-mxfp4-docker, README (72 tokens/s with graphs, 69 without)"
    ),
    example_hit=Example(topology="cluster", args=GRAPHS_ARGS),
    example_miss=Example(topology="cluster", image="vllm-node", args=GRAPHS_ARGS, nccl="2.30.4"),
)
def cluster_eager(effective: Effective, shape: Shape) -> Verdict | None:
    known = image(effective)
    if shape.kind != "cluster" or not effective.exchanges or effective.eager:
        return None
    evidence = _against_graphs(effective)
    if evidence and not wants_graphs(effective):
        return fix(f"CUDA graphs are switched off: {evidence}", set_args(effective, {"enforce-eager": True}))
    if not evidence and known.graphs_hang is False:
        return None
    version = f"this image has {known.nccl}" if known.nccl else "this image's version is not known yet"
    evidence = evidence or f"with some versions of NCCL they hang there, and {version}"
    message = f"CUDA graphs stay on over {shape.span} nodes; {evidence}"
    hint = "if the graphs hang, the engine starts again without them by itself; if it crashes, use --set "
    return warn(message, f"{hint}args.enforce-eager=true")


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


def _against_graphs(effective: Effective) -> str:
    """Why graphs over nodes would not work with this image; empty if nothing is known against them."""
    known = image(effective)
    if known.kind == "mxfp4":
        return "with the mxfp4 image, they crash over several nodes"
    if known.kind == "unknown" and known.graphs_hang:
        return f"they hang over several nodes with NCCL {known.nccl}"
    return ""


def _sizes(effective: Effective) -> str:
    return " x ".join(f"{way} parallel size {size}" for way, size in effective.sizes.items() if size > 1)


def _unfilled(effective: Effective, shape: Shape) -> Verdict:
    if effective.span == 1:
        change = f"--set args.tensor-parallel-size={shape.span}"
        return refuse("the recipe's parallel sizes are for one node", f"use --topology solo, or {change}")
    message = f"{_sizes(effective)} needs {effective.span} nodes, but this cluster has {shape.span}"
    return refuse(message, "select more nodes, or change the sizes, such as with --set args.tensor-parallel-size=2")


def _indivisible(effective: Effective, shape: Shape, changes: tuple[SettingChange, ...]) -> Verdict | None:
    """A tensor parallel size that does not divide the heads; the author of a recipe may have patched the model."""
    known = effective.known_model
    parallel = effective.parallel("tensor") if effective.sizes else shape.span
    if known is None or models.splits(known, parallel):
        return None
    message = f"tensor parallel size {parallel} does not divide the {known.heads} attention heads of {known.id}"
    others = shape.copies * (effective.span or parallel) // parallel
    counts = ", ".join(str(count * others) for count in models.working_counts(known))
    said = effective.args.get("tensor-parallel-size")
    if said is None or said.origin.startswith("--"):
        layers = "" if effective.sizes else f", or split it by layers: --set args.pipeline-parallel-size={parallel}"
        return refuse(message, f"name fewer or more nodes with --limit ({counts} work){layers}")
    return Verdict(
        "warn",
        message,
        f"the engine starts only if a mod pads the heads; without one, these numbers of nodes work: {counts}",
        changes,
    )
