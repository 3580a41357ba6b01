"""A picture as JSON: the answer of `watch --once --json`, and what the page gets."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sparkops.core.energy import LEFT_OUT
from sparkops.core.facts import GpuLoad, known
from sparkops.core.fleet.usage import DayOfUse
from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.deployment import Rank, WatchedDeployment
from sparkops.core.watch.frame import Device
from sparkops.core.watch.node import WatchedNode
from sparkops.core.watch.picture import Picture


def document(shown: Picture) -> dict[str, Any]:
    """All that looks wrong is in it: who looks once cannot wait."""
    return {
        "nodes": [of_node(node) for node in shown.nodes.values()],
        "deployments": [of_deployment(one) for one in shown.deployments],
        "alerts": [alert(one) for one in shown.found],
    }


def alert(one: Alert) -> dict[str, Any]:
    return {
        "id": one.id,
        "text": one.text,
        "next": one.next,
        "node": one.node or None,
        "deployment": one.deployment or None,
        "grave": one.grave,
    }


def of_node(node: WatchedNode) -> dict[str, Any]:
    frame = node.frame
    told: dict[str, Any] = {"name": node.name, "problem": node.problem or None}
    if frame is None:
        return told
    memory, gpu = frame.memory, frame.gpu_load if isinstance(frame.gpu_load, GpuLoad) else None
    return told | {
        "memory": {
            "total_kib": memory.total_kib,
            "available_kib": memory.available_kib,
            "page_cache_kib": memory.page_cache_kib,
            "owners": list(owners(node)),
        },
        "stall_percent": dict(known(frame.stall, {})),
        "gpu": asdict(gpu) if gpu else None,
        "bits_per_second": asdict(node.traffic) if node.traffic else None,
        "links": [_link(device) for device in known(frame.carried, ())],
        "containers": [asdict(one) for one in known(frame.seen, ())],
        "disk": {use: asdict(disk) for use, disk in known(frame.disk, {}).items()},
        "jobs": [asdict(job) for job in known(frame.jobs, ())],
    }


def _link(device: Device) -> dict[str, Any]:
    return {
        "name": device.name,
        "interface": device.interface,
        "active": device.active,
        "gbits": device.gbits,
        "received_bytes": device.received,
        "sent_bytes": device.sent,
    }


def owners(node: WatchedNode) -> list[dict[str, Any]]:
    """What holds the memory: each process on the GPU, by its deployment where it has one, then the page cache."""
    frame = node.frame
    if frame is None:
        return []
    names = {one.id: one.deployment or one.name for one in known(frame.seen, ())}
    sizes: dict[str, int] = {}
    for process in known(frame.gpu_processes, ()):
        owner = names.get(process.container or "", process.name)
        sizes[owner] = sizes.get(owner, 0) + 1024 * (process.used_mib or 0)
    rest = frame.memory.total_kib - frame.memory.available_kib - sum(sizes.values())
    rows = [{"owner": owner, "used_kib": kib} for owner, kib in sizes.items()]
    return [
        *rows,
        {"owner": None, "used_kib": max(0, rest)},
        {"owner": "page cache", "used_kib": frame.memory.page_cache_kib},
    ]


def of_deployment(one: WatchedDeployment) -> dict[str, Any]:
    stored = one.stored
    return {
        "name": one.name,
        "hash": stored.hash,
        "topology": stored.topology,
        "model": stored.served,
        "state": one.state,
        "ranks": [_rank(rank) for rank in one.ranks],
        "tokens_per_second": {"written": one.rate("written"), "read": one.rate("read")},
        "requests": {
            "running": round(one.sum("num_requests_running")),
            "waiting": round(one.sum("num_requests_waiting")),
            "done": round(one.sum("request_success_total") - one.sum("failed_requests")),
            "failed": round(one.sum("failed_requests")),
        },
        "kv_cache": one.kv_use,
        "accepted": one.accepted,
        "energy": {
            "joules_per_token": one.joules_per("written"),
            "joules_per_request": one.joules_per("done"),
            "left_out": LEFT_OUT,
        },
        "usage": _usage(one.usage) if one.usage else None,
    }


def _usage(used: DayOfUse) -> dict[str, Any]:
    rows = [{"name": person, "model": model, **sums} for (person, model), sums in used.sums.items()]
    return {"day": used.day or None, "people": rows}


def _rank(rank: Rank) -> Mapping[str, Any]:
    phase = rank.phase
    return {
        "node": rank.node.name,
        "role": rank.member.role,
        "container": rank.container,
        "state": rank.part.shown,
        "phase": asdict(phase) if phase else None,
        "health": rank.engine.health if rank.engine else None,
    }
