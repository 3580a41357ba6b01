"""Which of the selected nodes a deployment takes, and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sparkops.core.fabric import Fabric, cabling_of

Group = tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """So many copies over so many nodes each (`span`).

    `keeps` are the nodes of the copies that the deployment has, in their order; `short`, by node, says what memory it
    lacks.
    """

    copies: int
    span: int
    keeps: tuple[Group, ...] = ()
    short: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def kept(self) -> frozenset[str]:
        return frozenset(node for group in self.keeps for node in group)

    def likes(self, node: str) -> tuple[bool, bool]:
        """Smaller is better."""
        return node not in self.kept, node in self.short


@dataclass(frozen=True)
class Choice:
    """The nodes of each copy. `why` tells of a node, chosen or not, where there is a reason."""

    copies: tuple[Group, ...]
    why: Mapping[str, str]


def choose(wanted: Wanted, nodes: Sequence[str], fabric: Fabric) -> Choice:
    """Keep whole copies, then take nodes of the deployment, then those with enough memory, then the first ones.

    The nodes of a copy share a cable or switch, or are a whole triangle or ring, if the fabric has such nodes.
    """
    whole = [group for group in wanted.keeps if len(group) == wanted.span and {*group} <= {*nodes}][: wanted.copies]
    found = _Candidates(wanted, nodes, fabric)
    left = set(nodes).difference(*whole)
    new: list[Group] = []
    while len(whole) + len(new) < wanted.copies:
        new.append(found.best(left))
        left -= {*new[-1]}
    copies = (*whole, *sorted(new, key=lambda copy: nodes.index(copy[0])))
    why = {node: _chosen(node, copy, fabric, wanted) for copy in copies for node in copy}
    why |= {node: found.left_out(node, copies) for node in nodes if node in left}
    return Choice(copies, {node: text for node, text in why.items() if text})


class _Candidates:
    """The groups of nodes that can be a copy: of each cable or switch the best ones, whole triangles and rings."""

    def __init__(self, wanted: Wanted, nodes: Sequence[str], fabric: Fabric) -> None:
        self.wanted = wanted
        self.place = {node: at for at, node in enumerate(nodes)}
        self.near: dict[str, set[str]] = {node: set() for node in nodes}
        shared = [one.nodes for one in fabric.among(nodes)] if wanted.span > 1 else []
        for group in shared:
            for node in group:
                self.near[node].update(group)
        islands = cabling_of(fabric, nodes).islands if shared else ()
        circles = (found for one in islands if len(one) == wanted.span for found in [cabling_of(fabric, one)])
        self.shared = [one for one in shared if len(one) >= wanted.span]
        self.shared += [one.order for one in circles if one.kind in ("triangle", "ring")]

    def best(self, left: set[str]) -> Group:
        """Of equal groups, the one with the fewest neighbours left, so that the next copy finds some."""
        return min(self._groups(left), key=lambda group: self._rank(group, left))

    def _groups(self, left: set[str]) -> Iterator[Group]:
        among = [[node for node in group if node in left] for group in self.shared]
        for some in [one for one in among if len(one) >= self.wanted.span] or [list(left)]:
            outside = {node: len(self.near[node] & left - {*some}) for node in some}
            best = sorted(some, key=lambda node: (*self.wanted.likes(node), outside[node], self.place[node]))
            yield tuple(sorted(best[: self.wanted.span], key=self.place.__getitem__))

    def _rank(self, group: Group, left: set[str]) -> tuple[int, int, int, list[int]]:
        new, short = (sum(column) for column in zip(*map(self.wanted.likes, group), strict=True))
        beside = set[str]().union(*(self.near[node] for node in group)) & left
        others = len(beside - {*group}) if self.wanted.copies > 1 else 0
        return new, short, others, [self.place[node] for node in group]

    def left_out(self, node: str, copies: Sequence[Group]) -> str:
        if node in self.wanted.short:
            return self.wanted.short[node]
        used = {one for copy in copies for one in copy}
        cabled = any(self.near[one] for one in used)
        return f"no cable to {copies[0][0]}" if cabled and self.near[node].isdisjoint(used) else ""


def _chosen(node: str, copy: Group, fabric: Fabric, wanted: Wanted) -> str:
    if node in wanted.kept:
        return "has it already"
    if node in wanted.short:
        return wanted.short[node]
    kind = cabling_of(fabric, copy).kind if len(copy) > 1 else "none"
    if node == copy[0] or kind in ("none", "partly cabled"):
        return ""
    return {"pair": "cabled to", "switch": "on one switch with"}.get(kind, f"in one {kind} with") + f" {copy[0]}"
