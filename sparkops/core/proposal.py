"""A first recipe for a model: image, topology, memory share, context and parsers, each with its reason."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sparkops.core import proposal_room
from sparkops.core.flags import FlagTable
from sparkops.core.memory_estimate import Estimate
from sparkops.core.model_families import Family, family
from sparkops.core.model_snapshot import ModelSnapshot
from sparkops.core.models import Architecture, splits
from sparkops.core.proposal_room import Room, WantedNodes
from sparkops.core.recipe import MOUNTS, Metadata, Recipe, Setting
from sparkops.core.topology import LEAST_CLUSTER, Shape

MXFP4_IMAGE, IMAGE = "vllm-node-mxfp4", "vllm-node"
SHARES = {MXFP4_IMAGE: (0.70, 0.80), IMAGE: (0.80, 0.85)}
"""Values of --gpu-memory-utilization to try: those of the included recipes, then the most that others set."""

POOLING_SHARES, WHOLE = tuple(step / 20 for step in range(2, 18)), 10**9
"""For embeddings: the smallest share that holds a request of the model's whole context."""

MXFP4_ARGS: Mapping[str, Any] = {
    "quantization": "mxfp4", "mxfp4-backend": "CUTLASS", "mxfp4-layers": "moe,qkv,o,lm_head",
    "attention-backend": "FLASHINFER", "kv-cache-dtype": "fp8", "max-num-batched-tokens": 8192,
}  # fmt: skip
"""How the included recipes serve gpt-oss."""

FORMATS = {
    "nvfp4": "4-bit weights (NVFP4), which a GB10 computes with directly",
    "mxfp4": "4-bit weights (MXFP4)",
    "fp8": "8-bit weights (FP8), which a GB10 computes with directly",
    "awq": "4-bit weights (AWQ)",
    "gptq": "quantised weights (GPTQ)",
    "int4": "4-bit weights",
    "bf16": "16-bit weights, not quantised",
    "fp16": "16-bit weights, not quantised",
    "fp32": "32-bit weights, not quantised",
}


@dataclass(frozen=True)
class Line:
    """One value of a recipe; `key` is a key of the file, or `args.FLAG`."""

    key: str
    value: Any
    reason: str


@dataclass(frozen=True)
class Proposal:
    """The recipe as lines; `left_out` are values that are not set, and why."""

    snapshot: ModelSnapshot
    shape: Shape
    estimate: Estimate
    lines: tuple[Line, ...]
    left_out: tuple[str, ...]


def propose(snapshot: ModelSnapshot, nodes: WantedNodes, flags: FlagTable) -> Proposal:
    """Raises Refused if the model does not fit, UsageError if the snapshot has no weights or no configuration."""
    mxfp4 = "gpt_oss" in snapshot.types and snapshot.quantisation == "mxfp4"
    image, args = (MXFP4_IMAGE, MXFP4_ARGS) if mxfp4 else (IMAGE, {"load-format": "fastsafetensors"})
    recipe = _recipe(snapshot, image, args, flags)
    shares, useful = (POOLING_SHARES, WHOLE) if snapshot.pooling else (SHARES[image], proposal_room.USEFUL_CONTEXT)
    room = proposal_room.find(recipe, nodes, shares, useful)
    parsers = () if snapshot.pooling else tuple(_parsers(snapshot, family(snapshot.types, snapshot.model)))
    lines = (
        *_revision(snapshot),
        _image(snapshot, image),
        *_topology(snapshot, room, nodes),
        _share(snapshot, room),
        *_context(snapshot, recipe, room, nodes),
        *_given(args, mxfp4),
        *_pooling(snapshot),
        *(one for one in parsers if isinstance(one, Line)),
    )
    left_out = (*(one for one in parsers if isinstance(one, str)), *_unknown(snapshot, room))
    return Proposal(snapshot, room.shape, room.estimate, lines, left_out)


def _recipe(snapshot: ModelSnapshot, image: str, args: Mapping[str, Any], flags: FlagTable) -> Recipe:
    """The recipe before its size is known, for the estimate."""
    found = snapshot.architecture
    about = Metadata(weights_gib=snapshot.weights_gib, architecture=None if isinstance(found, str) else found)
    settings = {name: Setting(value, "") for name, value in args.items()}
    return Recipe("new", "new.yml", snapshot.model, image, flags, args=settings, mounts=tuple(MOUNTS), metadata=about)


def _revision(snapshot: ModelSnapshot) -> Iterator[Line]:
    if snapshot.revision:
        yield Line("revision", snapshot.revision, "as you asked; without it, the nodes take the main branch")


def _image(snapshot: ModelSnapshot, image: str) -> Line:
    if image == MXFP4_IMAGE:
        return Line("container", image, "the image with fast MXFP4 kernels for a GB10; the included recipes use it")
    weights = FORMATS.get(snapshot.quantisation, "weights in a format that sparkops does not know")
    kind = snapshot.class_name or "a class that config.json does not name"
    return Line("container", image, f"the image that follows upstream vLLM, for {kind} with {weights}")


def _topology(snapshot: ModelSnapshot, room: Room, nodes: WantedNodes) -> Iterator[Line]:
    found = snapshot.architecture
    size = f"{snapshot.weights_gib:.1f} GiB of weights and about {room.estimate.overhead:.0f} GiB overhead"
    if room.nodes == 1:
        yield Line("nodes", {"min": 1}, f"one node is enough: {size} fit into {room.estimate.total:.0f} GiB")
        if not isinstance(found, str) and not splits(found, LEAST_CLUSTER):
            yield Line("only", ["solo"], f"two nodes cannot share the {found.heads} attention heads evenly")
        return
    heads = "" if isinstance(found, str) else f"divides the {found.heads} attention heads and "
    why = f"{size} do not fit into one node with a useful context" if nodes.topology is None else "as you asked"
    yield Line("only", ["cluster"], why)
    yield Line("nodes", {"min": room.nodes}, f"each node then holds {room.estimate.weights:.1f} GiB of the weights")
    yield Line("args.tensor-parallel-size", room.nodes, f"the smallest size that {heads}leaves room for the KV cache")


def _share(snapshot: ModelSnapshot, room: Room) -> Line:
    left = f"about {room.estimate.left:.0f} GiB stay free for the system and the page cache"
    if snapshot.pooling:
        left = "the least that one request needs, because embeddings need no large KV cache"
    return Line("args.gpu-memory-utilization", room.share, f"of {room.estimate.total:.0f} GiB; {left}")


def _context(snapshot: ModelSnapshot, recipe: Recipe, room: Room, nodes: WantedNodes) -> Iterator[Line]:
    found, guess = snapshot.architecture, room.estimate
    if isinstance(found, str) or room.context is None:
        return
    cost = f"{guess.kv_per_token:.0f} KiB for each token{_kept(found)}"
    if room.context == found.context:
        held = f"the KV cache of {guess.kv_cache:.0f} GiB holds {guess.sequences:.1f} such requests"
        yield Line("args.max-model-len", room.context, f"the model's maximum; {held}, at {cost}")
        return
    reason = f"the model allows {found.context}, but {guess.kv_cache:.1f} GiB of KV cache hold only this, at {cost}"
    longer = proposal_room.longest(recipe, room, nodes.total_kib, **{"kv-cache-dtype": "fp8"})
    if (more := min(found.context, proposal_room.rounded(longer))) > room.context:
        reason += f"; with kv-cache-dtype: fp8, {more} would fit"
    yield Line("args.max-model-len", room.context, reason)


def _kept(found: Architecture) -> str:
    """What makes the KV cache smaller than that of an ordinary transformer."""
    if found.latent:
        return " (a latent cache, MLA, which every node keeps whole)"
    others = f", {found.sliding} a window of {found.window} tokens" * bool(found.sliding)
    others += f", {found.recurrent} a state of one size" * bool(found.recurrent)
    return f" ({found.full} layers keep the whole context{others})" if others else ""


def _given(args: Mapping[str, Any], mxfp4: bool) -> Iterator[Line]:
    fast = "reads the files of weights in parallel; the image has the loader"
    for name, value in args.items():
        yield Line(f"args.{name}", value, "as the included recipes serve gpt-oss" if mxfp4 else fast)


def _pooling(snapshot: ModelSnapshot) -> Iterator[Line]:
    if snapshot.pooling:
        yield Line("args.runner", "pooling", "the model answers with embeddings; sparkops tests it with such a request")


def _parsers(snapshot: ModelSnapshot, kin: Family | None) -> Iterator[Line | str]:
    """The parsers as lines; a text for one that is left out."""
    if kin is None:
        types = ", ".join(snapshot.types) or "unknown"
        yield (
            f"tool-call-parser and reasoning-parser: sparkops knows no parser for models of type {types}; see the "
            "model's page on the hub"
        )
        return
    template = snapshot.template
    confirmed = "" if template else "; no file has the chat template, which would confirm it"
    why = f"the format of {kin.title} ({kin.source}){confirmed}"
    if not kin.tools:
        yield f"tool-call-parser: sparkops knows none for {kin.title}"
    elif template is not None and "tool" not in template:
        yield "tool-call-parser: the model's chat template has no tools"
    else:
        yield Line("args.enable-auto-tool-choice", True, "vLLM then reads tool calls from the model's answers")
        yield Line("args.tool-call-parser", kin.tools, why)
    if kin.reasoning and template is not None and "think" not in template and kin.reasoning != "openai_gptoss":
        yield "reasoning-parser: the model's chat template has no thinking"
    elif kin.reasoning:
        yield Line("args.reasoning-parser", kin.reasoning, why)


def _unknown(snapshot: ModelSnapshot, room: Room) -> Iterator[str]:
    """What the files do not say, or what a person must decide."""
    if isinstance(snapshot.architecture, str):
        yield (
            f"max-model-len: the KV cache is not known ({snapshot.architecture}), so vLLM takes the model's maximum, "
            "or refuses to start; then set a smaller value"
        )
    if snapshot.own_code:
        yield (
            "trust-remote-code: the repository has Python code. vLLM has code of its own for most models; if it asks "
            "for this flag, read that code first"
        )
    if snapshot.quantisation == "unknown":
        yield "quantization: no file says the format of the weights; vLLM decides by itself"
