"""What nodes and their links tell, as metrics."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from sparkops.core.facts import GpuLoad, Scheduled, known
from sparkops.core.growth import growth
from sparkops.core.watch.document import owners
from sparkops.core.watch.exported import MOST, Exported, Value
from sparkops.core.watch.node import WatchedNode
from sparkops.core.watch.picture import Picture

KIB = 1024
BYTES_OF_GBIT = 1e9 / 8


def _nodes(read: Callable[[WatchedNode], float | None]) -> Callable[[Picture], Iterator[Value]]:
    """One value for each node that tells something."""
    return lambda shown: (
        ((node.name,), read(node)) for node in shown.nodes.values() if node.frame and shown.tells(node.name)
    )


def _parts(read: Callable[[WatchedNode], Iterable[Value]]) -> Callable[[Picture], Iterator[Value]]:
    """Several values for each node, with labels beside its name."""
    return lambda shown: (
        ((node.name, *labels), value)
        for node in shown.nodes.values()
        if node.frame and shown.tells(node.name)
        for labels, value in islice(read(node), MOST)
    )


def _gpu(name: str, unit: float = 1.0) -> Callable[[WatchedNode], float | None]:
    def read(node: WatchedNode) -> float | None:
        load = node.frame.gpu_load if node.frame else None
        value = getattr(load, name) if isinstance(load, GpuLoad) else None
        return None if value is None else value * unit

    return read


def _memory(name: str) -> Callable[[WatchedNode], float | None]:
    return lambda node: getattr(node.frame.memory, name) * KIB if node.frame else None


def _memory_left(node: WatchedNode) -> float | None:
    frame = node.frame
    grows = growth(known(frame.drops, ()), frame.booted) if frame else None
    return grows.seconds_left(frame.memory.available_kib) if grows and frame else None


def _last_drop(node: WatchedNode) -> float | None:
    found = node.frame.schedule if node.frame else None
    return float(found.last.time) if isinstance(found, Scheduled) and found.last else None


def _scheduled(node: WatchedNode) -> float | None:
    found = node.frame.schedule if node.frame else None
    return float(found.installed) if isinstance(found, Scheduled) else None


def _holders(node: WatchedNode) -> Iterator[Value]:
    """By deployment; all else is `other`."""
    names = {one.deployment for one in known(node.frame.seen, ()) if one.deployment} if node.frame else set()
    sizes: dict[str, float] = {}
    for one in owners(node):
        if one["owner"] != "page cache":
            owner = one["owner"] if one["owner"] in names else "other"
            sizes[owner] = sizes.get(owner, 0.0) + one["used_kib"] * KIB
    yield from (((owner,), size) for owner, size in sizes.items())


def _links(name: str, unit: float = 1.0) -> Callable[[WatchedNode], Iterator[Value]]:
    def read(node: WatchedNode) -> Iterator[Value]:
        for device in known(node.frame.carried, ()) if node.frame else ():
            value = getattr(device, name)
            yield (device.name,), None if value is None else float(value) * unit

    return read


def _disks(name: str) -> Callable[[WatchedNode], Iterator[Value]]:
    return lambda node: (
        ((use,), getattr(disk, name) * KIB) for use, disk in (known(node.frame.disk, {}) if node.frame else {}).items()
    )


def _stalls(node: WatchedNode) -> Iterator[Value]:
    yield from (((name,), share / 100) for name, share in (known(node.frame.stall, {}) if node.frame else {}).items())


NODE, LINK = ("node",), ("node", "device")

NODE_METRICS: Sequence[Exported] = (
    Exported("sparkops_node_up", "Whether the node tells what it does.", NODE,
             lambda shown: (((name,), float(shown.tells(name))) for name in shown.nodes)),
    Exported("sparkops_node_memory_total_bytes", "Memory of the node.", NODE, _nodes(_memory("total_kib"))),
    Exported("sparkops_node_memory_available_bytes", "Memory that a new process can get.", NODE,
             _nodes(_memory("available_kib"))),
    Exported("sparkops_node_page_cache_bytes", "Page cache, a part of the available memory.", NODE,
             _nodes(_memory("page_cache_kib"))),
    Exported("sparkops_node_memory_held_bytes", "Memory in use by deployment, and by all others.", ("node", "owner"),
             _parts(_holders)),
    Exported("sparkops_node_memory_left_seconds", "Time until the memory is used up at the present rate.", NODE,
             _nodes(_memory_left)),
    Exported("sparkops_node_pressure_ratio", "Share of the last 10 s in which tasks waited.", ("node", "resource"),
             _parts(_stalls)),
    Exported("sparkops_node_gpu_utilization_ratio", "Load of the GPU.", NODE,
             _nodes(_gpu("utilization_percent", 0.01))),
    Exported("sparkops_node_gpu_clock_hertz", "Clock of the GPU.", NODE, _nodes(_gpu("clock_mhz", 1e6))),
    Exported("sparkops_node_gpu_power_watts", "Power of the GPU alone, as its driver reads it.", NODE,
             _nodes(_gpu("power_watts"))),
    Exported("sparkops_node_gpu_temperature_celsius", "Temperature of the GPU.", NODE,
             _nodes(_gpu("temperature_celsius"))),
    Exported("sparkops_node_disk_free_bytes", "Free space where it is needed.", ("node", "use"),
             _parts(_disks("free_kib"))),
    Exported("sparkops_node_disk_size_bytes", "Size of that file system.", ("node", "use"),
             _parts(_disks("total_kib"))),
    Exported("sparkops_node_cache_schedule", "Whether a drop of the page cache is scheduled.", NODE,
             _nodes(_scheduled)),
    Exported("sparkops_node_cache_drop_timestamp_seconds", "When the page cache was dropped last.", NODE,
             _nodes(_last_drop)),
    Exported("sparkops_link_active", "Whether the port of an RDMA device is active.", LINK, _parts(_links("active"))),
    Exported("sparkops_link_rate_bytes_per_second", "Speed of the link.", LINK, _parts(_links("gbits", BYTES_OF_GBIT))),
    Exported("sparkops_link_received_bytes_total", "Bytes received.", LINK, _parts(_links("received")), "counter"),
    Exported("sparkops_link_sent_bytes_total", "Bytes sent.", LINK, _parts(_links("sent")), "counter"),
)  # fmt: skip
