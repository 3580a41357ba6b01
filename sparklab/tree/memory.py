"""The node's memory: what the page cache and the engines hold, published as /proc/meminfo."""

from typing import Any

from sparklab import files
from sparklab.layout import Node, captured

TOTAL = 127535056
SYSTEM = 3670016
CACHE_AFTER_BOOT = 2516582
CACHE_FULL = 118111600
CACHE_DROPPED = 409600
SWAPPED = 6291456
RESERVED = 9437184
LEAST_FREE = 262144
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
        now["used"] = {holder: size for holder, size in (now["used"] | (used or {})).items() if size}
        files.write_json(node.path("memory.json"), now)
        files.write(node.root("proc", "meminfo"), _meminfo(node, now["cached"], sum(now["used"].values())))


def reset(node: Node) -> None:
    """Set what a reboot leaves."""
    with files.locked(node.path("memory.lock")):
        files.write_json(node.path("memory.json"), {"cached": CACHE_AFTER_BOOT, "used": {}})
    change(node)


def free_gib(node: Node) -> float:
    """Return the GiB that `cudaMemGetInfo` reports as free; the page cache counts as used."""
    now = state(node)
    taken = int(now["cached"]) + sum(int(size) for size in now["used"].values())
    return max(0, TOTAL - SYSTEM - taken) / KB_PER_GIB


def available(node: Node) -> int:
    """Return the kB that programs can still get; the page cache is among them."""
    return TOTAL - SYSTEM - sum(int(size) for size in state(node)["used"].values())


def _meminfo(node: Node, cached: int, used: int) -> str:
    """Return /proc/meminfo (sizes in kB) with the node's faults applied."""
    room = TOTAL - SYSTEM - used
    cached = min(cached, room - KB_PER_GIB)
    free = max(LEAST_FREE, room - cached)
    lines = captured("meminfo.txt").splitlines()
    rows = {line.partition(":")[0]: int(line.split()[1]) for line in lines} | {
        "MemFree": free,
        "MemAvailable": max(LEAST_FREE, free + cached - CACHE_DROPPED // 2),
        "Cached": cached,
        "Active": KB_PER_GIB + cached // 3,
        "Inactive": cached // 2,
    }
    if node.fault("swap-used"):
        rows["SwapFree"] -= SWAPPED
    missing = RESERVED * node.fault("memory-reserved") + TOTAL // 2 * node.fault("memory-64")
    rows["MemTotal"] -= missing
    for name in ("MemFree", "MemAvailable"):
        rows[name] = max(LEAST_FREE, rows[name] - missing)
    if node.fault("kernel-kho"):
        rows["CmaTotal"] = 0
    unit = {name: "" if name == "HugePages_Total" else " kB" for name in rows}
    return "".join(f"{name + ':':<15}{value:>9}{unit[name]}\n" for name, value in rows.items())
