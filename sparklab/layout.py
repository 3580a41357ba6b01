"""Paths and addresses of a lab, and the record of one node."""

import os
from typing import Any

from sparklab import files

PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
USER = "spark"
PASSWORD = "spark"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""After the directory of the node's own programs."""
SSH_PORT = 2222
NODES_PER_BLOCK = 240


def captured(name: str) -> str:
    """What a DGX Spark prints, from `sparklab/data`; the caller fills in what varies."""
    return files.read(os.path.join(PACKAGE_ROOT, "sparklab", "data", name))


def addresses(octet: int, index: int) -> tuple[str, str, str, str]:
    """Management, fabric A, fabric B and own loopback of the node with this number (from 1)."""
    block, place = divmod(index - 1, NODES_PER_BLOCK)
    fourth = 11 + place
    return tuple(f"127.{octet}.{64 * side + block}.{fourth}" for side in range(4))  # type: ignore[return-value]


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
        self.fabric: list[str] = record.get("fabric", [])
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

    def cut_off_from(self, address: str) -> bool:
        """Is this a fabric address, and the CX7 link down at either end? Other addresses are reached over Ethernet."""
        owner = self.at(address)
        return owner is not None and address in owner.fabric and any(node.unplugged for node in (self, owner))

    @property
    def unplugged(self) -> bool:
        return self.fault("cx7-down") or self.fault("no-cable")

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


def here() -> Node:
    """The node that this process runs on."""
    return Node(os.environ["SPARKLAB_NODE"])
