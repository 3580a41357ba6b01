"""Checks of the memory that CPU, GPU and page cache share. Always from /proc/meminfo: nvidia-smi says [N/A]."""

import math
from collections.abc import Iterator

from sparkops.checks.check import CONTAINERS, CannotTell, Check, Here, PlanCheck, Said, fail, good, read, some, warn
from sparkops.core.facts import Facts, Memory, known
from sparkops.core.memory_estimate import estimate
from sparkops.core.rights import may_drop
from sparkops.core.situation import Situation
from sparkops.core.sizes import GIB_KIB, gib
from sparkops.core.utilization import OLD_UTILIZATION

MUCH_CACHE = 0.5
HOST_SIDE, SYSTEM = 8 * GIB_KIB, 4 * GIB_KIB
"""Memory that an engine uses beside the GPU's share, and that an idle node uses."""

MUCH_SWAP = GIB_KIB // 8
MUCH_HUGE = 4 * GIB_KIB
HUGE = "release the huge pages, on the node: sudo sysctl vm.nr_hugepages=0; "

LEAST_UTILIZATION, MOST_UTILIZATION = 0.10, 0.90
"""Higher values were never seen to work: the system needs 10 to 15 GB."""

LONG_CONTEXT = 131072
"""Tokens of context. With more, a cluster's engine leaves so little memory that the page cache ends it within a day."""

LONG_BY_DEFAULT = "gpt-oss"
"""Models that have such a context by default."""


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
    need, ours = wanted * memory.total_kib, held(here, memory)
    now, dropped = memory.free_kib + ours, memory.free_after_drop_kib + ours
    usable = dropped if may_drop(here.s, here.node) else now
    evidence = (
        f"needs {gib(need)} ({wanted} of {gib(memory.total_kib)}); free now: {gib(memory.free_kib)}; free after a "
        f"cache drop: {gib(memory.free_after_drop_kib)}; freed by stopping the replaced engines: {gib(ours)}; "
        f"MemAvailable: {gib(memory.available_kib)}"
        + (f"; reserved as huge pages: {gib(memory.huge_kib)}" if memory.huge_kib else "")
    )
    if need <= usable:
        yield _drafted(here, memory) or good(evidence=evidence)
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
        yield _too_little(wanted, need, dropped, memory, evidence)


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


def _too_little(wanted: float, need: float, free: float, memory: Memory, evidence: str) -> Said:
    most = min(MOST_UTILIZATION, math.floor(100 * free / memory.total_kib) / 100)
    fits = most >= LEAST_UTILIZATION
    return fail(
        f"--gpu-memory-utilization {wanted} needs {gib(need)}, but at most {gib(free)} can be free"
        + (f"; the highest value that fits is {most:.2f}" if fits else ""),
        (f"use --set args.gpu-memory-utilization={most:.2f}; " if fits else "")
        + (HUGE if memory.huge_kib >= MUCH_HUGE else "")
        + "find the process that holds memory: sparkops memory",
        evidence,
    )


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
        asked = (stored.data.get("args") or {}).get("gpu-memory-utilization", OLD_UTILIZATION)
        share = float(asked) if isinstance(asked, int | float) else OLD_UTILIZATION
        guess = min(share * memory.total_kib, memory.unaccounted_kib)
        listed = 1024 * sum(mib or 0 for mib in told)
        size += HOST_SIDE + (max(listed, guess) if alone or None in told or not any(told) else listed)
    return min(size, max(0.0, memory.total_kib - SYSTEM - memory.free_after_drop_kib))


@Check(
    id="page-cache",
    title="The page cache holds at most half of the memory",
    why="The page cache uses memory that the GPU needs. A large download fills the cache, and CUDA cannot free it.",
    source="NVIDIA/dgx-spark-playbooks, vllm: echo 3 > /proc/sys/vm/drop_caches",
    hint="drop it once: sparkops cache drop; drop it every 30 minutes: sparkops cache schedule --every 30m",
    reads=("meminfo", "sudo"),
    fixable=True,
).each_facts
def page_cache(facts: Facts) -> Iterator[Said]:
    memory = read(facts.meminfo)
    share = memory.page_cache_kib / memory.total_kib
    evidence = f"page cache {gib(memory.page_cache_kib)}, MemFree {gib(memory.free_kib)}"
    if share > MUCH_CACHE:
        yield warn(f"the page cache holds {100 * share:.0f} % of the memory", evidence=evidence)
    else:
        yield good(evidence=evidence)


@Check(
    id="drop-permitted",
    title="The login user has the right to drop the page cache",
    why=(
        "A deploy drops the page cache before and while the weights load. Without this right it can drop only the "
        "pages of model files."
    ),
    source="a sudoers rule that other owners use: NOPASSWD: /usr/bin/tee /proc/sys/vm/drop_caches",
    hint="install the sudoers rule that permits it: sparkops cache permit --ask-become-pass",
    reads=("sudo",),
    fixable=True,
).each_node
def permitted(here: Here) -> Iterator[Said]:
    rights = read(here.facts.sudo)
    if may_drop(here.s, here.node):
        yield good(evidence="sudo without a password" if rights.able else rights.said)
    else:
        yield warn("the login user can drop only pages of model files, not the whole page cache", evidence=rights.said)


@Check(
    id="swap",
    title="Swap is not in use",
    why="When a GB10 swaps, it may answer nothing but ping. Sources disagree on whether to enable swap at all.",
    source="opposite advice (swap off, or keep 16 GiB): eugr/spark-vllm-docker, DoctorMasterNewb/sparkbase",
    hint="empty the swap, on the node, when no model serves: sudo swapoff -a && sudo swapon -a",
    reads=("meminfo",),
).each_node
def swap(here: Here) -> Iterator[Said]:
    used = read(here.facts.meminfo).swap_used_kib
    if used > MUCH_SWAP:
        yield warn(f"{gib(used)} of swap are in use: the node ran out of memory at some time")


@Check(
    id="earlyoom",
    title="earlyoom runs and ends a process before memory runs out",
    why=(
        "The kernel's OOM killer acts too late on unified memory: the node freezes until you cut its power. earlyoom "
        "acts in time."
    ),
    source="spark-arena/sparkrun, its setup; DoctorMasterNewb/sparkbase, wiki/platform-gb10.md",
    hint="on the node: sudo apt install earlyoom",
    reads=("earlyoom", "packages", "sudo"),
    fixable=True,
).each_node
def earlyoom(here: Here) -> Iterator[Said]:
    if not read(here.facts.earlyoom):
        package = known(here.facts.packages, {}).get("earlyoom")
        there = package is not None and package.installed
        hint = "sudo systemctl enable --now earlyoom" if there else "sudo apt install earlyoom"
        yield warn(f"earlyoom is {'not active' if there else 'not installed'}", f"on the node: {hint}")


@Check(
    id="cache-scheduled",
    title="A cron job drops the page cache",
    why=(
        "The page cache grows into memory that the engine needs. A cluster that served gpt-oss-120b with its full "
        "context ran out of memory after about 19 hours."
    ),
    source="kubis.ai, article 8 of 9: a cron job, and --gpu-memory-utilization 0.75 instead of 0.80",
    hint="drop it every 30 minutes: sparkops cache schedule --every 30m",
    reads=("schedule",),
    topologies=("cluster",),
    placed=True,
    deploys=True,
).all_nodes
def scheduled(s: Situation) -> Iterator[Said]:
    """One finding for all nodes: one command fixes all of them."""
    if not long_context(s.effective.model, s.effective.number("max-model-len", 0)):
        raise CannotTell(f"applies only to a context of {LONG_CONTEXT} tokens or more")
    found = {member.name: read(s.facts[member.name].schedule, member.name) for member in s.revision.engines}
    without = [name for name, schedule in found.items() if not schedule.installed]
    if without:
        told = f"no cron job drops the page cache on {some(without)}"
        yield warn(told, evidence=f"no cron job: {', '.join(without)}")
    else:
        yield good(f"a cron job drops the page cache on {len(found)} nodes")


def long_context(model: str, tokens: float) -> bool:
    """Whether a cluster's engine with this `max-model-len` (0: the model's own) needs scheduled drops."""
    unset = LONG_CONTEXT if LONG_BY_DEFAULT in model.lower() else 0
    return (tokens or unset) >= LONG_CONTEXT
