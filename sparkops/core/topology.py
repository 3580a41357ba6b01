"""The topology (`solo`, `<n>x-solo`, `cluster`) and each node's part in it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sparkops.core import proxy_image
from sparkops.core.inventory import Node
from sparkops.core.schema import nearest
from sparkops.errors import UsageError

Kind = Literal["solo", "n-solo", "cluster"]
Executor = Literal["ray", "mp"]
Role = Literal["server", "proxy", "head", "worker"]

_SOLO = re.compile(r"(?:([1-9][0-9]{0,3})x-)?solo")
NAMES = ("solo", "2x-solo", "cluster")
LEAST_CLUSTER = 2


@dataclass(frozen=True)
class Topology:
    """A topology as the user names it; a cluster takes all selected nodes, so its count is None."""

    kind: Kind
    count: int | None

    def __str__(self) -> str:
        return f"{self.count}x-solo" if self.kind == "n-solo" else self.kind


@dataclass(frozen=True)
class Shape:
    """What rules may know of a placement. `nodes` is how many nodes serve."""

    kind: Kind
    nodes: int
    executor: Executor
    topology: str

    @property
    def span(self) -> int:
        """How many nodes one server spans."""
        return self.nodes if self.kind == "cluster" else 1


@dataclass(frozen=True)
class Place:
    """One node's part: `rank` counts from 0 among engines (the head is 0) and among proxies."""

    node: Node
    role: Role
    rank: int


@dataclass(frozen=True)
class Placement:
    """Engines first, in the order of the inventory, then proxies; a node with a proxy is listed twice."""

    topology: Topology
    executor: Executor
    places: tuple[Place, ...]
    note: str = ""

    @property
    def head(self) -> Place:
        return self.places[0]

    @property
    def engines(self) -> tuple[Place, ...]:
        return tuple(place for place in self.places if place.role != "proxy")

    @property
    def proxies(self) -> tuple[Place, ...]:
        return tuple(place for place in self.places if place.role == "proxy")

    @property
    def proxy_image(self) -> str:
        """The proxy's image with its digest; empty without a proxy. The first node with a proxy decides."""
        return (self.proxies[0].node.proxy_image or proxy_image.DEFAULT) if self.proxies else ""

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(place.node for place in self.engines)

    @property
    def shape(self) -> Shape:
        return Shape(self.topology.kind, len(self.engines), self.executor, str(self.topology))


def parse(text: str) -> Topology:
    """`solo`, `2x-solo` or `cluster`."""
    if text == "cluster":
        return Topology("cluster", None)
    if match := _SOLO.fullmatch(text):
        count = int(match[1] or 1)
        return Topology("n-solo" if count > 1 else "solo", count)
    close = nearest(text.lower().replace("_", "-"), NAMES)
    suggestion = f"did you mean {close}?" if close else "there are: solo, <n>x-solo such as 2x-solo, cluster"
    raise UsageError(f"no such topology: {text!r} ({suggestion})")


def place(
    topology: Topology,
    nodes: Sequence[Node],
    executor: Executor = "ray",
    proxy: Literal["first", "all"] = "first",
    most: int | None = None,
) -> Placement:
    """Give each node its part. `most` is the largest number of nodes that the recipe allows in a cluster."""
    if topology.kind == "cluster":
        return Placement(topology, executor, _cluster(nodes, most))
    count = topology.count or 1
    if len(nodes) < count:
        instead = f", or use {len(nodes)}x-solo" if len(nodes) > 1 else ""
        raise UsageError(
            f"{topology} needs {count} {_nodes(count)}, but {_selected(nodes)}",
            hint=f"add nodes to the inventory, or select more with --limit{instead}",
        )
    taken = nodes[:count]
    servers = tuple(Place(node, "server", rank) for rank, node in enumerate(taken))
    in_front = taken if proxy == "all" else taken[:1]
    if topology.kind == "solo":
        in_front = ()
    proxies = tuple(Place(node, "proxy", rank) for rank, node in enumerate(in_front))
    return Placement(topology, executor, servers + proxies, _note(topology, taken, nodes))


def _cluster(nodes: Sequence[Node], most: int | None) -> tuple[Place, ...]:
    if len(nodes) < LEAST_CLUSTER:
        raise UsageError(
            f"cluster needs 2 nodes or more, but {_selected(nodes)}",
            hint="add a node to the inventory, select more with --limit, or use --topology solo",
        )
    if most is not None and len(nodes) > most:
        chosen = ",".join(node.name for node in nodes[:most])
        raise UsageError(
            f"this recipe allows at most {most} {_nodes(most)} in a cluster, but {_selected(nodes)}",
            hint="use --topology solo" if most < LEAST_CLUSTER else f"use --limit {chosen}",
        )
    return tuple(Place(node, "worker" if rank else "head", rank) for rank, node in enumerate(nodes))


def _note(topology: Topology, taken: Sequence[Node], nodes: Sequence[Node]) -> str:
    if len(taken) == len(nodes):
        return ""
    what = "the first node" if len(taken) == 1 else f"the first {len(taken)} nodes"
    return f"{topology} uses {what} of the {len(nodes)} selected: {', '.join(node.name for node in taken)}"


def _nodes(count: int) -> str:
    return "node" if count == 1 else "nodes"


def _selected(nodes: Sequence[Node]) -> str:
    if not nodes:
        return "none is selected"
    return f"{len(nodes)} {'is' if len(nodes) == 1 else 'are'} selected ({', '.join(node.name for node in nodes)})"


def kinds_text(kinds: Iterable[str]) -> str:
    """Kinds of topologies as the user writes them, such as `cluster or <n>x-solo`."""
    return " or ".join(kinds).replace("n-solo", "<n>x-solo")
