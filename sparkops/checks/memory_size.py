"""Checks of how much memory a node has: GB10s are sold with 128 GB and with 64 GB, and pairs may be mixed."""

from collections.abc import Iterator

from sparkops.checks.check import CannotTell, Check, Here, PlanCheck, Said, apart, fail, good, read, warn
from sparkops.core import memory_estimate
from sparkops.core.facts import known
from sparkops.core.memory_estimate import Estimate
from sparkops.core.situation import Situation
from sparkops.core.sizes import GIB_KIB, gib
from sparkops.core.topology import SEVERAL

SOLD = (128, 64)
"""Sizes in GB of the machines that are sold."""

FULL, RESERVED = 0.90, 0.70
"""MemTotal in GiB by the size in GB: a whole machine shows 0.95 of it (121.6 of 128); below the second much is gone."""


def sold(total_kib: float) -> int:
    """The size in GB of the machine that shows so much memory."""
    return next((size for size in sorted(SOLD) if total_kib <= size * GIB_KIB), max(SOLD))


@Check(
    id="memory-total",
    title="The node shows all of its memory",
    why=(
        "Linux on a GB10 of 128 GB shows 121.6 GiB (MemTotal 127.5 million kB), on one of 64 GB about half of that. If "
        "it shows less, the kernel reserves memory."
    ),
    source="MemTotal of DGX Spark, ASUS, Dell and MSI machines: 127506432 to 127598832 kB; NVIDIA's recipes for 64 GB",
    hint="find what reserves memory, on the node: sudo dmesg | grep -i reserved; see also the check kernel-kho",
    severity="fail",
    reads=("meminfo",),
).each_node
def total(here: Here) -> Iterator[Said]:
    size = read(here.facts.meminfo).total_kib
    of = sold(size)
    share = size / GIB_KIB / of
    if share < FULL:
        yield (fail if share < RESERVED else warn)(
            f"the node shows {gib(size)} of memory; one of {of} GB shows about {of * 0.95:.0f} GiB"
        )
    else:
        yield good(evidence=f"MemTotal {size} kB")


@PlanCheck(
    id="model-memory",
    title="The model fits into the node's own memory",
    why=(
        "The rules judge a recipe by a node of 128 GB. On a smaller node, each rank holds the same weights, and "
        "--gpu-memory-utilization is a share of the node's own memory. And the rules do not know how large a model is "
        "that neither the recipe nor sparkops' table describes; its files on the nodes tell. If weights and overhead "
        "do not fit, vLLM fails after minutes of loading."
    ),
    source="the estimate of `sparkops recipe show`, with MemTotal, config.json and file sizes of the node",
    hint="select nodes with more memory, or more nodes and a larger tensor parallel size",
    reads=("meminfo", "model"),
).each_node
def model_fits(here: Here) -> Iterator[Said]:
    size, settings = read(here.facts.meminfo).total_kib, here.s.effective
    if here.engine is None or (sold(size) == max(SOLD) and not settings.only_on_node):
        raise CannotTell("applies only to a node with less than 128 GB, or to a model that only its files describe")
    found = memory_estimate.estimate(settings, here.s.placement.shape, size)
    hint = "would fit: " + ", or ".join(found.would_fit) if found.would_fit else ""
    if found.weights is not None and found.weights > found.total:
        yield fail(f"{found.weights:.0f} GiB of weights do not fit into {gib(size)} of memory", hint, _room(found))
    elif found.fit in ("no", "tight") and not found.too_small:  # `memory-fits` refuses that
        yield warn(f"on a node with {gib(size)}, {found.reason}", hint, _room(found))
    else:
        yield good(evidence=_room(found))


@Check(
    id="memory-same",
    title="The nodes of a deployment have the same memory",
    why=(
        "The ranks of a cluster hold equal shares of the weights, and vLLM uses the smallest KV cache of all ranks. So "
        "the node with the least memory decides how many requests fit. The memory above that stays unused."
    ),
    source="vLLM 0.32 (the number of KV cache blocks is the minimum over all workers)",
    hint="lower --gpu-memory-utilization until 5 GiB are left on the smaller node, or deploy without it",
    reads=("meminfo",),
    topologies=SEVERAL,
    placed=True,
    deploys=True,
).all_nodes
def same(s: Situation) -> Iterator[Said]:
    read_ones = ((node.name, known(s.facts[node.name].meminfo, None)) for node in s.placement.nodes)
    sizes = {name: memory.total_kib for name, memory in read_ones if memory}
    if not sizes:
        raise CannotTell("no node's memory could be read")
    groups: dict[str, list[str]] = {}
    for name, size in sizes.items():
        groups.setdefault(f"{sold(size)} GB", []).append(name)
    if len(groups) == 1:
        yield good(evidence=f"{next(iter(groups))} on {len(sizes)} nodes")
        return
    least = min(sizes.values())
    found = memory_estimate.estimate(s.effective, s.placement.shape, least)
    yield warn(
        f"the nodes have different memory ({apart(groups)}); the smallest decides",
        f"lower --gpu-memory-utilization until 5 GiB are left on {', '.join(groups[f'{sold(least)} GB'])}, "
        "or deploy without it",
        _room(found),
    )


def _room(found: Estimate) -> str:
    """What a node of this size has room for."""
    if found.sequences is None:
        return f"{found.claimed:.0f} of {found.available:.0f} GiB claimed; the size of the model is unknown"
    cache = max(0.0, found.kv_cache or 0)
    parts = f"weights {found.weights:.0f} GiB, overhead {found.overhead:.0f} GiB, KV cache {cache:.0f} GiB"
    return f"{parts}: room for {found.sequences:.1f} requests of {found.context} tokens"
