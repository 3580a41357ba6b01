"""The topology (`solo`, `cluster`, or copies of either behind one endpoint) and each node's part in it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeVar

from sparkops.core import proxy_image
from sparkops.core.inventory import Node
from sparkops.core.schema import nearest
from sparkops.errors import UsageError

Kind = Literal["solo", "cluster"]
"""Whether one copy of the model is on one node or spans several."""

Form = Literal["solo", "n-solo", "cluster", "n-cluster"]
CLUSTERS: tuple[Form, ...] = ("cluster", "n-cluster")
COPIES: tuple[Form, ...] = ("n-solo", "n-cluster")
"""The forms with a proxy."""
SEVERAL: tuple[Form, ...] = ("cluster", "n-solo", "n-cluster")
"""The forms with more than one node."""
Executor = Literal["ray", "mp"]
Role = Literal["server", "proxy", "head", "worker"]
WITHOUT_MODEL = ("proxy", "page")
"""Roles of containers that load no model and use no GPU."""

_NAME = re.compile(r"(?:([1-9][0-9]{0,3})x-)?(solo|cluster)")
_LIKE = re.compile(r"(\d+)[-_ ]*x?[-_ ]*(solo|cluster)")
NAMES = ("solo", "2x-solo", "cluster", "2x-cluster")
LEAST_CLUSTER = 2


class HasRole(Protocol):
    """A part of a deployment, as planned or as found on a node."""

    @property
    def role(self) -> str: ...


Engine = TypeVar("Engine", bound=HasRole)


@dataclass(frozen=True)
class Topology:
    """A topology as the user names it: `copies` of the model behind a proxy, or one copy without a proxy.

    The recipe says how many nodes a copy of a cluster takes.
    """

    kind: Kind
    copies: int = 1

    def __str__(self) -> str:
        return f"{self.copies}x-{self.kind}" if self.copies > 1 else self.kind

    @property
    def form(self) -> Form:
        if self.kind == "solo":
            return "n-solo" if self.copies > 1 else "solo"
        return "n-cluster" if self.copies > 1 else "cluster"


@dataclass(frozen=True)
class Shape:
    """What rules may know of a placement. `nodes` is how many nodes serve."""

    kind: Kind
    nodes: int
    executor: Executor
    topology: str
    copies: int = 1

    @property
    def span(self) -> int:
        """How many nodes one copy of the model spans."""
        return self.nodes // self.copies


@dataclass(frozen=True)
class Place:
    """One node's part: `rank` counts from 0 among the nodes of a copy (the head is 0), servers and proxies."""

    node: Node
    role: Role
    rank: int


@dataclass(frozen=True)
class Placement:
    """Engines first, copy after copy, then proxies; a node with a proxy is listed twice.

    `free` are the selected nodes that it does not use; `why` has the reason for a node, used or not, if there is one.
    """

    topology: Topology
    executor: Executor
    places: tuple[Place, ...]
    free: tuple[Node, ...] = ()
    why: Mapping[str, str] = field(default_factory=dict)

    @property
    def head(self) -> Place:
        return self.places[0]

    @property
    def engines(self) -> tuple[Place, ...]:
        return tuple(place for place in self.places if place.role != "proxy")

    @property
    def copies(self) -> tuple["Placement", ...]:
        """Each copy of the model alone, without proxy."""
        one = Topology(self.topology.kind)
        return tuple(replace(self, topology=one, places=tuple(places)) for places in split(self.engines))

    @property
    def fronts(self) -> tuple["Placement", ...]:
        """Each proxy alone."""
        return tuple(replace(self, topology=Topology(self.topology.kind), places=(one,)) for one in self.proxies)

    @property
    def open(self) -> bool:
        """Whether other nodes, or groups of them, could serve as well."""
        return bool(self.free) or (self.topology.kind == "cluster" and self.topology.copies > 1)

    @property
    def note(self) -> str:
        """Which nodes it uses and why, if there is a choice."""
        if not self.open:
            return ""
        copies = [" + ".join(map(self._told, copy.nodes)) for copy in self.copies]
        free = f"; not used: {', '.join(map(self._told, self.free))}" if self.free else ""
        return f"{self.topology} uses {', '.join(copies)}{free}"

    def _told(self, node: Node) -> str:
        reason = self.why.get(node.name)
        return f"{node.name} ({reason})" if reason else node.name

    @property
    def proxies(self) -> tuple[Place, ...]:
        return tuple(place for place in self.places if place.role == "proxy")

    @property
    def proxy_image(self) -> str:
        """The proxy's image with its digest; empty without a proxy. The first node with a proxy decides."""
        return (self.proxies[0].node.proxy_image or proxy_image.DEFAULT) if self.proxies else ""

    @property
    def proxy_metrics(self) -> bool:
        """Whether the proxies count for Prometheus; the first node with a proxy decides."""
        return bool(self.proxies) and self.proxies[0].node.proxy_metrics

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(place.node for place in self.engines)

    @property
    def shape(self) -> Shape:
        return Shape(self.topology.kind, len(self.engines), self.executor, str(self.topology), self.topology.copies)


def split(engines: Iterable[Engine]) -> list[list[Engine]]:
    """The engines of each copy: a server, or a head with the workers after it."""
    copies: list[list[Engine]] = []
    for one in engines:
        if one.role == "worker" and copies:
            copies[-1].append(one)
        else:
            copies.append([one])
    return copies


def parse(text: str) -> Topology:
    """`solo`, `2x-solo`, `cluster` or `2x-cluster`."""
    if match := _NAME.fullmatch(text):
        return Topology("solo" if match[2] == "solo" else "cluster", int(match[1] or 1))
    like = _LIKE.fullmatch(text.lower())
    meant = f"{like[1]}x-{like[2]}" if like else ""
    close = meant if _NAME.fullmatch(meant) else nearest(text.lower().replace("_", "-"), NAMES)
    there = "solo, cluster, <n>x-solo such as 2x-solo, <n>x-cluster such as 2x-cluster"
    suggestion = f"did you mean {close}?" if close else f"there are: {there}"
    raise UsageError(f"no such topology: {text!r} ({suggestion})")


def place(
    topology: Topology,
    nodes: Sequence[Node],
    executor: Executor = "ray",
    proxy: Literal["first", "all"] = "first",
    size: int | None = None,
) -> Placement:
    """Give each of the first nodes that suffice its part; `size` is how many a copy of a cluster takes, None for all.

    Raises UsageError if too few nodes are selected.
    """
    cluster, copies = topology.kind == "cluster", topology.copies
    least = copies * ((size or LEAST_CLUSTER) if cluster else 1)
    if len(nodes) < least:
        wanted = f"{least} {_nodes(least)}" + (" or more" if cluster and not size else "")
        hint = f"add nodes to the inventory, or select more with --limit{_instead(topology, nodes, size)}"
        raise UsageError(f"{topology} needs {wanted}, but {_selected(nodes)}", hint=hint)
    most = copies * ((size or len(nodes) // copies) if cluster else 1)
    return Placement(topology, executor, _places(topology, nodes[:most], proxy), tuple(nodes[most:]))


def _instead(topology: Topology, nodes: Sequence[Node], size: int | None) -> str:
    """The topology for which there are enough nodes, after a comma; empty without one."""
    if topology.kind == "solo":
        return f", or use {len(nodes)}x-solo" if len(nodes) > 1 else ""
    fewer = len(nodes) // (size or LEAST_CLUSTER)
    if topology.copies > 1 and fewer:
        return f", or use --topology {Topology('cluster', fewer)}"
    return ", or lower the recipe's parallel sizes with --set" if size else ", or use --topology solo"


def arranged(placement: Placement, copies: Sequence[Sequence[str]], why: Mapping[str, str] | None = None) -> Placement:
    """The placement with these nodes of each copy in the order of their ranks, out of those selected; and why."""
    nodes = {node.name: node for node in (*placement.nodes, *placement.free)}
    taken = [nodes.pop(name) for copy in copies for name in copy]
    proxy: Literal["first", "all"] = "all" if len(placement.proxies) > 1 else "first"
    places = _places(placement.topology, taken, proxy)
    return replace(placement, places=places, free=tuple(nodes.values()), why=placement.why if why is None else why)


def _places(topology: Topology, taken: Sequence[Node], proxy: str) -> tuple[Place, ...]:
    span = len(taken) // topology.copies
    in_front = () if topology.copies == 1 else taken if proxy == "all" else taken[:1]
    engines = (_engine(topology.kind, node, at, span) for at, node in enumerate(taken))
    return (*engines, *(Place(node, "proxy", rank) for rank, node in enumerate(in_front)))


def _engine(kind: Kind, node: Node, at: int, span: int) -> Place:
    if kind == "solo":
        return Place(node, "server", at)
    return Place(node, "worker" if at % span else "head", at % span)


def _nodes(count: int) -> str:
    return "node" if count == 1 else "nodes"


def _selected(nodes: Sequence[Node]) -> str:
    if not nodes:
        return "none is selected"
    return f"{len(nodes)} {'is' if len(nodes) == 1 else 'are'} selected ({', '.join(node.name for node in nodes)})"


def forms_text(forms: Iterable[str]) -> str:
    """Forms of topologies as the user writes them, such as `cluster or <n>x-solo`."""
    return " or ".join(forms).replace("n-", "<n>x-")
