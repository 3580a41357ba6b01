"""All that was read from one node."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from sparkops.core.facts import access, containers, cx7, gpu, images, memory, models, network, schedule, system
from sparkops.core.facts.access import Disk, Left, Lock, Orphan, Owned, Sudo, User
from sparkops.core.facts.containers import Container, DockerInfo, DockerVersion, merge
from sparkops.core.facts.cx7 import Link, Port
from sparkops.core.facts.gpu import Gpu, GpuLoad, GpuProcess, Identity
from sparkops.core.facts.images import Image
from sparkops.core.facts.memory import Memory, Pressure, Swap
from sparkops.core.facts.models import Model
from sparkops.core.facts.network import Address, Firewall, Interface, Listener, Profile, Rdma, RdmaLink, Route
from sparkops.core.facts.raw import Unread
from sparkops.core.facts.reading import known, ok, pairs, tree
from sparkops.core.facts.schedule import Scheduled
from sparkops.core.facts.system import Avahi, Boot, Clock, Cpu, Dgx, Driver, HostKey, Kernel, Package, Reboot
from sparkops.core.notes import NodeHistory


@dataclass(frozen=True)
class Facts:
    """Each field is one probe of `node/facts.sh` with its parser; the properties put several together.

    A field is `Unread` if the probe failed or was not asked for. The properties that plans are made from
    (`containers`, `orphans`, `home`) are empty then; a check refuses a node whose Docker cannot be read.
    """

    clock: Annotated[Clock | Unread, ok(system.clock)]
    uname: Annotated[Kernel | Unread, ok(system.uname)]
    os_release: Annotated[Mapping[str, str] | Unread, ok(pairs)]
    dgx_release: Annotated[Dgx | Unread, ok(system.dgx_release)]
    dmi: Annotated[Mapping[str, str] | Unread, ok(pairs)]
    markers: Annotated[frozenset[str] | Unread, ok(system.markers)]
    lscpu: Annotated[Cpu | Unread, ok(system.lscpu)]
    id: Annotated[User | Unread, ok(access.user)]
    boot: Annotated[Boot | Unread, ok(system.boot)]
    machine_id: Annotated[str | Unread, ok(system.machine_id)]
    hostkeys: Annotated[tuple[HostKey, ...] | Unread, ok(system.hostkeys)]
    cmdline: Annotated[str | Unread, ok(str.strip)]
    locale: Annotated[Mapping[str, str] | Unread, ok(system.locale)]
    avahi: Annotated[Avahi | Unread, ok(system.avahi)]
    tools: Annotated[Mapping[str, str] | Unread, ok(pairs)]
    meminfo: Annotated[Memory | Unread, ok(memory.meminfo)]
    pressure: Annotated[Pressure | Unread, ok(memory.pressure)]
    buddyinfo: Annotated[tuple[int, ...] | Unread, ok(memory.buddyinfo)]
    swaps: Annotated[tuple[Swap, ...] | Unread, ok(memory.swaps)]
    vmstat: Annotated[Mapping[str, int] | Unread, ok(memory.vmstat)]
    thermal: Annotated[tuple[float, ...] | Unread, ok(system.temperatures)]
    driver: Annotated[Driver | Unread, ok(system.driver)]
    packages: Annotated[Mapping[str, Package] | Unread, system.packages]
    cdi: Annotated[tuple[str, ...] | Unread, ok(system.listed)]
    reboot_required: Annotated[Reboot | Unread, ok(system.reboot_required)]
    earlyoom: Annotated[bool | Unread, system.active]
    default_target: Annotated[str | Unread, ok(system.target)]
    ip_addr: Annotated[Mapping[str, Address] | Unread, ok(network.addresses)]
    routes: Annotated[tuple[Route, ...] | Unread, ok(network.routes)]
    ibdev2netdev: Annotated[tuple[RdmaLink, ...] | Unread, ok(network.ibdev2netdev)]
    net: Annotated[Mapping[str, Mapping[str, str]] | Unread, ok(network.sysfs)]
    infiniband: Annotated[tuple[Rdma, ...] | Unread, ok(network.infiniband)]
    dev_infiniband: Annotated[tuple[str, ...] | Unread, ok(system.listed)]
    sysctl: Annotated[Mapping[str, str] | Unread, ok(tree)]
    listeners: Annotated[tuple[Listener, ...] | Unread, ok(network.listeners)]
    firewall: Annotated[Firewall | Unread, network.firewall]
    nm: Annotated[tuple[Profile, ...] | Unread, ok(network.profiles)]
    sudo: Annotated[Sudo | Unread, access.sudo]
    linger: Annotated[bool | Unread, ok(system.yes)]
    logind: Annotated[str | Unread, ok(str.strip)]
    caches: Annotated[tuple[Owned, ...] | Unread, ok(access.owned)]
    lock: Annotated[Lock | Unread, ok(access.lock)]
    state: Annotated[Left | Unread, ok(access.left)]
    schedule: Annotated[Scheduled | Unread, ok(schedule.schedule)]
    model: Annotated[Model | Unread, models.model]
    models: Annotated[Mapping[str, Model | Unread] | Unread, ok(models.models)]
    docker_version: Annotated[DockerVersion | Unread, ok(containers.version)]
    docker_info: Annotated[DockerInfo | Unread, ok(containers.info)]
    docker_ps: Annotated[tuple[Container, ...] | Unread, ok(containers.listed)]
    docker_ours: Annotated[tuple[Container, ...] | Unread, containers.ours]
    docker_strangers: Annotated[Mapping[str, bool] | Unread, containers.gpu_requests]
    docker_logs: Annotated[Mapping[str, tuple[str, ...]] | Unread, ok(containers.tails)]
    images: Annotated[Mapping[str, Image | Unread | None] | Unread, ok(images.images)]
    disk: Annotated[Mapping[str, Disk] | Unread, ok(access.disks)]
    nvidia_smi: Annotated[Gpu | Unread, ok(gpu.smi)]
    gpu_load: Annotated[GpuLoad | Unread, ok(gpu.load)]
    gpu_processes: Annotated[tuple[GpuProcess, ...] | Unread, ok(gpu.processes)]
    took_seconds: float | None = None

    @property
    def unread(self) -> Mapping[str, Unread]:
        """Every probe without a value, with the reason."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Unread)}

    @cached_property
    def identity(self) -> Identity:
        """Whether this is a GB10. No single file decides: OEM images lack some, and its driver may be broken."""
        if isinstance(self.uname, Kernel) and self.uname.machine not in ("aarch64", "arm64"):
            return Identity("not", f"its processor is {self.uname.machine}; a GB10 has aarch64")
        if "tegra" in known(self.markers, frozenset()):
            return Identity("not", "it is a Jetson or Thor: /etc/nv_tegra_release exists")
        if isinstance(self.nvidia_smi, Gpu):
            return gpu.identity(self.nvidia_smi)
        reason = f"the GPU does not answer: {self.nvidia_smi.reason}"
        if signs := gpu.signs(self.lscpu, self.dmi, self.dgx_release):
            return Identity("broken-driver", f"{'; '.join(signs)}; but {reason}")
        return Identity("not", f"its CPU, board and /etc/dgx-release are not those of a GB10, and {reason}")

    @property
    def emulated(self) -> bool:
        """Whether this is a node of the lab."""
        return "lab" in known(self.markers, frozenset())

    @property
    def memory(self) -> Memory:
        """All zero where it could not be read; `meminfo` says why."""
        return known(self.meminfo, Memory())

    @property
    def booted(self) -> float:
        """When the node booted, in seconds since 1970; 0 if unknown."""
        up = self.boot.uptime_seconds if isinstance(self.boot, Boot) else None
        return self.clock.seconds - up if isinstance(self.clock, Clock) and up is not None else 0.0

    @property
    def home(self) -> str:
        return self.id.home if isinstance(self.id, User) else ""

    @property
    def groups(self) -> tuple[str, ...]:
        return self.id.groups if isinstance(self.id, User) else ()

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """Every container on the node; none where Docker could not be read (`docker_ps` says why)."""
        details, tails, gpu = known(self.docker_ours, ()), known(self.docker_logs, {}), known(self.docker_strangers, {})
        return merge(known(self.docker_ps, ()), details, tails, gpu)

    def image(self, reference: str) -> Image | None:
        """The image, None where it is not there or could not be read."""
        found = known(self.images, {}).get(reference)
        return None if isinstance(found, Unread) else found

    def image_id(self, reference: str) -> str:
        """The ID to run it by; the reference itself where the image is not there."""
        found = self.image(reference)
        return found.id if found else reference

    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        ip, devices = known(self.ip_addr, {}), known(self.infiniband, ())
        return network.interfaces(known(self.net, {}), ip, devices, known(self.ibdev2netdev, ()))

    def interface_of(self, address: str) -> str | None:
        """The interface that has this IPv4 address."""
        return next((one.name for one in self.interfaces if any(str(a.ip) == address for a in one.ipv4)), None)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every IPv4 address of the node."""
        return tuple(str(address.ip) for one in self.interfaces for address in one.ipv4)

    @property
    def ports(self) -> tuple[Port, ...]:
        """The CX7 ports; none at all usually means that no cable is plugged in."""
        return cx7.ports(self.interfaces)

    @property
    def up_ports(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.ports if port.up)

    def find_link(self, address: str | None = None) -> Link | Unread:
        """The CX7 port that carries the cluster, or why there is none."""
        if isinstance(self.ip_addr, Unread) and isinstance(self.net, Unread):
            return Unread(f"cannot read `ip addr` ({self.ip_addr.reason}) or /sys/class/net ({self.net.reason})")
        return cx7.find(self.interfaces, address)

    def link(self, address: str | None = None) -> Link | None:
        found = self.find_link(address)
        return None if isinstance(found, Unread) else found

    @property
    def history(self) -> NodeHistory:
        return self.lock.history if isinstance(self.lock, Lock) else NodeHistory()

    @property
    def orphans(self) -> tuple[Orphan, ...]:
        """Notes of containers that may still run elsewhere."""
        return self.state.orphans if isinstance(self.state, Left) else ()

    @property
    def key_digest(self) -> str:
        """SHA-256 of the API key that is kept here, empty when there is none."""
        return self.state.keys.get("key", "") if isinstance(self.state, Left) else ""
