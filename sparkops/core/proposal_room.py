"""Where a model fits: the smallest topology, share of the memory and context, by the estimate."""

import math
from dataclasses import dataclass, replace

from sparkops.core import memory_estimate, models
from sparkops.core.effective import Overrides, effective
from sparkops.core.memory_estimate import GB10_KIB, Estimate
from sparkops.core.recipe import Recipe, Setting
from sparkops.core.topology import LEAST_CLUSTER, Shape
from sparkops.errors import Refused

USEFUL_CONTEXT, LEAST_CONTEXT = 16384, 2048
"""Tokens. A topology with room for less than the first is taken only if no other has more; below the second, none."""

STEP = 4096
"""Contexts that the memory decides are multiples of this, short ones of a quarter of it."""

LEAST_KV_GIB = 4.0
"""The room for KV cache that is wanted if the need for it is not known."""

MOST_NODES = 16
SIZES = (2, 4, 8, 16)
"""Tensor parallel sizes to try if the number of heads is not known."""


@dataclass(frozen=True)
class WantedNodes:
    """The nodes that a recipe is for: how many, the memory of each; `topology` None is the smallest that fits."""

    count: int
    total_kib: int = GB10_KIB
    topology: str | None = None


@dataclass(frozen=True)
class Room:
    """A topology and a share of the memory. `context` is what fits, None if the need for KV cache is not known."""

    nodes: int
    share: float
    estimate: Estimate
    context: int | None

    @property
    def shape(self) -> Shape:
        return shape(self.nodes)


def shape(nodes: int) -> Shape:
    return Shape("cluster", nodes, "mp", "cluster") if nodes >= LEAST_CLUSTER else Shape("solo", 1, "mp", "solo")


def find(recipe: Recipe, wanted: WantedNodes, shares: tuple[float, ...], useful: int) -> Room:
    """The first topology with a useful context, from one node on, else the first at all; raises Refused."""
    counts = _counts(recipe)
    if wanted.topology is None:
        counts = tuple(count for count in counts if count <= wanted.count)
    else:
        counts = tuple(count for count in counts if (count > 1) == (wanted.topology == "cluster"))
    if room := _first(recipe, counts, wanted.total_kib, shares, useful):
        return room
    elsewhere = _first(recipe, _counts(recipe), wanted.total_kib, shares, useful)
    raise _refusal(recipe, wanted, elsewhere)


def longest(recipe: Recipe, room: Room, total_kib: int, **args: object) -> int:
    """The longest context of one request in this room, with some flags changed."""
    return _estimate(recipe, room.nodes, room.share, total_kib, **args).longest or 0


def rounded(tokens: int) -> int:
    step = STEP if tokens >= USEFUL_CONTEXT else STEP // 4
    return tokens // step * step


def _counts(recipe: Recipe) -> tuple[int, ...]:
    shape = recipe.metadata.architecture
    return tuple(count for count in (1, *(models.working_counts(shape) if shape else SIZES)) if count <= MOST_NODES)


def _first(
    recipe: Recipe, counts: tuple[int, ...], total_kib: int, shares: tuple[float, ...], useful: int
) -> Room | None:
    rooms = [room for count in counts for share in shares if (room := _room(recipe, count, share, total_kib))]
    useful = min(useful, recipe.metadata.architecture.context if recipe.metadata.architecture else 0)
    return next((room for room in rooms if room.context is None or room.context >= useful), next(iter(rooms), None))


def _room(recipe: Recipe, nodes: int, share: float, total_kib: int) -> Room | None:
    """None if weights, overhead and a short context do not fit."""
    found = _estimate(recipe, nodes, share, total_kib)
    if found.left < memory_estimate.GOOD_LEFT_GIB or found.kv_cache is None:
        return None
    architecture = recipe.metadata.architecture
    if architecture is None:
        return Room(nodes, share, found, None) if found.kv_cache >= LEAST_KV_GIB else None
    most = found.longest or 0
    context = architecture.context if most >= architecture.context else rounded(most)
    if context < min(LEAST_CONTEXT, architecture.context):
        return None
    return Room(nodes, share, _estimate(recipe, nodes, share, total_kib, **{"max-model-len": context}), context)


def _estimate(recipe: Recipe, nodes: int, share: float, total_kib: int, **args: object) -> Estimate:
    """The estimate with this share; `args` are further flags."""
    given = {"gpu-memory-utilization": share, "tensor-parallel-size": nodes, **args}
    changed = replace(recipe, args={**recipe.args, **{name: Setting(value, "") for name, value in given.items()}})
    place = shape(nodes)
    return memory_estimate.estimate(effective(changed, place.kind, Overrides()), place, total_kib)


def _refusal(recipe: Recipe, wanted: WantedNodes, elsewhere: Room | None) -> Refused:
    size = f"{recipe.metadata.weights_gib:.0f} GiB of weights"
    memory = f"{math.ceil(wanted.total_kib / 2**20 / 64) * 64} GB"
    nodes = "one node" if wanted.topology == "solo" or wanted.count == 1 else f"{wanted.count} nodes"
    message = f"{recipe.model} does not fit into {nodes} of {memory}: {size}, overhead and KV cache need more"
    smaller = "look on the hub for this model with fewer bits (NVFP4, AWQ, FP8)"
    if elsewhere is None:
        return Refused(f"{message}; {MOST_NODES} nodes are not enough either", hint=smaller)
    if elsewhere.nodes == 1:
        split = f"no cluster of up to {MOST_NODES} nodes can share the attention heads of {recipe.model} evenly"
        return Refused(split, hint="it fits into one node: leave out --topology cluster")
    return Refused(message, hint=f"{smaller}, or write the recipe for {elsewhere.nodes} nodes: --topology cluster")
