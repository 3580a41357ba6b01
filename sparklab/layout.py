"""Paths and addresses of a lab, and the record of one node."""

import os
from typing import Any

from sparklab import files
from sparklab.cables import PORTS, Addressed, Ports

PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
USER = "spark"
PASSWORD = "spark"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""After the directory of the node's own programs."""
SSH_PORT = 2222
NODES_PER_BLOCK = 240
OTHER = {"p0": "p1", "p1": "p0"}


def captured(name: str) -> str:
    """What a DGX Spark prints, from `sparklab/data`; the caller fills in what varies."""
    return files.read(os.path.join(PACKAGE_ROOT, "sparklab", "data", name))


def addresses(octet: int, index: int) -> tuple[str, str, str, str]:
    """Management, fabric A, fabric B and own loopback of the node with this number (from 1)."""
    block, place = divmod(index - 1, NODES_PER_BLOCK)
    fourth = 11 + place
    return tuple(f"127.{octet}.{64 * side + block}.{fourth}" for side in range(4))  # type: ignore[return-value]


OF_A_CABLE = 29
"""Prefix length of a cable's subnets. Behind a longer one, sparkops expects a router."""
BEHIND_SWITCH = 32
"""The blocks of addresses before this one are those of nodes on a switch (`addresses`)."""


def of_port(octet: int, nodes: int) -> Addressed:
    """The addresses of ports in a lab with so many nodes: each cable has two subnets, one for each interface."""

    def addressed(cable: int | None, end: int) -> dict[str, Any]:
        if cable is None:
            return {"addresses": list(addresses(octet, end)[1:3]), "prefix": prefix(nodes)}
        block, place = divmod(cable - 1, 32)
        both = [f"127.{octet}.{64 * side + BEHIND_SWITCH + block}.{8 * place + end}" for side in (1, 2)]
        return {"addresses": both, "prefix": OF_A_CABLE}

    return addressed


def prefix(nodes: int) -> int:
    """Prefix length of the four networks of a lab with so many nodes."""
    return 24 if nodes <= NODES_PER_BLOCK else 18


class Node:
    """One emulated node as its files describe it."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = str(directory)
        record: dict[str, Any] = files.read_json(self.path("node.json")) or {}
        self.record = record
        self.name: str = record.get("name", "")
        self.lab: str = record.get("lab", "")
        self.address: str = record.get("address", "")
        self.loopback: str = record.get("loopback", "")
        self.hostname: str = record.get("hostname", "")
        self.speed: float = record.get("speed", 1.0)

    def path(self, *parts: str) -> str:
        return os.path.join(self.directory, *parts)

    def root(self, *parts: str) -> str:
        return os.path.join(self.directory, "root", *parts)

    @property
    def home(self) -> str:
        return self.path("home")

    @property
    def lab_directory(self) -> str:
        return os.path.dirname(os.path.dirname(self.directory))

    def fault(self, kind: str) -> bool:
        """Is this fault on now? One `stat`, so that every tool call can ask."""
        return os.path.exists(self.path("faults", kind))

    @property
    def ports(self) -> Ports:
        """Its QSFP ports as they are configured, with a link or without."""
        found: Ports = self.record.get("ports", {})
        if applied := self.applied:
            found = {name: {**port, **_applied(name, port, applied)} for name, port in found.items()}
        return {OTHER[name]: port for name, port in found.items()} if self.fault("other-cage") else found

    @property
    def applied(self) -> dict[str, dict[str, Any]]:
        """By interface of the fabric, the `mtu`, `address` and `prefix` that netplan gave it (`tree/netplan.py`)."""
        return files.read_json(self.path("netplan.json")) or {}

    @property
    def fabric(self) -> list[str]:
        """The addresses of its fabric, with a link or without."""
        return [address for port in self.ports.values() for address in port["addresses"]]

    def cut_off_from(self, address: str) -> bool:
        """Is this a fabric address to which no cable leads? Other addresses are reached over Ethernet."""
        owner = self.at(address)
        if owner is None or address not in owner.fabric:
            return False
        port = next(name for name, port in owner.ports.items() if address in port["addresses"])
        return owner.links.get(port) not in self.links.values()

    def parted_from(self, other: "Node") -> bool:
        """Has the cable or switch between these two, as the lab was made, no link now?"""
        segments = ({port["segment"] for port in node.ports.values()} for node in (self, other))
        return bool(set.intersection(*segments)) and not {*self.links.values()} & {*other.links.values()}

    @property
    def links(self) -> dict[str, str]:
        """By port with a link, what it is connected to. A cable has a link if it is plugged in at both ends."""
        found = {}
        for port, segment in self.plugged.items():
            ends = [one["other"] for one in self.ports.values() if one["segment"] == segment and one["other"]]
            if all(segment in self.beside(other).plugged.values() for other in ends):
                found[port] = segment
        return found

    @property
    def plugged(self) -> dict[str, str]:
        """By port, what its cable leads to."""
        found = {port: one["segment"] for port, one in self.ports.items()}
        if self.fault("cx7-down") or self.fault("no-cable"):
            return {}
        if self.fault("cable-pulled"):
            found.popitem()
        if self.fault("cables-exchanged"):
            found = dict(zip(found, reversed(found.values()), strict=True))
        if self.fault("cable-elsewhere"):
            found["p0"] = f"a device beside {self.name}"
        if self.fault("cable-loop"):
            found = dict.fromkeys(("p0", "p1"), f"a cable of {self.name}")
        return found

    def beside(self, name: str) -> "Node":
        return Node(os.path.join(os.path.dirname(self.directory), name))

    def at(self, address: str) -> "Node | None":
        """The node of this lab with this address; found by a link, without reading all nodes."""
        path = os.path.join(self.lab_directory, "at", address)
        return Node(os.path.realpath(path)) if os.path.exists(path) else None

    def siblings(self) -> "list[Node]":
        """All nodes of this lab, this one included."""
        nodes = os.path.join(self.lab_directory, "nodes")
        return [Node(os.path.join(nodes, name)) for name in sorted(os.listdir(nodes))]

    def seconds(self, healthy: float) -> float:
        """Seconds that something takes on this node, given what it takes on a lab node without faults."""
        return healthy / self.speed * (5.0 if self.fault("slow") else 1.0)


def _applied(name: str, port: dict[str, Any], applied: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The addresses of a port and their prefix, where netplan gave some."""
    its = [applied.get(interface, {}) for interface in PORTS[name]]
    addresses = [one.get("address", own) for one, own in zip(its, port["addresses"], strict=True)]
    return {"addresses": addresses, "prefix": next((one["prefix"] for one in its if "prefix" in one), port["prefix"])}


def here() -> Node:
    """The node that this process runs on."""
    return Node(os.environ["SPARKLAB_NODE"])
