"""The topology (`solo`, `<n>x-solo`, `cluster`) and each node's part in it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
    """A topology as the user names it; the recipe says how many nodes a cluster takes, so its count is None."""

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
    copies = re.fullmatch(r"(\d+)[-_ ]*x?[-_ ]*solo", text.lower())
    meant = f"{copies[1]}x-solo" if copies else ""
    close = meant if _SOLO.fullmatch(meant) else nearest(text.lower().replace("_", "-"), NAMES)
    suggestion = f"did you mean {close}?" if close else "there are: solo, <n>x-solo such as 2x-solo, cluster"
    raise UsageError(f"no such topology: {text!r} ({suggestion})")


def place(
    topology: Topology,
    nodes: Sequence[Node],
    executor: Executor = "ray",
    proxy: Literal["first", "all"] = "first",
    size: int | None = None,
) -> Placement:
    """Give each of the first nodes that suffice its part; `size` is how many a cluster takes, None for all.

    Raises UsageError if too few nodes are selected.
    """
    cluster = topology.kind == "cluster"
    least = (size or LEAST_CLUSTER) if cluster else topology.count or 1
    if len(nodes) < least:
        wanted = f"{least} {_nodes(least)}" + (" or more" if cluster and not size else "")
        more = "add nodes to the inventory, or select more with --limit"
        fewer = "lower the recipe's parallel sizes with --set" if size else "use --topology solo"
        instead = fewer if cluster else f"use {len(nodes)}x-solo"
        hint = f"{more}, or {instead}" if cluster or len(nodes) > 1 else more
        raise UsageError(f"{topology} needs {wanted}, but {_selected(nodes)}", hint=hint)
    taken = nodes if cluster and size is None else nodes[:least]
    return Placement(topology, executor, _places(topology, taken, proxy), _note(topology, taken, nodes))


def along(placement: Placement, order: Sequence[str]) -> Placement:
    """The cluster with its ranks in this order of nodes."""
    if [place.node.name for place in placement.engines] == [*order]:
        return placement
    by_name = {place.node.name: place.node for place in placement.engines}
    return replace(placement, places=_places(placement.topology, [by_name[name] for name in order], "first"))


def _places(topology: Topology, taken: Sequence[Node], proxy: str) -> tuple[Place, ...]:
    if topology.kind == "cluster":
        return tuple(Place(node, "worker" if rank else "head", rank) for rank, node in enumerate(taken))
    servers = tuple(Place(node, "server", rank) for rank, node in enumerate(taken))
    in_front = () if topology.kind == "solo" else taken if proxy == "all" else taken[:1]
    return servers + tuple(Place(node, "proxy", rank) for rank, node in enumerate(in_front))


def _note(topology: Topology, taken: Sequence[Node], nodes: Sequence[Node]) -> str:
    if len(taken) == len(nodes):
        return ""
    what = "the first node" if len(taken) == 1 else f"the first {len(taken)} nodes"
    used, free = (", ".join(node.name for node in some) for some in (taken, nodes[len(taken) :]))
    return f"{topology} uses {what} of the {len(nodes)} selected: {used}; free: {free}"


def _nodes(count: int) -> str:
    return "node" if count == 1 else "nodes"


def _selected(nodes: Sequence[Node]) -> str:
    if not nodes:
        return "none is selected"
    return f"{len(nodes)} {'is' if len(nodes) == 1 else 'are'} selected ({', '.join(node.name for node in nodes)})"


def kinds_text(kinds: Iterable[str]) -> str:
    """Kinds of topologies as the user writes them, such as `cluster or <n>x-solo`."""
    return " or ".join(kinds).replace("n-solo", "<n>x-solo")
