"""The node's memory: what the page cache and the engines hold, published as /proc/meminfo."""

from typing import Any

from sparklab import files
from sparklab.layout import Node

TOTAL = 127535056
SYSTEM = 3670016
CACHE_AFTER_BOOT = 2516582
CACHE_FULL = 118111600
CACHE_DROPPED = 409600
SWAP = 16777212
SWAPPED = 6291456
RESERVED = 9437184
KB_PER_GIB = 1024 * 1024


def state(node: Node) -> dict[str, Any]:
    found = files.read_json(node.path("memory.json"))
    return found if isinstance(found, dict) else {"cached": CACHE_AFTER_BOOT, "used": {}}


def change(node: Node, cached: int | None = None, used: dict[str, int] | None = None) -> None:
    """Set the page cache and what holders take (kB; 0 lets go), then publish."""
    with files.locked(node.path("memory.lock")):
        now = state(node)
        if cached is not None:
            now["cached"] = cached
        now["used"] |= used or {}
        now["used"] = {holder: size for holder, size in now["used"].items() if size}
        files.write_json(node.path("memory.json"), now)
        files.write(node.root("proc", "meminfo"), _now(node, now["cached"], sum(now["used"].values())))


def _now(node: Node, cached: int, used: int) -> str:
    """/proc/meminfo as the node's faults have it."""
    rows = meminfo(cached, used)
    if node.fault("swap-used"):
        rows["SwapFree"] -= SWAPPED
    if node.fault("memory-reserved"):
        for name in ("MemTotal", "MemFree", "MemAvailable"):
            rows[name] -= RESERVED
    if node.fault("kernel-kho"):
        rows["CmaTotal"] = 0
    return "".join(
        f"{name + ':':<15}{value:>9}{'' if name == 'HugePages_Total' else ' kB'}\n" for name, value in rows.items()
    )


def reset(node: Node) -> None:
    """What a reboot leaves: nothing."""
    with files.locked(node.path("memory.lock")):
        files.write_json(node.path("memory.json"), {"cached": CACHE_AFTER_BOOT, "used": {}})
    change(node)


def free_gib(node: Node) -> float:
    """What `cudaMemGetInfo` calls free: page cache does not count."""
    now = state(node)
    taken = int(now["cached"]) + sum(int(size) for size in now["used"].values())
    return max(0, TOTAL - SYSTEM - taken) / KB_PER_GIB


def meminfo(cached: int, used: int) -> dict[str, int]:
    cached = min(cached, TOTAL - SYSTEM - used - 1048576) if used + cached + SYSTEM > TOTAL - 1048576 else cached
    free = max(262144, TOTAL - SYSTEM - cached - used)
    return {
        "MemTotal": TOTAL,
        "MemFree": free,
        "MemAvailable": max(262144, free + cached - CACHE_DROPPED // 2),
        "Buffers": 7688,
        "Cached": cached,
        "SwapCached": 0,
        "Active": 1048576 + cached // 3,
        "Inactive": cached // 2,
        "Unevictable": 45324,
        "Mlocked": 45324,
        "SwapTotal": SWAP,
        "SwapFree": SWAP,
        "Dirty": 916,
        "AnonPages": 1802768,
        "Shmem": 5427,
        "KReclaimable": 301056,
        "SReclaimable": 301056,
        "SUnreclaim": 212992,
        "KernelStack": 17408,
        "PageTables": 38912,
        "SecPageTables": 4096,
        "Percpu": 26880,
        "HugePages_Total": 0,
        "Hugepagesize": 2048,
        "CmaTotal": 131072,
        "CmaFree": 126976,
    }
