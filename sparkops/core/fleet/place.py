"""Which nodes each deployment of a fleet takes; and for those without a place, why not and what would fit."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sparkops.core.fleet.demand import Demand, Host, Pool
from sparkops.core.fleet.search import search
from sparkops.core.fleet.ways import Copies

STEP = 10
"""Shares of memory are suggested in hundredths."""

LEAST = 50
"""No smaller share is suggested, in thousandths."""


@dataclass(frozen=True)
class NoPlace:
    """Why a deployment has no place: too few `nodes` may take it, no `cables` connect enough of them, another
    deployment is not to be `shared` with, or too little `memory`.

    `most` is the largest share of memory in thousandths with which it has a place; None without one.
    """

    reason: Literal["nodes", "cables", "shared", "memory"]
    most: int | None = None


@dataclass(frozen=True)
class FleetPlacement:
    """By deployment, the nodes of each copy, or why it has no place."""

    copies: Mapping[str, Copies]
    without: Mapping[str, NoPlace]


def place(demands: Sequence[Demand], hosts: Sequence[Host], pools: Sequence[Pool]) -> FleetPlacement:
    """The best place for all; if there is none, for the first ones that have places together, in their order."""
    placed, found = [*demands], search(demands, hosts, pools)
    if found is None:
        placed, found = [], {}
        for demand in demands:
            if (more := search([*placed, demand], hosts, pools)) is not None:
                placed, found = [*placed, demand], more

    def fits(demand: Demand, *beside: Demand) -> bool:
        return search([*beside, demand], hosts, pools) is not None

    without = {one.name: _why(one, placed, fits) for one in demands if one.name not in found}
    return FleetPlacement(found, without)


def _why(demand: Demand, placed: Sequence[Demand], fits: Callable[..., bool]) -> NoPlace:
    if len(demand.needs) < demand.nodes:
        return NoPlace("nodes")
    if not fits(replace(_asking(demand, 0), alongside=True)):
        return NoPlace("cables")
    if not demand.alongside and fits(replace(demand, alongside=True), *placed):
        return NoPlace("shared")
    shares = range(LEAST, max(demand.needs.values()), STEP)
    too_large = bisect_left(shares, True, key=lambda share: not fits(_asking(demand, share), *placed))
    return NoPlace("memory", shares[too_large - 1] if too_large else None)


def _asking(demand: Demand, share: int) -> Demand:
    return replace(demand, needs=dict.fromkeys(demand.needs, share))
