"""How much the cables carry: which interfaces measure with which, and what `ib_write_bw` printed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from math import isfinite

from sparkops.core.fabric.graph import End, Fabric, Segment
from sparkops.core.facts import Port
from sparkops.core.facts.reading import grouped

SLOW_GBPS = 40.0
"""One interface of a port at 200 Gb/s carries 92 to 112 Gb/s (NVIDIA's performance guide; eugr/spark-vllm-docker), one
whose NIC has too little power 12 to 16 (christopherowen/dgx-spark-networking)."""


@dataclass(frozen=True)
class Side:
    """An interface with its RDMA device and an address of the fabric."""

    node: str
    interface: str
    device: str
    address: str


@dataclass(frozen=True)
class Couple:
    """Two interfaces in one subnet, at one cable or switch. `sender` writes into the memory of the other node."""

    sender: Side
    receiver: Side

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset((self.sender.node, self.receiver.node))

    def __str__(self) -> str:
        ends = (f"{side.node} {side.interface}" for side in (self.sender, self.receiver))
        return " to ".join(ends)


@dataclass(frozen=True)
class Carried:
    """The average in Gb/s, or None and why there is none."""

    couple: Couple
    gbps: float | None
    problem: str = ""

    @property
    def slow(self) -> bool:
        return self.gbps is not None and self.gbps < SLOW_GBPS


def couples(fabric: Fabric, segments: Iterable[Segment]) -> Iterator[Couple]:
    """What to measure: each cable once, and at a switch each node with the next one; each interface for itself."""
    for segment in segments:
        found = grouped((network, side) for end in segment.ends for side, network in _sides(end, fabric.ports[end]))
        for sides in found.values():
            nexts = (*sides[1:], *(sides[:1] if len(sides) > 2 else ()))
            pairs = zip(sides, nexts, strict=False)
            yield from (Couple(one, other) for one, other in pairs if one.node != other.node)


def rounds(found: Iterable[Couple]) -> list[list[Couple]]:
    """What may be measured at once: no node twice."""
    lists: list[tuple[set[str], list[Couple]]] = []
    for couple in found:
        busy, turn = next((one for one in lists if one[0].isdisjoint(couple.nodes)), (set[str](), []))
        if not turn:
            lists.append((busy, turn))
        busy |= couple.nodes
        turn.append(couple)
    return [turn for _, turn in lists]


def average(text: str) -> float | None:
    """The fourth column of the last row that `ib_write_bw --report_gbits` prints; None without such a row."""
    for line in reversed(text.splitlines()):
        try:
            numbers = [float(word) for word in line.split()]
        except ValueError:
            continue
        if len(numbers) >= 5 and isfinite(numbers[3]):
            return numbers[3]
    return None


def _sides(end: End, port: Port) -> Iterator[tuple[Side, IPv4Network]]:
    for one in port.interfaces:
        if one.up and one.rdma and one.rdma.active:
            for own in one.ipv4:
                yield Side(end.node, one.name, one.rdma.name, str(own.ip)), own.network
