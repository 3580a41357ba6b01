"""The unified memory according to /proc. Sizes are KiB, as the kernel counts them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sparkops.core.facts.reading import lines

_FREE_OR_CACHE = ("MemFree", "Buffers", "Cached", "SwapCached", "KReclaimable")
_IN_USE = ("AnonPages", "SUnreclaim", "KernelStack", "PageTables", "SecPageTables", "Percpu", "Hugetlb")


@dataclass(frozen=True)
class Memory:
    """CUDA on a GB10 sees `free_kib`, not what Linux could free, so a full page cache counts as used.

    `unaccounted_kib` is what no process and no cache of the kernel holds: GPU allocations, which no RSS shows.
    `huge_kib` is set aside as huge pages, used or not.
    """

    total_kib: int = 0
    free_kib: int = 0
    available_kib: int = 0
    buffers_kib: int = 0
    cached_kib: int = 0
    shared_kib: int = 0
    reclaimable_kib: int = 0
    swap_total_kib: int = 0
    swap_free_kib: int = 0
    cma_total_kib: int | None = None
    cma_free_kib: int | None = None
    huge_kib: int = 0
    unaccounted_kib: int = 0

    @property
    def page_cache_kib(self) -> int:
        """What `drop_caches` can give back: files, buffers and slabs, without shared memory."""
        return max(0, self.cached_kib + self.buffers_kib + self.reclaimable_kib - self.shared_kib)

    @property
    def free_after_drop_kib(self) -> int:
        """MemFree after dropping the page cache; at least what Linux counts as available."""
        return min(self.total_kib, max(self.available_kib, self.free_kib + self.page_cache_kib))

    @property
    def swap_used_kib(self) -> int:
        return self.swap_total_kib - self.swap_free_kib


@dataclass(frozen=True)
class Swap:
    path: str
    size_kib: int
    used_kib: int


@dataclass(frozen=True)
class Pressure:
    """Share of time (percent, last 10, 60, 300 s) in which some, or all, tasks waited for memory."""

    some: tuple[float, float, float]
    full: tuple[float, float, float]


def meminfo(text: str) -> Memory:
    sizes = {name: int(size) for name, size in re.findall(r"^(\S+):\s+(\d{1,18})(?: kB)?\s*$", text, re.M)}
    if sizes["MemTotal"] == 0:
        raise ValueError("a node without memory")
    known = {name: sizes.get(name, 0) for name in (*_FREE_OR_CACHE, *_IN_USE)}
    known["KReclaimable"] = sizes.get("KReclaimable", sizes.get("SReclaimable", 0))
    return Memory(
        total_kib=sizes["MemTotal"],
        free_kib=sizes["MemFree"],
        available_kib=sizes.get("MemAvailable", sizes["MemFree"]),
        buffers_kib=known["Buffers"],
        cached_kib=known["Cached"],
        shared_kib=sizes.get("Shmem", 0),
        reclaimable_kib=sizes.get("SReclaimable", 0),
        swap_total_kib=sizes.get("SwapTotal", 0),
        swap_free_kib=sizes.get("SwapFree", 0),
        cma_total_kib=sizes.get("CmaTotal"),
        cma_free_kib=sizes.get("CmaFree"),
        huge_kib=known["Hugetlb"],
        unaccounted_kib=max(0, sizes["MemTotal"] - sum(known.values())),
    )


def swaps(text: str) -> tuple[Swap, ...]:
    rows = [line.split() for line in lines(text)][1:]
    return tuple(Swap(row[0], int(row[2]), int(row[3])) for row in rows)


def pressure(text: str) -> Pressure:
    found = {}
    for line in lines(text):
        kind, *values = line.split()
        shares = [float(value.split("=")[1]) for value in values[:3]]
        found[kind] = (shares[0], shares[1], shares[2])
    return Pressure(found["some"], found.get("full", (0.0, 0.0, 0.0)))


def buddyinfo(text: str) -> tuple[int, ...]:
    """Free blocks by order (2^order pages each), over all zones; the driver wants blocks of 2 MiB."""
    zones = [[int(count) for count in re.findall(r"\d+", line.partition("zone")[2])] for line in lines(text)]
    return tuple(sum(orders) for orders in zip(*zones, strict=False))


def vmstat(text: str) -> Mapping[str, int]:
    return {name: int(value) for name, value in (line.split() for line in lines(text))}
