"""The check that the share of memory that an engine requests can be free on its node, and who holds it if not."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sparkops.checks.check import CONTAINERS, CannotTell, Here, PlanCheck, Said, fail, good, read, warn
from sparkops.checks.gpu import MUCH_MIB
from sparkops.core.facts import Memory, known
from sparkops.core.growth import TROUBLE_KIB
from sparkops.core.impact import load
from sparkops.core.memory_beyond import one_copy, remembered
from sparkops.core.memory_estimate import GOOD_LEFT_GIB, Estimate, estimate, least_share_of
from sparkops.core.rights import may_drop
from sparkops.core.situation import deployed
from sparkops.core.sizes import GIB_KIB, gib
from sparkops.core.stored import Stored
from sparkops.core.utilization import OLD_UTILIZATION, WHOLE

HOST_SIDE, SYSTEM = 8 * GIB_KIB, 4 * GIB_KIB
"""Memory that an engine uses beside the GPU's share, and that an idle node uses."""

MUCH_HUGE = 4 * GIB_KIB
HUGE = "release the huge pages, on the node: sudo sysctl vm.nr_hugepages=0"

LEAST_UTILIZATION, MOST_UTILIZATION = 0.10, 0.90
"""Without the size of the model, no lower value is advised. Higher ones never worked: the system needs 10 to 15 GB."""


@PlanCheck(
    id="memory-fits",
    title="The node can free enough memory for the recipe",
    why=(
        "At its start, vLLM takes a share of the total memory (--gpu-memory-utilization). It fails if MemFree is less "
        "than this share. MemFree does not include the page cache."
    ),
    source=(
        "vLLM's message: Free memory on device (.../... GiB) is less than desired GPU memory utilization; NVIDIA's "
        "note on unified memory"
    ),
    hint="use a smaller --set args.gpu-memory-utilization=N, or stop what holds memory: `sparkops memory` shows it",
    reads=("meminfo", "models", "sudo", "gpu-processes", "id", "state", *CONTAINERS),
).each_node
def fits(here: Here) -> Iterator[Said]:
    """CUDA compares with MemFree, so the page cache counts as free only if it may be dropped."""
    engine, memory = here.engine, read(here.facts.meminfo)
    if engine is None:
        raise CannotTell("this plan runs no engine on this node")
    if here.s.todo(engine) == "keep":
        yield good("the engine already serves")
        return
    wanted = here.s.effective.number("gpu-memory-utilization", OLD_UTILIZATION)
    need, ours = wanted_kib(here, memory), held(here, memory)
    now, dropped = memory.free_kib + ours, memory.free_after_drop_kib + ours
    usable = dropped if may_drop(here.s, here.node) else now
    evidence = (
        f"needs {gib(need)} ({wanted} of {gib(memory.total_kib)}); free now: {gib(memory.free_kib)}; free after a "
        f"cache drop: {gib(memory.free_after_drop_kib)}; freed by stopping the replaced engines: {gib(ours)}; "
        f"MemAvailable: {gib(memory.available_kib)}"
        + (f"; reserved as huge pages: {gib(memory.huge_kib)}" if memory.huge_kib else "")
    )
    if found := _too_small(here, memory):
        yield found
    elif need <= usable:
        left = dropped - need - 1024 * remembered(here.s.facts).get(one_copy(load(here.s.revision, None)), 0)
        yield _drafted(here, memory) or _tight(here, memory, dropped, left) or good(evidence=evidence)
    elif need <= dropped:
        yield warn(
            f"--gpu-memory-utilization {wanted} needs memory of the page cache, which the login user cannot drop",
            (
                "permit it: sparkops cache permit --ask-become-pass; or drop the cache once: sparkops cache drop "
                "--ask-become-pass"
            ),
            evidence,
        )
    else:
        told, hint = _too_little(here, memory, dropped)
        yield fail(
            (
                f"--gpu-memory-utilization {wanted} needs {need / GIB_KIB:.1f} GiB, but {dropped / GIB_KIB:.1f} GiB is "
                f"free{told}"
            ),
            hint,
            evidence,
        )


def _too_small(here: Here, memory: Memory) -> Said | None:
    """A failure if the share has no room for the KV cache, however much memory is free; and who holds what it needs."""
    free = memory.free_after_drop_kib + held(here, memory)
    found = _estimate(here, memory, free)
    if not found.too_small:
        return None
    least = found.least_share or 0
    first = holders(here, memory, least) if least * memory.total_kib > free else []
    hints = [one.cure for one in first] + ([f"would fit: {', or '.join(found.would_fit)}"] if found.would_fit else [])
    return fail(found.too_small, "; then ".join(hints))


def share_too_small(here: Here) -> bool:
    return _too_small(here, read(here.facts.meminfo)) is not None


def _drafted(here: Here, memory: Memory) -> Said | None:
    """A warning if model and draft model do not fit, by the size of the draft model on this node."""
    draft = next((one for one in here.s.needed if one.role == "draft model"), None)
    model = draft.usable(here.facts) if draft else None
    if draft is None or model is None:
        return None
    size = model.bytes / 2**30
    found = estimate(here.s.effective, here.s.placement.shape, memory.total_kib, draft_gib=size)
    if found.fit != "no":
        return None
    fitting = ", or ".join((*found.would_fit, "no --speculative-config"))
    evidence = f"{draft.name.model}: {size:.1f} GiB"
    return warn(f"the model and its draft model may not fit: {found.reason}", f"would fit: {fitting}", evidence)


def _tight(here: Here, memory: Memory, free: float, left: float) -> Said | None:
    """A warning if the engine leaves too little to the system."""
    if left >= TROUBLE_KIB:
        return None
    told, hint = _too_little(here, memory, free)
    text = f"the engine leaves {gib(left)} to the system; with less than {gib(TROUBLE_KIB)} a GB10 freezes"
    return warn(text + told, hint)


def _too_little(here: Here, memory: Memory, free: float) -> tuple[str, str]:
    """Who holds the memory and the highest share that fits, if the model still fits into it; then what to do."""
    room = _estimate(here, memory, free)
    most, least = min(MOST_UTILIZATION, room.largest_share), room.least_share
    found = holders(here, memory)
    told = "".join(f"; {one.name} holds {gib(one.kib)}" for one in found)
    hints = [one.cure for one in found] or ["find the process that holds memory: sparkops memory"]
    if memory.huge_kib >= MUCH_HUGE:
        hints.insert(0, HUGE)
    if most >= (least or LEAST_UTILIZATION):
        told += f"; the highest safe value is {most:.2f}"
        hints.append(f"or use --set args.gpu-memory-utilization={most:.2f}")
    elif least:
        told += f"; weights, overhead and one request need {least:.2f} or more"
    return told, "; ".join(hints)


def _estimate(here: Here, memory: Memory, free: float) -> Estimate:
    """The memory of the plan's engine on this node if so many KiB are free."""
    return estimate(here.s.effective, here.s.placement.shape, memory.total_kib, int(free))


@dataclass(frozen=True)
class Holder:
    """What keeps GPU memory that the plan does not free; `cure` is how to free it."""

    name: str
    kib: float
    cure: str
    ours: bool = False


def holders(here: Here, memory: Memory, least: float = 0.0) -> list[Holder]:
    """The deployments, containers and processes that the plan leaves alone and that hold much GPU memory.

    `least` is the share that the plan's engine needs, if that is more than it asks for.
    """
    going = {found.id for _, found in here.going}
    everything = [(node, stored, one) for node, stored, one in deployed(here.s.facts) if one.runs]
    ours = {one.id: stored for node, stored, one in everything if one.role != "proxy" and node == here.name}
    names = {one.id: one.name for one in here.facts.containers}
    found: dict[str, float] = {one: 0.0 for one in ours if one not in going}
    for one in known(here.facts.gpu_processes, ()):
        where = one.container or f"{one.name} (pid {one.pid})"
        if where not in going and (one.used_mib or 0) >= MUCH_MIB:
            found[where] = found.get(where, 0.0) + 1024 * (one.used_mib or 0)
    others = [stored for _, stored, _ in everything]
    return [
        _deployment(stored, kib or stored.share * memory.total_kib, others, here, least)
        if (stored := ours.get(where))
        else _stranger(where, kib, names.get(where))
        for where, kib in found.items()
    ]


def _deployment(stored: Stored, kib: float, others: Iterable[Stored], here: Here, needed: float) -> Holder:
    name, stop = stored.deployment, f"sparkops stop {stored.named_among(others)}"
    wanted = max(needed, here.s.effective.number("gpu-memory-utilization", OLD_UTILIZATION))
    span = len(stored.copy_of(stored.engines[0])) if stored.engines else 1
    total = read(here.facts.meminfo).total_kib
    left = math.floor(100 * min(MOST_UTILIZATION, WHOLE - wanted - GOOD_LEFT_GIB * GIB_KIB / total)) / 100
    least = max(LEAST_UTILIZATION, least_share_of(stored.models[0].model, span, total))
    cure = f"stop {name} ({stop})"
    if least <= left < stored.share:
        cure += (
            f"; or, if it fits into less, first deploy {name} again with --set args.gpu-memory-utilization={left:.2f}"
        )
    return Holder(name, kib, cure, ours=True)


def _stranger(where: str, kib: float, container: str | None) -> Holder:
    if container is not None:
        return Holder(
            f"the container {container}", kib, f"if it is yours, stop it, on the node: docker stop {container}"
        )
    told = where if "(pid " in where else f"the container {where[:12]}"
    return Holder(told, kib, f"stop {told} if it is yours")


def cache_in_the_way(here: Here) -> bool:
    """Whether the engine's share fits once the page cache is dropped."""
    memory = read(here.facts.meminfo)
    return wanted_kib(here, memory) <= memory.free_after_drop_kib + held(here, memory)


def strangers_suffice(here: Here) -> bool:
    """Whether the engine's share fits only once those who are not sparkops let go of the GPU."""
    memory = read(here.facts.meminfo)
    freed = sum(one.kib for one in holders(here, memory) if not one.ours)
    return (
        not cache_in_the_way(here)
        and wanted_kib(here, memory) <= memory.free_after_drop_kib + held(here, memory) + freed
    )


def wanted_kib(here: Here, memory: Memory) -> float:
    return here.s.effective.number("gpu-memory-utilization", OLD_UTILIZATION) * memory.total_kib


def free_without(memory: Memory, going: Iterable[Stored]) -> float:
    """Memory in KiB of a node that is free once these have stopped there, as far as their shares tell."""
    freed = sum(HOST_SIDE + one.share * memory.total_kib for one in going)
    return min(memory.free_after_drop_kib + freed, memory.total_kib - SYSTEM)


def held(here: Here, memory: Memory) -> float:
    """Memory in KiB of the sparkops engines on this node that the plan replaces or starts again.

    nvidia-smi lists it by process. If no other process uses the GPU, or it prints [N/A], memory that /proc does not
    account for counts as theirs, up to their share.
    """
    engines = [(stored, found) for stored, found in here.going if found.role != "proxy"]
    size, processes = 0.0, known(here.facts.gpu_processes, ())
    alone = all(one.container in {found.id for _, found in engines} for one in processes)
    for stored, found in engines:
        told = [one.used_mib for one in processes if one.container == found.id]
        guess = min(stored.share * memory.total_kib, memory.unaccounted_kib)
        listed = 1024 * sum(mib or 0 for mib in told)
        size += HOST_SIDE + (max(listed, guess) if alone or None in told or not any(told) else listed)
    return min(size, max(0.0, memory.total_kib - SYSTEM - memory.free_after_drop_kib))
