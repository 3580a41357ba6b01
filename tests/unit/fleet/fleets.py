"""Random fleets, and their best placement by trying everything."""

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from sparkops.core.fleet.demand import Demand, Group, Host, Pool
from sparkops.core.fleet.ways import Copies

Case = tuple[list[Demand], list[Host], list[Pool]]


def case(seed: int, hosts: int, demands: int) -> Case:
    """A fleet on a switch, in pairs, in a ring, or without a cable; with pins, strangers and what serves already."""
    rng = random.Random(seed)
    there = [Host(f"n{at}", rng.choice((970, 970, 970, 800, 400))) for at in range(hosts)]
    names = [host.name for host in there]
    pools = {
        "switch": [Pool(tuple(names))],
        "pairs": [Pool(tuple(names[at : at + 2])) for at in range(0, hosts - 1, 2)],
        "ring": [*(Pool((name, names[at - 1])) for at, name in enumerate(names)), Pool(tuple(names), whole=True)],
        "none": [],
    }[rng.choice(("switch", "pairs", "ring", "none"))]
    return [_demand(rng, f"d{at}", names, cabled=bool(pools)) for at in range(demands)], there, pools


def _demand(rng: random.Random, name: str, names: list[str], *, cabled: bool) -> Demand:
    span, copies = rng.choice((1, 1, 1, 2, 2, 4)) if cabled else 1, rng.choice((1, 1, 1, 2, 3))
    count = min(len(names), copies * span)
    allowed = names if rng.random() < 0.7 else rng.sample(names, count)
    there = rng.sample(names, count) if rng.random() < 0.4 else []
    keeps = tuple(tuple(there[at : at + span]) for at in range(0, len(there) - span + 1, span))
    lacks = {node: rng.choice((0, 60_000)) for node in allowed}
    need = rng.choice((100, 200, 300, 450, 900))
    alongside, on_demand = rng.random() < 0.7, rng.random() < 0.4
    return Demand(name, dict.fromkeys(allowed, need), copies, span, lacks, keeps, alongside, on_demand)


def best(demands: Sequence[Demand], hosts: Sequence[Host], pools: Sequence[Pool]) -> tuple[int, int] | None:
    """The least cost of all placements; None if there is none."""
    everything = product(*(list(_ways(one, hosts, pools)) for one in demands))
    costs = (cost(demands, hosts, chosen) for chosen in everything)
    return min((found for found in costs if found is not None), default=None)


def _ways(demand: Demand, hosts: Sequence[Host], pools: Sequence[Pool]) -> Iterator[Copies]:
    groups = {frozenset(group) for group in demand.keeps if len(group) == demand.span}
    groups |= {frozenset((host.name,)) for host in hosts} if demand.span == 1 else set()
    for pool in pools:
        wide = [pool.nodes] if pool.whole else combinations(pool.nodes, demand.span)
        groups |= {frozenset(some) for some in wide if len(some) == demand.span}
    allowed: list[Group] = [tuple(sorted(group)) for group in groups if group <= demand.needs.keys()]
    for copies in combinations(sorted(allowed), demand.copies):
        if len({node for copy in copies for node in copy}) == demand.nodes:
            yield copies


def cost(demands: Sequence[Demand], hosts: Sequence[Host], chosen: Sequence[Copies]) -> tuple[int, int] | None:
    """Copies that move, and the sum of the squares of what each node gives; None if that may not be."""
    moved, crowding = 0, 0
    for demand, copies in zip(demands, chosen, strict=True):
        moved += min(demand.copies, len(demand.keeps)) - len(demand.kept & {frozenset(copy) for copy in copies})
    for host in hosts:
        pairs = zip(demands, chosen, strict=True)
        here = [one for one, copies in pairs if any(host.name in copy for copy in copies)]
        stays = [one for one in here if not one.on_demand]
        owners = sum(not one.alongside for one in stays)
        alone = [one for one in here if one.on_demand and not one.alongside]
        together = sum(one.needs[host.name] for one in stays)
        largest = max((one.needs[host.name] for one in here if one.on_demand), default=0)
        if owners + bool(alone) > 1 or together + largest > host.room:
            return None
        crowding += sum(one.needs[host.name] for one in here) ** 2
    return moved, crowding
