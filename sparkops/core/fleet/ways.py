"""The ways to put one deployment on the nodes of a fleet, as far as they differ."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from sparkops.core.facts.reading import grouped
from sparkops.core.fleet.demand import Cost, Demand, Group, Host, Pool

Copies = tuple[Group, ...]

MOST = 2_000
"""The most ways of one demand that are compared. Only fleets whose nodes differ much have more."""


@dataclass(frozen=True)
class Filled:
    """How full the nodes are, in their order.

    `given` is all that a node gives away, `turns` what those on demand take of that, `largest` the largest of them.
    `owned` are the nodes of a deployment that is not `alongside`, `shared` those of one on demand that is not.
    """

    given: tuple[int, ...]
    turns: tuple[int, ...]
    largest: tuple[int, ...]
    owned: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()

    def held(self, at: int, demand: Demand, need: int) -> int:
        """What is held at once on a node if a demand comes there."""
        largest = max(self.largest[at], need) if demand.on_demand else self.largest[at] + need
        return self.given[at] - self.turns[at] + largest

    def open_to(self, at: int, demand: Demand) -> bool:
        return demand.alongside or (at not in self.owned and (demand.on_demand or at not in self.shared))

    def with_more(self, demand: Demand, needs: Mapping[int, int]) -> "Filled":
        """With a demand on these nodes."""
        given, turns, largest = [*self.given], [*self.turns], [*self.largest]
        for at, need in needs.items():
            given[at] += need
            if demand.on_demand:
                turns[at], largest[at] = turns[at] + need, max(largest[at], need)
        filled = replace(self, given=tuple(given), turns=tuple(turns), largest=tuple(largest))
        if demand.alongside:
            return filled
        if demand.on_demand:
            return replace(filled, shared=self.shared | needs.keys())
        return replace(filled, owned=self.owned | needs.keys())


@dataclass(frozen=True)
class Way:
    """The nodes of each copy, what that costs, the MiB to copy there first, and how full the nodes are then."""

    copies: Copies
    cost: Cost
    copied: int
    then: Filled


class Ways:
    """The ways to place each of some demands. Of nodes that are alike in all that decides, it takes the first ones.

    `width` limits the nodes that it considers beside those that a way needs; None: all.
    """

    def __init__(self, demands: Sequence[Demand], hosts: Sequence[Host], pools: Sequence[Pool], width: int | None):
        self.hosts = {host.name: host for host in hosts}
        self.at = {host.name: at for at, host in enumerate(hosts)}
        self.pools, self.width = pools, width
        inside = grouped((node, at) for at, pool in enumerate(pools) for node in pool.nodes)
        self.pool = {node: tuple(inside.get(node, ())) for node in self.at}
        self.apart = all(len(found) < 2 for found in self.pool.values())
        """Whether no node is in two pools, so that equal pools can stand for each other."""
        numbers: dict[object, int] = {}
        self.kind = {host.name: numbers.setdefault(_kind(host, demands), len(numbers)) for host in hosts}
        """Nodes of one kind differ only by pool, by how full they are, and by what must be copied there."""
        self.sought = Counter(node for one in demands if len(one.needs) < len(hosts) for node in one.needs)
        """How many of the demands that may not go everywhere may go to a node."""

    def of(self, demand: Demand, filled: Filled) -> list[Way]:
        """The different ways to place a demand on nodes that are filled so, the cheapest first."""
        found = (self._way(demand, copies, filled) for copies in islice(self._copies(demand, filled), MOST))
        order = self.at.__getitem__
        return sorted(found, key=lambda way: (way.cost, way.copied, [[*map(order, copy)] for copy in way.copies]))

    def least(self, demand: Demand, filled: Filled) -> Cost | None:
        """What it costs at least to place a demand; None if too few nodes have room."""
        free, count = self._free(demand, filled), demand.nodes
        if len(free) < count:
            return None
        crowding = sorted(self._crowding(demand, node, filled) for node in free)[:count]
        stay = sum(1 for group in demand.kept if group.issubset(free))
        return Cost(max(0, demand.most_kept - stay), sum(crowding))

    def key(self, filled: Filled) -> object:
        """Equal for fills that differ only by nodes, or by whole pools, that can stand for each other."""
        return self._canonical([(self.pool[node], self._state(node, filled)) for node in self.at])

    def _canonical(self, states: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> object:
        return tuple(sorted(tuple(sorted(one)) for one in grouped(states).values())) if self.apart else tuple(states)

    def _state(self, node: str, filled: Filled) -> tuple[int, ...]:
        at = self.at[node]
        taken = filled.given[at], filled.turns[at], filled.largest[at]
        return self.kind[node], *taken, at in filled.owned, at in filled.shared

    def _copies(self, demand: Demand, filled: Filled) -> Iterator[Copies]:
        """The nodes of all copies; copies over one node each are picked together, others one after the other."""
        free = self._free(demand, filled)
        if demand.span == 1:
            yield from (tuple((node,) for node in one) for one in self._picks(demand, filled, free, demand.copies))
            return
        begun: list[Copies] = [()]
        for _ in range(demand.copies):
            left = ((copies, {*free}.difference(*copies)) for copies in begun)
            longer = ((*copies, group) for copies, free in left for group in self._groups(demand, filled, free))
            looked = ((self._looks(demand, one, filled), one) for one in islice(longer, MOST))
            begun = [alike[0] for alike in grouped(looked).values()]
        yield from (tuple(sorted(copies, key=lambda group: self.at[group[0]])) for copies in begun)

    def _looks(self, demand: Demand, copies: Copies, filled: Filled) -> object:
        """Equal for copies that differ only by nodes or pools that can stand for each other."""
        taken = frozenset(node for group in copies for node in group)
        stay = len(demand.kept.intersection(map(frozenset, copies)))
        states = [(self.pool[node], (*self._state(node, filled), node in taken)) for node in self.at]
        return stay, self._canonical(states)

    def _groups(self, demand: Demand, filled: Filled, free: Collection[str]) -> Iterator[Group]:
        """The groups of nodes that can be one copy. One that the deployment has stays in its order."""
        yield from (group for group in demand.keeps if len(group) == demand.span and {*group}.issubset(free))
        seen = set[object]()
        each = ((pool, [node for node in pool.nodes if node in free]) for pool in self.pools)
        for pool, inside in sorted(each, key=lambda one: sum(demand.lacks.get(node, 0) for node in one[1])):
            looks = pool.whole, tuple(sorted(self._state(node, filled) for node in inside))
            if (self.apart and looks in seen) or (pool.whole and len(inside) < len(pool.nodes)):
                continue
            seen.add(looks)
            if not pool.whole:
                found: Iterable[Group] = self._picks(demand, filled, inside, demand.span)
            else:
                found = [pool.nodes] if len(pool.nodes) == demand.span else []
            yield from (group for group in found if frozenset(group) not in demand.kept)

    def _picks(self, demand: Demand, filled: Filled, nodes: Sequence[str], size: int) -> Iterator[Group]:
        """Every choice of so many nodes that differs; of equal ones those that lack least."""
        kept = frozenset[str]().union(*demand.kept)

        def likes(node: str) -> tuple[bool, int, int, int, int]:
            at = self.at[node]
            return node not in kept, filled.given[at], self.sought[node], demand.lacks.get(node, 0), at

        wide = sorted(nodes, key=likes)[: None if self.width is None else size + self.width]
        classes = grouped(((self.pool[node], self._state(node, filled)), node) for node in wide)
        return (tuple(sorted(found, key=self.at.__getitem__)) for found in picks([*classes.values()], size))

    def _free(self, demand: Demand, filled: Filled) -> list[str]:
        return [
            node
            for node, need in demand.needs.items()
            if filled.held(self.at[node], demand, need) <= self.hosts[node].room
            and filled.open_to(self.at[node], demand)
        ]

    def _crowding(self, demand: Demand, node: str, filled: Filled) -> int:
        given, need = filled.given[self.at[node]], demand.needs[node]
        return (given + need) ** 2 - given**2

    def _way(self, demand: Demand, copies: Copies, filled: Filled) -> Way:
        nodes = [node for copy in copies for node in copy]
        stay = len(demand.kept & {frozenset(copy) for copy in copies})
        cost = Cost(demand.most_kept - stay, sum(self._crowding(demand, node, filled) for node in nodes))
        copied = sum(demand.lacks.get(node, 0) for node in nodes)
        return Way(
            copies, cost, copied, filled.with_more(demand, {self.at[node]: demand.needs[node] for node in nodes})
        )


def _kind(host: Host, demands: Sequence[Demand]) -> object:
    kept = (next((at for at, group in enumerate(one.keeps) if host.name in group), None) for one in demands)
    return host.room, host.owned, tuple(kept), tuple(one.needs.get(host.name) for one in demands)


def picks(classes: Sequence[Sequence[str]], size: int) -> Iterator[Group]:
    """Every choice of so many nodes, where only the number of nodes out of each class matters."""
    if not size:
        yield ()
    elif size <= sum(map(len, classes)):
        first, rest = classes[0], classes[1:]
        for count in range(min(size, len(first)), -1, -1):
            for more in picks(rest, size - count):
                yield (*first[:count], *more)
