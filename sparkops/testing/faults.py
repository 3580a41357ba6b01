"""Faults of simulated nodes, by their names in the lab; each returns a function that ends it."""

from collections.abc import Callable, Mapping
from typing import Any

from sparkops.testing.boot import BootRule, EngineBoot
from sparkops.testing.node import SimulatedNode
from sparkops.testing.store import Store
from sparkops.testing.world import SimulatedWorld

Off = Callable[[], object]
DIED = (
    "ERROR Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor.",
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}",
)


def strike(world: SimulatedWorld, name: str, kind: str) -> Off:
    return FAULTS[kind](world, world.nodes[name])


def _unreachable(world: SimulatedWorld, node: SimulatedNode) -> Off:
    world.lose(node.name)
    return lambda: world.heal(node.name)


def _set(holder: Any, field: str, value: object) -> Off:
    before = getattr(holder, field)
    setattr(holder, field, value)
    return lambda: setattr(holder, field, before)


def _boots(boot: EngineBoot, role: str = "") -> Callable[[SimulatedWorld, SimulatedNode], Off]:
    """Engines started from now on behave like `boot`; `role` is the entry script's argument, "" for all."""

    def effect(_world: SimulatedWorld, node: SimulatedNode) -> Off:
        rule = BootRule(lambda _image, words: "proxy" not in words and role in ("", *words), boot)
        node.engine.boots.insert(0, rule)

        def off() -> None:
            node.engine.boots.remove(rule)
            for one in node.engine.containers.values():
                one.boot = EngineBoot() if one.boot is boot else one.boot

        return off

    return effect


def _silent(kind: str) -> Callable[[SimulatedWorld, SimulatedNode], Off]:
    """Requests to all running containers get no answer."""

    def effect(_world: SimulatedWorld, node: SimulatedNode) -> Off:
        offs = [_set(one, "silent", kind) for one in node.engine.listed(["label=sparkops.schema"]) if one.running]
        return lambda: [off() for off in offs]

    return effect


def _killed(_world: SimulatedWorld, node: SimulatedNode) -> Off:
    for one in list(node.engine.listed(["label=sparkops.schema"])):
        if one.running and one.labels["sparkops.role"] != "proxy":
            node.engine.kill(one.name)
    return bool


def _reboot(_world: SimulatedWorld, node: SimulatedNode) -> Off:
    node.reboot()
    return bool


def _probe(**probes: tuple[int, str]) -> Callable[[SimulatedWorld, SimulatedNode], Off]:
    """Replaces results of probes of `node/facts.sh`."""
    read = {name.replace("_", "-"): told for name, told in probes.items()}
    return lambda _world, node: _set(node, "probes", node.probes | read)


FAULTS: Mapping[str, Callable[[SimulatedWorld, SimulatedNode], Off]] = {
    "unreachable": _unreachable,
    "no-docker-group": lambda _world, node: _set(node.engine, "denied", True),
    "no-image": lambda _world, node: _set(node.engine, "store", Store(lambda _image: False)),
    "no-model": lambda _world, node: _set(node, "models", {}),
    "cx7-down": lambda _world, node: _set(node, "link", False),
    "gpu-hangs": _probe(nvidia_smi=(124, ""), gpu_load=(124, ""), gpu_processes=(124, "")),
    "gpu-wedged": _probe(gpu_load=(0, "513, 14.10, 96, 61, P0, 0x0000000000000001")),
    "gpu-hot": _probe(gpu_load=(0, "1890, 71.50, 96, 90, P0, 0x0000000000000040")),
    "disk-low": lambda _world, node: _set(node, "free_kib", 12_000_000),
    "page-cache-full": lambda _world, node: _set(node, "cached_kib", 100 * 1024 * 1024),
    "port-taken": _probe(listeners=(0, "LISTEN 0 4096 0.0.0.0:22 0.0.0.0:*\nLISTEN 0 5 0.0.0.0:8000 0.0.0.0:*")),
    "worker-never-joins": _boots(EngineBoot(never=True), "ray-worker"),
    "crash-while-loading": _boots(EngineBoot(crashes=True, log=DIED)),
    "slow": _boots(EngineBoot(looks=20)),
    "engine-frozen": _silent("health"),
    "peer-dead-health-green": _silent("answer"),
    "engine-killed": _killed,
    "reboot": _reboot,
}
"""By name; `engine-killed` and `reboot` happen once."""
