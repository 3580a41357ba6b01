"""What the deployments of a fleet need of nodes, and what the nodes have for them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Group = tuple[str, ...]
"""The nodes of one copy."""


@dataclass(frozen=True)
class Host:
    """A node. `room` is the memory that engines can have together there, in thousandths of the node's memory.

    `owned`: a deployment of somebody else serves there, so only those that are `alongside` can go there.
    """

    name: str
    room: int
    owned: bool = False


@dataclass(frozen=True)
class Pool:
    """Nodes of which any can be one copy together: they share a cable or a switch. A triangle or ring is `whole`."""

    nodes: Group
    whole: bool = False


@dataclass(frozen=True)
class Demand:
    """One deployment: `copies` of the model over `span` nodes each, all on different nodes.

    `needs` has each node that it may take, with the memory of an engine there in thousandths of the node's.
    `lacks` is, by node, what must be copied there first, in MiB. `keeps` are the nodes of the copies that it has.
    `requested` is the share that an engine finds free at its start, or fails; what it needs beyond that was `measured`
    or is estimated.
    Two deployments share a node only if one of them is `alongside`. Those `on_demand` take turns there, so the node has
    room for the largest of them.
    """

    name: str
    needs: Mapping[str, int]
    copies: int = 1
    span: int = 1
    lacks: Mapping[str, int] = field(default_factory=dict)
    keeps: tuple[Group, ...] = ()
    alongside: bool = False
    on_demand: bool = False
    requested: int = 0
    measured: bool = False

    @property
    def kept(self) -> frozenset[frozenset[str]]:
        return frozenset(frozenset(group) for group in self.keeps)

    @property
    def nodes(self) -> int:
        """How many nodes all copies take."""
        return self.copies * self.span

    @property
    def least_need(self) -> int:
        return min(self.needs.values(), default=0)

    def beyond(self, nodes: Iterable[str]) -> int:
        """The most that an engine on one of these nodes needs beyond what it requests."""
        return max((self.needs[node] - self.requested for node in nodes), default=0)

    @property
    def most_kept(self) -> int:
        """How many copies can stay where they are."""
        return min(self.copies, len(self.keeps))


@dataclass(frozen=True, order=True)
class Cost:
    """What is best for a fleet: fewer copies that serve and must move (`moved`), then a smaller `crowding`.

    That is the sum of the squares of the memory that each node gives away, so it is least if all nodes give the same.
    """

    moved: int = 0
    crowding: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.moved + other.moved, self.crowding + other.crowding)
