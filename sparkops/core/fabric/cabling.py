"""What kind of network connects some nodes: a pair, a switch, a triangle, a ring, or only some of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sparkops.core.fabric.graph import End, Fabric, Segment

Kind = Literal["none", "pair", "switch", "triangle", "ring", "partly cabled"]


@dataclass(frozen=True)
class Cabling:
    """How these nodes are connected.

    `order` has the nodes of a triangle or ring as their cables lead, beginning with the first one. `islands` are the
    groups of nodes that are connected with each other; more than one only if the nodes are not all connected.
    """

    kind: Kind
    segments: tuple[Segment, ...]
    order: tuple[str, ...]
    islands: tuple[tuple[str, ...], ...]

    @cached_property
    def one_network(self) -> bool:
        """Whether no node's ports lead to different nodes, as in a ring: one port reaches all that the node reaches."""
        reached: dict[str, frozenset[str]] = {}
        places = ((node, frozenset(one.nodes)) for one in self.segments for node in one.nodes)
        return all(reached.setdefault(node, nodes) == nodes for node, nodes in places)

    @property
    def heard(self) -> bool:
        """Whether the nodes heard each other at all these segments, so that no other cable connects them."""
        return bool(self.segments) and all(one.heard for one in self.segments)

    @property
    def groups(self) -> bool:
        """Whether these are several groups of connected nodes: they were heard so, or by subnets no node is alone."""
        return len(self.islands) > 1 and (self.heard or all(len(island) > 1 for island in self.islands))

    @property
    def ends(self) -> tuple[End, ...]:
        return tuple(sorted(end for one in self.segments for end in one.ends))

    def beside(self, node: str) -> tuple[str, ...]:
        """The nodes that share a segment with this one."""
        return _beside(node, self.segments)


def cabling_of(fabric: Fabric, nodes: Sequence[str]) -> Cabling:
    """How the fabric connects some nodes."""
    segments = fabric.among(nodes)
    near = {node: _beside(node, segments) for node in nodes}
    islands = _islands(near)
    flat = any(len(one.nodes) == len(nodes) for one in segments)
    order = _circle(near) if len(islands) == 1 and not flat else ()
    return Cabling(_kind(fabric, nodes, segments, order), segments, order or tuple(nodes), islands)


def _kind(fabric: Fabric, nodes: Sequence[str], segments: Sequence[Segment], order: Sequence[str]) -> Kind:
    if not segments:
        return "none"
    if any(len(one.nodes) == len(nodes) for one in segments):
        whole = (fabric.segment_of[one.ends[0]] for one in segments)
        return "switch" if any(map(fabric.switched, whole)) else "pair"
    if order:
        return "triangle" if len(order) == 3 else "ring"
    return "partly cabled"


def _beside(node: str, segments: Sequence[Segment]) -> tuple[str, ...]:
    """The nodes that share a segment with this one."""
    found = (other for one in segments if node in one.nodes for other in one.nodes if other != node)
    return tuple(dict.fromkeys(found))


def _islands(near: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    left, found = dict.fromkeys(near), []
    while left:
        island, edge = {next(iter(left))}, [next(iter(left))]
        while edge:
            new = {*near[edge.pop()]} - island
            island |= new
            edge += new
        found.append(tuple(node for node in near if node in island))
        left = {node: None for node in left if node not in island}
    return tuple(found)


def _circle(near: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The nodes in the order of their cables, if each has exactly two neighbours; else none.

    Nodes that are given in this order stay in it, whichever way round the ring.
    """
    if len(near) < 3 or any(len(others) != 2 for others in near.values()):
        return ()
    walk = [next(iter(near))]
    while len(walk) < len(near):
        walk.append(next(one for one in near if one in near[walk[-1]] and one not in walk))
    return tuple(walk)
