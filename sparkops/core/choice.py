"""Which of the selected nodes a deployment takes, and why."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkops.core.fabric import Fabric, cabling_of

Group = tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """`keeps` are the nodes on which the deployment runs already; `short`, by node, says what memory it lacks."""

    copies: int
    span: int
    keeps: Collection[str] = ()
    short: Mapping[str, str] | None = None

    def likes(self, node: str) -> tuple[bool, bool]:
        """Smaller is better."""
        return node not in self.keeps, node in (self.short or {})


@dataclass(frozen=True)
class Choice:
    """The nodes of each copy. `why` tells of a node, chosen or not, where there is a reason."""

    copies: tuple[Group, ...]
    why: Mapping[str, str]


def choose(wanted: Wanted, nodes: Sequence[str], fabric: Fabric) -> Choice:
    """Take nodes copy by copy: those that serve it already, then those with enough memory, then the first ones.

    The nodes of a copy share a cable or switch, or are a whole triangle or ring, if the fabric has such nodes.
    """
    left, copies, why = list(nodes), list[Group](), dict[str, str]()
    for _ in range(wanted.copies):
        copy = _best(wanted, left, fabric)
        left = [node for node in left if node not in copy]
        why |= {node: _chosen(node, copy, fabric, wanted) for node in copy}
        copies.append(copy)
    copies.sort(key=lambda copy: nodes.index(copy[0]))
    why |= {node: _left(node, copies[0][0], fabric, wanted) for node in left}
    return Choice(tuple(copies), {node: text for node, text in why.items() if text})


def _best(wanted: Wanted, left: Sequence[str], fabric: Fabric) -> Group:
    """The best group; of equal ones, the one with the fewest neighbours left, so that the next copy finds some."""
    place = {node: at for at, node in enumerate(left)}
    near: dict[str, set[str]] = {node: set() for node in left}
    for one in fabric.among(left) if wanted.copies > 1 and wanted.span > 1 else ():
        for node in one.nodes:
            near[node].update(one.nodes)

    def rank(group: Group) -> tuple[int, int, int, list[int]]:
        new, short = (sum(column) for column in zip(*map(wanted.likes, group), strict=True))
        beside = set().union(*(near[node] for node in group)).difference(group)
        return new, short, len(beside), [place[node] for node in group]

    return min(_groups(wanted, left, fabric), key=rank)


def _groups(wanted: Wanted, left: Sequence[str], fabric: Fabric) -> Iterator[Group]:
    """Nodes that can be a copy: the best ones of each cable or switch, triangles and rings; else the best of all."""
    if wanted.span == 1:
        yield from ((node,) for node in left)
        return
    place = {node: at for at, node in enumerate(left)}
    among = [one.nodes for one in fabric.among(left) if len(one.nodes) >= wanted.span]
    whole = [island for island in cabling_of(fabric, left).islands if len(island) == wanted.span]
    among += [island for island in whole if cabling_of(fabric, island).kind in ("triangle", "ring")]
    for some in among or [tuple(left)]:
        best = sorted(some, key=lambda node: (*wanted.likes(node), place[node]))[: wanted.span]
        yield tuple(sorted(best, key=place.__getitem__))


def _chosen(node: str, copy: Group, fabric: Fabric, wanted: Wanted) -> str:
    if node in wanted.keeps:
        return "serves it already"
    if wanted.short and node in wanted.short:
        return wanted.short[node]
    kind = cabling_of(fabric, copy).kind if len(copy) > 1 else "none"
    if node == copy[0] or kind in ("none", "partly cabled"):
        return ""
    return {"pair": "cabled to", "switch": "on one switch with"}.get(kind, f"in one {kind} with") + f" {copy[0]}"


def _left(node: str, first: str, fabric: Fabric, wanted: Wanted) -> str:
    if wanted.short and node in wanted.short:
        return wanted.short[node]
    reached = {other for one in fabric.segments if first in one.nodes for other in one.nodes}
    return f"no cable to {first}" if wanted.span > 1 and reached and node not in reached else ""
