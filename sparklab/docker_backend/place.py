"""Paths, names and addresses of a docker lab, all derived from its record."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparklab import cables
from sparklab.cables import SWITCH, Ports

IMAGE = Path(__file__).parent / "image"
FIRST = 11
PORTS = (
    # interface, RDMA device, cage
    ("enp1s0f0np0", "rocep1s0f0", 0),
    ("enp1s0f1np1", "rocep1s0f1", 1),
    ("enP2p1s0f0np0", "roceP2p1s0f0", 0),
    ("enP2p1s0f1np1", "roceP2p1s0f1", 1),
)
FIRST_SUBNET = 100
"""Third number of 192.168.x.0/24: the switch has this subnet and the next, one per interface, cables those after."""
MANAGEMENT = "enP7s7"
INTERFACES = (MANAGEMENT, *(name for name, _rdma, _cage in PORTS))


@dataclass(frozen=True)
class Place:
    """A lab's directory and record."""

    directory: Path
    record: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.record["id"])[:8]

    @property
    def inside(self) -> Path:
        """The directory that only this backend uses."""
        return self.directory / "containers"

    @property
    def engine(self) -> Path:
        return self.inside / "engine"

    @property
    def engine_data(self) -> Path:
        return self.engine / "data"

    @property
    def contexts(self) -> Path:
        """The contexts given to `docker build`; `sparkops image build` can use them too."""
        return self.inside / "contexts"

    @property
    def switch(self) -> str:
        """The network namespace that holds the bridges."""
        return f"sparkops-{self.id}"

    @property
    def uplink(self) -> str:
        """The host's interface into the management network."""
        return f"spk{self.id}"

    @property
    def nodes(self) -> "tuple[NodePlace, ...]":
        return tuple(NodePlace(self, index) for index in range(1, int(self.record["count"]) + 1))

    def node(self, name: str) -> "NodePlace":
        return next(node for node in self.nodes if node.name == name)


@dataclass(frozen=True)
class NodePlace:
    """One node's names, addresses and directories."""

    lab: Place
    index: int

    @property
    def name(self) -> str:
        return f"node{self.index}"

    @property
    def container(self) -> str:
        return f"sparkops-lab-{self.lab.id}-{self.name}"

    @property
    def directory(self) -> Path:
        return self.lab.inside / "nodes" / self.name

    @property
    def disk(self) -> Path:
        """A file system that holds what fills up on a node: homes, temporary files, container logs."""
        return self.directory / "disk"

    @property
    def unplugged(self) -> Path:
        """Holds a file for each interface whose cable is unplugged here."""
        return self.directory / "unplugged"

    @property
    def state(self) -> Path:
        return self.directory / "lab" / "state"

    @property
    def address(self) -> str:
        return f"{self.lab.record['subnet']}.{FIRST - 1 + self.index}"

    @property
    def identity(self) -> str:
        return hashlib.sha256(f"{self.lab.record['id']} {self.name}".encode()).hexdigest()

    @property
    def hostname(self) -> str:
        return f"spark-{self.identity[:4]}"

    @property
    def ports(self) -> Ports:
        """Its ports with a cable."""
        return cables.ports(self.lab.record.get("fabric", SWITCH), self.index, len(self.lab.nodes), _addressed)

    @property
    def cabled(self) -> dict[str, str]:
        """By interface of the ports with a cable, its address."""
        found = {}
        for port, its in self.ports.items():
            for interface, address in zip(cables.PORTS[port], its["addresses"], strict=True):
                found[interface] = f"{address}/{its['prefix']}"
        return found

    def opposite(self, interface: str) -> "tuple[NodePlace, str] | None":
        """The other end of the cable between two nodes that this interface has."""
        for port, its in self.ports.items():
            if its["other"] and interface in cables.PORTS[port]:
                other = self.lab.node(its["other"])
                far = next(name for name, one in other.ports.items() if one["segment"] == its["segment"])
                return other, cables.PORTS[far][cables.PORTS[port].index(interface)]
        return None

    def end(self, interface: str) -> str:
        """The switch's end of this interface's veth pair."""
        return f"n{self.index}p{INTERFACES.index(interface)}"

    def mac(self, interface: str) -> str:
        return f"4c:bb:47:{self.index:02x}:{self.identity[:2]}:{0x11 + INTERFACES.index(interface):02x}"


def _addressed(cable: int | None, end: int) -> dict[str, Any]:
    """The subnets of a cable, or those of the switch."""
    third = FIRST_SUBNET + 2 * (cable or 0)
    return {"addresses": [f"192.168.{third + side}.{FIRST - 1 + end}" for side in (0, 1)], "prefix": 24}


def cache_directory() -> Path:
    """Images are kept here after `lab down`: `$XDG_CACHE_HOME/sparkops/lab`."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(os.path.abspath(home)) / "sparkops" / "lab"
