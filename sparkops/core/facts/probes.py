"""The one table of probes: what each prints becomes a field of `Facts` of the same name."""

from collections.abc import Mapping
from typing import Any

from sparkops.core.facts import access, containers, gpu, images, memory, models, network, schedule, system
from sparkops.core.facts.node import Facts
from sparkops.core.facts.raw import END, Probe, Unread, read
from sparkops.core.facts.reading import Parser, ok, pairs, tree

PROBES: Mapping[str, Parser] = {
    "clock": ok(system.clock),
    "uname": ok(system.uname),
    "os-release": ok(pairs),
    "dgx-release": ok(system.dgx_release),
    "dmi": ok(pairs),
    "markers": ok(system.markers),
    "lscpu": ok(system.lscpu),
    "id": ok(access.user),
    "boot": ok(system.boot),
    "machine-id": ok(system.machine_id),
    "hostkeys": ok(system.hostkeys),
    "cmdline": ok(system.whole),
    "locale": ok(system.locale),
    "avahi": ok(system.avahi),
    "tools": ok(pairs),
    "meminfo": ok(memory.meminfo),
    "pressure": ok(memory.pressure),
    "buddyinfo": ok(memory.buddyinfo),
    "swaps": ok(memory.swaps),
    "vmstat": ok(memory.vmstat),
    "thermal": ok(system.temperatures),
    "driver": ok(system.driver),
    "packages": system.packages,
    "cdi": ok(system.listed),
    "reboot-required": ok(system.reboot_required),
    "earlyoom": system.active,
    "default-target": ok(system.target),
    "ip-addr": ok(network.addresses),
    "routes": ok(network.routes),
    "ibdev2netdev": ok(network.ibdev2netdev),
    "net": ok(network.sysfs),
    "infiniband": ok(network.infiniband),
    "dev-infiniband": ok(system.listed),
    "sysctl": ok(tree),
    "listeners": ok(network.listeners),
    "firewall": network.firewall,
    "nm": ok(network.profiles),
    "sudo": access.sudo,
    "linger": ok(system.yes),
    "logind": ok(system.whole),
    "caches": ok(access.owned),
    "lock": ok(access.lock),
    "state": ok(access.left),
    "schedule": ok(schedule.schedule),
    "model": models.model,
    "docker-version": ok(containers.version),
    "docker-info": ok(containers.info),
    "docker-ps": ok(containers.listed),
    "docker-ours": containers.ours,
    "docker-strangers": containers.gpu_requests,
    "docker-logs": ok(containers.tails),
    "images": ok(images.images),
    "disk": ok(access.disks),
    "nvidia-smi": ok(gpu.smi),
    "gpu-load": ok(gpu.load),
    "gpu-processes": ok(gpu.processes),
}

WHAT_RUNS = ("id", "state", "docker-version", "docker-ps", "docker-ours", "docker-logs")
"""Which containers are there, whose they are, how they ended, and whose key they read."""

CONFUSED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, StopIteration)
"""What a parser may raise over output that it does not understand."""

NOT_ASKED = Unread("was not asked for")
CUT_OFF = Unread("the capture ends before it")


def parse(raw: str) -> Facts:
    """The facts of a capture. What cannot be made sense of is `Unread`; only a wrong first line raises `Unreadable`."""
    found = read(raw)
    absent = NOT_ASKED if END in found else CUT_OFF
    values: dict[str, Any] = {
        name.replace("-", "_"): _value(parser, found[name]) if name in found else absent
        for name, parser in PROBES.items()
    }
    return Facts(**values, took_seconds=found[END].ms / 1000 if END in found else None)


def absent(reason: str) -> Facts:
    """The facts of a node that could not be reached."""
    return Facts(**{name.replace("-", "_"): Unread(reason) for name in PROBES})  # type: ignore[arg-type]


def _value(parser: Parser, probe: Probe) -> object:
    try:
        return parser(probe)
    except CONFUSED as error:
        return Unread(f"unexpected output: {error}" if str(error) else "unexpected output")
