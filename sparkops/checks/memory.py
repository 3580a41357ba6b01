"""Checks of the memory that CPU, GPU and page cache share. Always from /proc/meminfo: nvidia-smi says [N/A]."""

from collections.abc import Iterator

from sparkops.checks.check import CannotTell, Check, Here, Said, good, read, some, warn
from sparkops.core.facts import Facts, known
from sparkops.core.rights import may_drop
from sparkops.core.situation import Situation
from sparkops.core.sizes import GIB_KIB, gib
from sparkops.core.topology import CLUSTERS

MUCH_CACHE = 0.5
LITTLE_FREE, MUCH_BESIDE = 2 * GIB_KIB, 8 * GIB_KIB
"""MemFree below the first is little, and a page cache above the second is much, beside an engine that serves."""

MUCH_SWAP = GIB_KIB // 8

LONG_CONTEXT = 131072
"""Tokens of context. With more, a cluster's engine leaves so little memory that the page cache ends it within a day."""

LONG_BY_DEFAULT = "gpt-oss"
"""Models that have such a context by default."""


def _page_cache(facts: Facts, password: str = "") -> Iterator[Said]:
    memory = read(facts.meminfo)
    share = memory.page_cache_kib / memory.total_kib
    evidence = f"page cache {gib(memory.page_cache_kib)}, MemFree {gib(memory.free_kib)}"
    crowded = memory.free_kib < LITTLE_FREE and memory.page_cache_kib > MUCH_BESIDE
    if share > MUCH_CACHE or crowded:
        always = f"drop it every 30 minutes: sparkops cache schedule --every 30m{password}"
        hint = f"drop it once: sparkops cache drop{password}; {always}"
        size = f"{100 * share:.0f} % of the memory"
        if crowded:
            size += f", and only {gib(memory.free_kib)} is free for the GPU"
        yield warn(f"the page cache holds {size}", hint, evidence)
    else:
        yield good(evidence=evidence)


@Check(
    id="page-cache",
    title="The page cache leaves memory to the GPU",
    why="The page cache uses memory that the GPU needs. A large download fills the cache, and CUDA cannot free it.",
    source="NVIDIA/dgx-spark-playbooks, vllm: echo 3 > /proc/sys/vm/drop_caches",
    hint="drop it once: sparkops cache drop; drop it every 30 minutes: sparkops cache schedule --every 30m",
    reads=("meminfo", "sudo"),
    fixable=True,
    watch=_page_cache,
).each_node
def page_cache(here: Here) -> Iterator[Said]:
    yield from _page_cache(here.facts, "" if may_drop(here.s, here.node) else " --ask-become-pass")


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
    topologies=CLUSTERS,
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
