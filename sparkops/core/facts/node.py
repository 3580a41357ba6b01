"""All that was read from one node."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sparkops.core.facts import fabric, gpu, network
from sparkops.core.facts.access import Disk, Left, Lock, Orphan, Owned, Sudo, User
from sparkops.core.facts.containers import Container, DockerInfo, DockerVersion, merge
from sparkops.core.facts.fabric import Fabric, Port
from sparkops.core.facts.gpu import Gpu, GpuLoad, GpuProcess, Identity
from sparkops.core.facts.images import Image
from sparkops.core.facts.memory import Memory, Pressure, Swap
from sparkops.core.facts.models import Model
from sparkops.core.facts.network import Address, Firewall, Interface, Listener, Profile, Rdma, RdmaLink, Route
from sparkops.core.facts.raw import Unread
from sparkops.core.facts.reading import known
from sparkops.core.facts.schedule import Scheduled
from sparkops.core.facts.system import Avahi, Boot, Clock, Cpu, Dgx, Driver, HostKey, Kernel, Package, Reboot


@dataclass(frozen=True)
class Facts:
    """Each field is one probe of `node/facts.sh`; the properties put several together.

    A field is `Unread` where the probe failed or was not asked for. The properties that plans are made from
    (`containers`, `orphans`, `home`) are empty then; that Docker cannot be read is for a check to refuse.
    """

    clock: Clock | Unread
    uname: Kernel | Unread
    os_release: Mapping[str, str] | Unread
    dgx_release: Dgx | Unread
    dmi: Mapping[str, str] | Unread
    markers: frozenset[str] | Unread
    lscpu: Cpu | Unread
    id: User | Unread
    boot: Boot | Unread
    machine_id: str | Unread
    hostkeys: tuple[HostKey, ...] | Unread
    cmdline: str | Unread
    locale: Mapping[str, str] | Unread
    avahi: Avahi | Unread
    tools: Mapping[str, str] | Unread
    meminfo: Memory | Unread
    pressure: Pressure | Unread
    buddyinfo: tuple[int, ...] | Unread
    swaps: tuple[Swap, ...] | Unread
    vmstat: Mapping[str, int] | Unread
    thermal: tuple[float, ...] | Unread
    driver: Driver | Unread
    packages: Mapping[str, Package] | Unread
    cdi: tuple[str, ...] | Unread
    reboot_required: Reboot | Unread
    earlyoom: bool | Unread
    default_target: str | Unread
    ip_addr: Mapping[str, Address] | Unread
    routes: tuple[Route, ...] | Unread
    ibdev2netdev: tuple[RdmaLink, ...] | Unread
    net: Mapping[str, Mapping[str, str]] | Unread
    infiniband: tuple[Rdma, ...] | Unread
    dev_infiniband: tuple[str, ...] | Unread
    sysctl: Mapping[str, str] | Unread
    listeners: tuple[Listener, ...] | Unread
    firewall: Firewall | Unread
    nm: tuple[Profile, ...] | Unread
    sudo: Sudo | Unread
    linger: bool | Unread
    logind: str | Unread
    caches: tuple[Owned, ...] | Unread
    lock: Lock | Unread
    state: Left | Unread
    schedule: Scheduled | Unread
    model: Model | Unread
    docker_version: DockerVersion | Unread
    docker_info: DockerInfo | Unread
    docker_ps: tuple[Container, ...] | Unread
    docker_ours: tuple[Container, ...] | Unread
    docker_strangers: Mapping[str, bool] | Unread
    docker_logs: Mapping[str, tuple[str, ...]] | Unread
    images: Mapping[str, Image | Unread | None] | Unread
    disk: Mapping[str, Disk] | Unread
    nvidia_smi: Gpu | Unread
    gpu_load: GpuLoad | Unread
    gpu_processes: tuple[GpuProcess, ...] | Unread
    took_seconds: float | None = None

    @property
    def unread(self) -> Mapping[str, Unread]:
        """Every probe without a value, with the reason."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Unread)}

    @cached_property
    def identity(self) -> Identity:
        """Whether this is a GB10 at all."""
        tegra = "tegra" in known(self.markers, frozenset())
        return gpu.identify(self.uname, self.nvidia_smi, self.lscpu, self.dmi, self.dgx_release, tegra)

    @property
    def gpu(self) -> Gpu | Unread:
        return self.nvidia_smi

    @property
    def memory(self) -> Memory:
        """All zero where it could not be read; `meminfo` says why."""
        return known(self.meminfo, Memory())

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
        return fabric.ports(self.interfaces)

    @property
    def up_ports(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.ports if port.up)

    def find_fabric(self, address: str | None = None) -> Fabric | Unread:
        """The CX7 port that carries the cluster, or why there is none."""
        unread = network.missing_interfaces(self.ip_addr, self.net)
        return unread or fabric.find(self.interfaces, address)

    def fabric(self, address: str | None = None) -> Fabric | None:
        found = self.find_fabric(address)
        return None if isinstance(found, Unread) else found

    @property
    def orphans(self) -> tuple[Orphan, ...]:
        """Notes of containers that may still run elsewhere."""
        return self.state.orphans if isinstance(self.state, Left) else ()

    @property
    def key_digest(self) -> str:
        """SHA-256 of the API key that is kept here, empty when there is none."""
        return self.state.keys.get("key", "") if isinstance(self.state, Left) else ""
