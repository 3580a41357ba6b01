"""The best placement of a fleet, by branch and bound."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sparkops.core.fleet.demand import Cost, Demand, Host, Pool
from sparkops.core.fleet.ways import Copies, Filled, Way, Ways

EXACT = 16
"""The most nodes for which all ways are tried."""

WIDTH = 4
"""Above, a search looks at so many nodes beside those of a copy."""

LONGEST, LARGE = 30_000, 6_000
"""The ways after which a search ends: up to `EXACT` nodes, of which most need a few hundred, and above."""


def search(demands: Sequence[Demand], hosts: Sequence[Host], pools: Sequence[Pool]) -> dict[str, Copies] | None:
    """The nodes of each copy of each demand, at the least cost; None if there is no room for all.

    The same for equal arguments. With more than `EXACT` nodes, it is good but may not be the best, and None may be too
    early.
    """
    exact = len(hosts) <= EXACT

    def hardest_first(one: Demand) -> tuple[bool, int, int, int]:
        anywhere = len(one.needs) == len(hosts)
        return anywhere, 0 if anywhere else len(one.needs) - one.nodes, -one.least_need, -one.span

    none = (0,) * len(hosts)
    begun = Filled(none, none, none, frozenset(at for at, host in enumerate(hosts) if host.owned))
    tree = _Tree(
        sorted(demands, key=hardest_first),
        Ways(demands, hosts, pools, None if exact else WIDTH),
        LONGEST if exact else LARGE,
    )
    if hosts:
        tree.descend(0, Cost(), begun, ())
    return tree.best


@dataclass
class _Tree:
    """All placements: each level decides one demand. `best` is the cheapest so far, at `cost`.

    `left` is how many ways it may still look at. `seen` has the least cost of fills that are alike, by level.
    """

    demands: Sequence[Demand]
    ways: Ways
    left: int
    best: dict[str, Copies] | None = None
    cost: Cost | None = None
    seen: dict[object, Cost] = field(default_factory=dict)

    def descend(self, level: int, cost: Cost, filled: Filled, taken: tuple[Way, ...]) -> None:
        """Try all ways of the demands from this level on that can be cheaper than the best."""
        if level == len(self.demands):
            names = [demand.name for demand in self.demands]
            self.best = {name: way.copies for name, way in zip(names, taken, strict=True)}
            self.cost = cost
            return
        rest = self.demands[level + 1 :]
        at_least = least(rest, self.ways, filled)
        found = self.ways.of(self.demands[level], filled)
        self.left -= len(found)
        for way in found:
            so_far, key = cost + way.cost, (level, self.ways.key(way.then))
            if self.left < 0 or not self._can_win(so_far, at_least):
                return  # the next ways cost no less
            if key not in self.seen or so_far < self.seen[key]:
                self.seen[key] = so_far
                if self._can_win(so_far, least(rest, self.ways, way.then)):
                    self.descend(level + 1, so_far, way.then, (*taken, way))

    def _can_win(self, cost: Cost, more: Cost | None) -> bool:
        """Whether a placement with this cost so far can be the best; `more` is what the rest costs at least."""
        return more is not None and (self.cost is None or cost + more < self.cost)


def least(demands: Sequence[Demand], ways: Ways, filled: Filled) -> Cost | None:
    """What the rest costs at least: each demand as if it came next, or all as one; None if one has no room."""
    alone = Cost()
    for demand in demands:
        one = ways.least(demand, filled)
        if one is None:
            return None
        alone += one
    engines = [one.least_need for one in demands for _ in range(one.nodes)]
    return replace(alone, crowding=max(alone.crowding, least_crowding(filled.given, engines)))


def least_crowding(given: Sequence[int], engines: Iterable[int]) -> int:
    """By how much the crowding grows at least with these engines.

    No placement is more even than this: each of the largest parts has a node alone, the rest is poured onto the others.
    """
    parts = sorted((*given, *engines), reverse=True)
    left, nodes, crowding = sum(parts), len(given), 0
    for part in parts:
        if nodes == 1 or part * nodes <= left:
            break
        left, nodes, crowding = left - part, nodes - 1, crowding + part**2
    return crowding + left**2 // nodes - sum(size**2 for size in given)
