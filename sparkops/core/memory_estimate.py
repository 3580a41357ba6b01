"""An estimate of each node's memory (weights, KV cache, overhead, what is left), and settings that would fit.

The KV cache is exact if the architecture is known. The overhead is fitted to boot logs of GB10s (MiniMax-M2.7 over
two, spark-vllm-docker #396; activations at 2048 and 8224 batched tokens).
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

from sparkops.core import images, models, needs
from sparkops.core.effective import Effective
from sparkops.core.models import KnownModel
from sparkops.core.sizes import GIB_KIB
from sparkops.core.topology import Shape
from sparkops.core.utilization import is_old, requested_share

Fit = Literal["fits", "tight", "no", "unknown"]

GB10_KIB = 127_535_056
"""MemTotal of a GB10 with 128 GB, used without a fact."""

OVER_NODES = "--topology cluster"
SYSTEM_GIB = 3.5
"""What DGX OS itself uses when nothing runs; MemAvailable, if unknown, is the total less this."""

LEAST_LEFT_GIB, GOOD_LEFT_GIB = 2.0, 5.0
"""Memory left to the system: below the first the kernel kills processes, below the second it is tight."""

BATCHED = 8192
"""The engine's default for the tokens of one step."""

BASE_GIB, ACTIVATION_GIB, GRAPHS_GIB = 3.2, 0.162, 5.0
"""Overhead: context and communication; activations of 1024 tokens in one step, for each 1024 of the hidden size; CUDA
graphs, none when eager."""

HIDDEN = 4096
"""The hidden size of an unknown model."""

BEYOND_GIB, UNCOUNTED_GRAPHS_GIB = 3.0, 2.0
"""What images older than vLLM 0.21 take beyond their share: only there does 0.95 run out of memory."""

_STEP = 1024
"""Contexts are suggested in multiples of this."""


@dataclass(frozen=True)
class Estimate:
    """One node's share, in GiB unless named otherwise. `context` is what one request may use, in tokens.

    `sequences` is how many whole contexts the KV cache holds, `tokens` the number that vLLM logs as its size,
    `longest` the longest context that one request could have. None is "not known".
    """

    fit: Fit
    total: float
    available: float
    claimed: float
    weights: float | None
    overhead: float
    graphs: float = 0
    """The part of `overhead` that is for CUDA graphs: an upper bound, of which small models need a part."""

    beyond: float = 0
    """The part of `claimed` that the image takes beyond the engine's share."""

    kv_cache: float | None = None
    kv_per_token: float | None = None
    """KiB, of the layers that keep the whole context."""

    context: int | None = None
    per_sequence: float | None = None
    sequences: float | None = None
    tokens: int | None = None
    longest: int | None = None
    reason: str = ""
    would_fit: tuple[str, ...] = ()
    """What to set instead, as words of a command line with their effect."""

    @property
    def left(self) -> float:
        return self.available - self.claimed

    @property
    def share(self) -> float:
        """What the engine requests (--gpu-memory-utilization)."""
        return self.claimed - self.beyond

    @property
    def least_share(self) -> float | None:
        """The least --gpu-memory-utilization for weights, overhead and one request; None if the size is unknown."""
        if self.weights is None:
            return None
        return math.ceil((self.weights + self.overhead + (self.per_sequence or 1)) / self.total * 100) / 100

    @property
    def largest_share(self) -> float:
        """The largest --gpu-memory-utilization that leaves enough to the system, in hundredths."""
        return math.floor((self.available - self.beyond - GOOD_LEFT_GIB) / self.total * 100) / 100

    @property
    def too_small(self) -> str:
        """Why vLLM has no KV cache: weights and overhead, even without CUDA graphs, exceed the share; else empty."""
        if self.weights is None or self.kv_per_token is None or (self.kv_cache or 0) + self.graphs > 0:
            return ""
        overhead = self.overhead - self.graphs
        return (
            f"{self.weights:.0f} GiB of weights and {overhead:.1f} GiB overhead exceed the engine's share of "
            f"{self.share:.0f} GiB, so nothing is left for the KV cache"
        )


def least_share_of(model: str, nodes: int, total_kib: float) -> float:
    """The share of a node's memory without which no engine of this model starts over these nodes; 0 if unknown."""
    known = models.known(model)
    weights = known.weights_gib / nodes if known else 0
    return (weights + BASE_GIB) * GIB_KIB / total_kib if weights else 0.0


@dataclass(frozen=True)
class _Need:
    """What is needed on one node, in bytes and tokens."""

    model: KnownModel
    kv_bytes: float
    shared: int
    """The number of tensor parallel ranks that share the heads."""

    stages: int
    context: int
    batched: int
    given: bool = False
    """The recipe gives the size of the cache, so the share has no effect."""

    draft: KnownModel | None = None

    def per_layer(self, model: KnownModel) -> float:
        """Bytes that one token takes in one layer of a model."""
        if model.latent:
            return model.latent * self.kv_bytes
        heads = max(1, math.ceil(model.kv_heads / self.shared))
        return 2 * heads * model.head_dim * self.kv_bytes

    @property
    def per_token(self) -> float:
        draft = self.per_layer(self.draft) * self.draft.full if self.draft else 0
        return self.per_layer(self.model) * self.model.full / self.stages + draft

    @property
    def fixed(self) -> float:
        """Bytes of a sequence of any length: windows (with the tokens of one step) and states."""
        window = min(self.context, self.model.window - 1 + self.batched) if self.model.sliding else 0
        states = self.model.recurrent * self.model.state_kib * 1024 / self.shared
        return (self.model.sliding * self.per_layer(self.model) * window + states) / self.stages

    @property
    def per_sequence(self) -> float:
        return self.per_token * self.context + self.fixed

    def longest(self, cache: float) -> int:
        if cache <= self.fixed:
            return 0
        most = int((cache - self.fixed) / self.per_token) if self.per_token else self.model.context
        return min(self.model.context, most)


def estimate(
    effective: Effective,
    shape: Shape,
    total_kib: int = GB10_KIB,
    available_kib: int | None = None,
    draft_gib: float | None = None,
) -> Estimate:
    """The estimate for one node of this shape. `draft_gib` is the size of the draft model as a node has it."""
    found, recipe = _estimate(effective, shape, total_kib, available_kib, draft_gib), effective.recipe
    if recipe.nodes.max == 1 or "cluster" not in (recipe.only or ("cluster",)):
        return replace(found, would_fit=tuple(way for way in found.would_fit if not way.startswith(OVER_NODES)))
    return found


def _estimate(
    effective: Effective, shape: Shape, total_kib: int, available_kib: int | None, draft_gib: float | None
) -> Estimate:
    total = total_kib / 2**20
    available = available_kib / 2**20 if available_kib is not None else total - SYSTEM_GIB
    found = effective.known_model
    parallel, stages, copies = _split(effective, shape)
    size = effective.recipe.metadata.weights_gib or (found.weights_gib if found else None)
    draft, more, uncounted = _draft(effective, draft_gib)
    weights, unsized = _weights(effective, size, parallel * stages, copies)
    weights = weights + more / parallel if weights else None
    old = is_old(effective)
    batched = max(1.0, effective.number("max-num-batched-tokens", BATCHED))
    graphs = 0.0 if old or effective.eager else GRAPHS_GIB
    overhead = BASE_GIB + ACTIVATION_GIB * batched / 1024 * (found.hidden if found else HIDDEN) / 1024 + graphs
    beyond = BEYOND_GIB + (0 if effective.eager else UNCOUNTED_GRAPHS_GIB) if old else 0
    if fixed := effective.number("kv-cache-memory-bytes", 0):
        share = (weights or 0) + overhead + fixed / 2**30
    else:
        share = total * requested_share(effective)
    base = Estimate("unknown", total, available, share + beyond, weights, overhead, graphs, beyond)
    if weights is None:
        return _judged(base, None, shape, unsized)
    cache = fixed / 2**30 if fixed else share - weights - overhead
    if found is None:
        return _judged(replace(base, kv_cache=cache), None, shape, "the architecture of this model is unknown")
    said = int(effective.number("max-model-len", 0))
    context = said if said > 0 else found.context
    need = _Need(found, _kv_bytes(effective), parallel, stages, context, int(batched), bool(fixed), draft)
    return _judged(_counted(base, need, cache), need, shape, uncounted or unsized)


def bytes_per_token(effective: Effective) -> float | None:
    """The least that one token reads of the weights, in GB, with the bits that each part is served in."""
    found = effective.known_model
    if found is None or not found.reads:
        return None
    quantised = effective.mxfp4_layers
    return sum(part.millions * (models.MXFP4 if part.name in quantised else part.bits) for part in found.reads) / 8000


def _draft(effective: Effective, size: float | None) -> tuple[KnownModel | None, float, str]:
    """The draft model if the table has it, its size in GiB, and why the size is not counted if it is unknown."""
    name = needs.draft(effective)
    known = models.known(name) if name else None
    size = size or (known.weights_gib if known else None)
    unknown = f"the size of the draft model {name} is unknown" if name and not size else ""
    return known, size or 0.0, unknown


def _weights(effective: Effective, size: float | None, ranks: int, copies: int) -> tuple[float | None, str]:
    """The weights of one of a copy's ranks, in GiB, and what is unknown of them: then it is the least that they are.

    Data parallel copies share the experts of a model.
    """
    if not size:
        return None, "the size of this model's weights is unknown"
    if copies == 1 or effective.experts is False:
        return size / ranks, ""
    beside = effective.known_model.beside_experts if effective.known_model else None
    if beside is None:
        return size / ranks / copies, "how much of this model's weights are experts is unknown"
    return (beside + (size - beside) / copies) / ranks, ""


def _split(effective: Effective, shape: Shape) -> tuple[int, int, int]:
    """Tensor parallel ranks and pipeline stages of each data parallel copy, and the number of these copies."""
    if shape.kind != "cluster":
        return 1, 1, 1
    tensor = effective.parallel("tensor") if effective.sizes else shape.span
    return tensor, effective.parallel("pipeline"), effective.parallel("data")


def _kv_bytes(effective: Effective) -> float:
    kind = str(effective.value("kv-cache-dtype", "auto"))
    if kind == "nvfp4":
        return 0.5625
    return 1.0 if kind.startswith("fp8") else 2.0


def _counted(base: Estimate, need: _Need, cache: float) -> Estimate:
    room = max(0.0, cache) * 2**30
    sequences = room / need.per_sequence
    return replace(
        base,
        kv_cache=cache,
        kv_per_token=need.per_token / 1024,
        context=need.context,
        per_sequence=need.per_sequence / 2**30,
        sequences=sequences,
        tokens=int(sequences * need.context),
        longest=need.longest(room),
    )


def _judged(found: Estimate, need: _Need | None, shape: Shape, unknown: str) -> Estimate:
    """The verdict, its reason, and what would fit instead."""
    if found.left < LEAST_LEFT_GIB:
        reason = f"the engine takes {found.claimed:.0f} of {found.available:.0f} GiB; {LEAST_LEFT_GIB:g} must stay free"
        return replace(found, fit="no", reason=reason, would_fit=(*_largest(found, need), *_nodes(found, need, shape)))
    if found.kv_cache is not None and found.kv_cache <= 0:
        reason = (
            f"{found.weights:.0f} GiB of weights and {found.overhead:.0f} GiB overhead leave nothing for the KV cache"
        )
        return replace(found, fit="no", reason=reason, would_fit=(*_more(found, need), *_nodes(found, need, shape)))
    if found.sequences is not None and found.sequences < 1:
        reason = (
            f"one request of {found.context} tokens needs {found.per_sequence:.1f} GiB of KV cache, but only "
            f"{found.kv_cache:.1f} GiB are left"
        )
        return replace(found, fit="no", reason=reason, would_fit=(*_shorter(found), *_more(found, need)))
    if found.left < GOOD_LEFT_GIB:
        reason = f"only {found.left:.1f} GiB are left for system and page cache; {GOOD_LEFT_GIB:.0f} or more are better"
        return replace(found, fit="tight", reason=reason, would_fit=_largest(found, need))
    return replace(found, fit="unknown", reason=unknown) if unknown else replace(found, fit="fits")


def _shorter(found: Estimate) -> tuple[str, ...]:
    """The longest context that the cache has room for."""
    longest = (found.longest or 0) // _STEP * _STEP
    return (f"--set args.max-model-len={longest}",) if longest else ()


def _more(found: Estimate, need: _Need | None) -> tuple[str, ...]:
    """The share that one whole request needs if the node has it, else the largest share that it has."""
    share = found.least_share or 0
    if share <= found.largest_share and not (need and need.given):
        return (f"--set args.gpu-memory-utilization={share:.2f}",)
    return _largest(found, need)


def _largest(found: Estimate, need: _Need | None) -> tuple[str, ...]:
    """The largest share that leaves enough to the system, with the longest context that fits into it."""
    share = found.largest_share
    words = f"--set args.gpu-memory-utilization={share:.2f}"
    if need is None or found.weights is None:
        return (words,) if found.total * share > (found.weights or 0) + found.overhead else ()
    room = (found.total * share - found.weights - found.overhead) * 2**30
    if need.given:
        words = f"--set args.kv-cache-memory-bytes={max(0, int(room))}"
    if room >= need.per_sequence:
        return (f"{words} (room for {room / need.per_sequence:.1f} requests of {need.context} tokens)",)
    longest = need.longest(room) // _STEP * _STEP
    return (f"{words} --set args.max-model-len={longest}",) if longest else ()


def _nodes(found: Estimate, need: _Need | None, shape: Shape) -> tuple[str, ...]:
    """The smallest cluster that the weights fit into, for a model that is not split in another way than by tensors."""
    if found.weights is None or shape.span != (need.shared if need else 1):
        return ()
    shared, counts = (need.shared, models.working_counts(need.model)) if need else (1, (2,))
    whole, share = found.weights * shared, min(found.share, found.total * found.largest_share)
    for count in counts:
        if count > shape.span and whole / count + found.overhead < share - 1:
            return (f"{OVER_NODES} --set args.tensor-parallel-size={count} (over {count} nodes)",)
    return ()


def marlin_note(effective: Effective) -> str:
    """A note on the memory that an MXFP4 model takes while loading on an image without kernels for it; else empty."""
    found = effective.known_model
    if found and found.mxfp4 and images.known(effective.image).stock:
        return "with this image, loading needs up to 118 GB of memory at any gpu-memory-utilization (vllm #43969)"
    return ""
