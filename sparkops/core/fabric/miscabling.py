"""What is wrong with the cables between some nodes, and which one to move."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sparkops.core.fabric.cabling import Cabling, cabling_of
from sparkops.core.fabric.graph import End, Fabric, Segment


@dataclass(frozen=True)
class Miscabling:
    """One thing to do about the cables. `nodes` are those that it is about.

    `gap`: what is missing may be another node, if not all are known.
    """

    problem: str
    remedy: str
    nodes: tuple[str, ...]
    gap: bool = False


def miscablings(fabric: Fabric, cabling: Cabling) -> Iterator[Miscabling]:
    """What keeps nodes from being connected; a mistake at one port before what is missing."""
    yield from _loops(fabric, cabling)
    yield from _exchanged(fabric, cabling)
    if len(cabling.islands) > 1:
        yield from _apart(fabric, cabling)
    elif cabling.kind == "partly cabled":
        yield from _gap(fabric, cabling)


def unsure(fabric: Fabric, cabling: Cabling) -> tuple[End, ...]:
    """Ports with a link of which nobody knows where it leads: nothing answers there over IPv6, nor has its subnet."""
    return tuple(end for end in fabric.lone if end.node in cabling.order and end not in fabric.strange)


def dark(fabric: Fabric, cabling: Cabling) -> tuple[str, ...]:
    """Nodes without a link at any port."""
    lit = {end.node for end, port in fabric.ports.items() if port.up}
    return tuple(node for node in cabling.order if node not in lit)


def loose(fabric: Fabric, cabling: Cabling) -> tuple[str, ...]:
    """Nodes that are connected to none, but have a cable: to themselves, or to something unknown."""
    looped = (end for one in fabric.segments if one.looped and not fabric.switched(one) for end in one.ends)
    wrong = {end.node for end in (*fabric.strange, *looped)}
    return tuple(node for node in cabling.order if node in wrong and not cabling.beside(node))


def _loops(fabric: Fabric, cabling: Cabling) -> Iterator[Miscabling]:
    for one in fabric.segments:
        if one.looped and one.nodes[0] in cabling.order and not fabric.switched(one):
            first, second = one.ends
            problem = f"the cable in {first} leads back to {second.port} of the same node"
            yield Miscabling(problem, f"plug its end in {second} into another node", one.nodes)


def _exchanged(fabric: Fabric, cabling: Cabling) -> Iterator[Miscabling]:
    """Nodes whose ports have the subnets of each other's cables. Of two that share both cables, the first is named."""
    told: list[Segment] = []
    for node in cabling.order:
        mine = [(end, one) for one in cabling.segments if (end := one.end_of(node))]
        if len(mine) != 2 or any(one in told for _, one in mine):
            continue
        (first, one), (second, other) = mine
        here, there = fabric.ports[first].networks, fabric.ports[second].networks
        near, far = _others(fabric, one, node), _others(fabric, other, node)
        if here & far and there & near and not here & near and not there & far:
            told += [one, other]
            problem = f"the cables in {first.port} and {second.port} of {node} are exchanged: each port has the subnet "
            nodes = tuple(dict.fromkeys((node, *one.nodes, *other.nodes)))
            yield Miscabling(f"{problem}of the other cable", f"at {node}, exchange the two plugs", nodes)


def _others(fabric: Fabric, segment: Segment, node: str) -> frozenset[object]:
    """The subnets of a segment's other ends."""
    return frozenset(net for end in segment.ends if end.node != node for net in fabric.ports[end].networks)


def _apart(fabric: Fabric, cabling: Cabling) -> Iterator[Miscabling]:
    """Each island of linked nodes that is not connected to the largest one, unless the reason is unknown or told."""
    main = max(cabling.islands, key=len)
    looped = {one.nodes[0] for one in fabric.segments if one.looped and not fabric.switched(one)}
    settled = looped | {*dark(fabric, cabling)} | {end.node for end in unsure(fabric, cabling)}
    for island in cabling.islands:
        if island is main or not settled.isdisjoint(island):
            continue
        lost = next((end for end in fabric.lone if end.node in island), None)
        if lost:
            yield _stray(fabric, cabling, lost, main)
        else:
            start, target = _free(fabric, island), _free(fabric, main)
            problem = f"no cable connects {_listed(island)} to {_listed(main)}"
            yield Miscabling(problem, f"connect {start} to {target}, or all nodes to one switch", island)


def _stray(fabric: Fabric, cabling: Cabling, end: End, wanted: Sequence[str]) -> Miscabling:
    """A cable that leads to something else instead of to one of the `wanted` nodes."""
    others = _listed([node for node in cabling.order if node != end.node])
    problem = f"the cable in {end} does not lead to {others.replace(' and ', ' or ')}"
    instead = f"plug its other end into {_meant(fabric, end) or _free(fabric, wanted)}"
    instead += ", or select the node that it leads to"
    return Miscabling(problem, instead, (end.node,))


def _gap(fabric: Fabric, cabling: Cabling) -> Iterator[Miscabling]:
    """The cable that closes a chain to a ring."""
    ends = [node for node in cabling.order if len(cabling.beside(node)) == 1]
    if len(ends) == 2:
        strayed = [end for end in fabric.lone if end.node in ends and end in fabric.strange]
        if strayed:
            other = next(node for node in ends if node != strayed[0].node)
            yield replace(_stray(fabric, cabling, strayed[0], (other,)), gap=True)
            return
        first, second = ends
        if beyond := _beyond(fabric, cabling, ends):
            problem = f"no cable connects {first} to {second}, but others lead on to {_listed(beyond)}"
            remedy = f"select {_listed(beyond)} too, or only two nodes that a cable connects"
            yield Miscabling(problem, remedy, (first, second), gap=True)
            return
        closes = "triangle" if len(cabling.order) == 3 else "ring"
        problem = f"no cable connects {first} to {second}, so the {closes} is open"
        remedy = f"connect {_free(fabric, [first])} to {_free(fabric, [second])}"
        yield Miscabling(problem, remedy, (first, second), gap=True)
    else:
        problem = f"the cables between {_listed(cabling.order)} are neither a ring nor lead all to one switch"
        remedy = "connect each node to the next one, and the last to the first"
        yield Miscabling(problem, remedy, cabling.order, gap=True)


def _beyond(fabric: Fabric, cabling: Cabling, ends: Sequence[str]) -> tuple[str, ...]:
    """The other nodes that the cables lead to, if one of these ends of a chain has no port for another cable."""
    able = {end.node for end in (*fabric.free, *fabric.lone)}
    return () if able.issuperset(ends) else tuple(node for node in around(fabric, ends[0]) if node not in cabling.order)


def around(fabric: Fabric, node: str) -> tuple[str, ...]:
    """All nodes that cables and switches connect with this one, which is among them."""
    everywhere = tuple(dict.fromkeys(end.node for end in fabric.ports))
    return next((island for island in cabling_of(fabric, everywhere).islands if node in island), (node,))


def _meant(fabric: Fabric, end: End) -> End | None:
    """The port that should be at the other end of this port's cable, by its subnets, and has no other node there."""
    mine = {network for network in fabric.ports[end].networks if not network.is_link_local}
    looped = (other for one in fabric.segments if one.looped for other in one.ends)
    able = (other for other in (*fabric.free, *looped) if other.node != end.node)
    return next((other for other in able if mine & fabric.ports[other].networks), None)


def _free(fabric: Fabric, nodes: Sequence[str]) -> str:
    """A port of these nodes that a cable can be put into."""
    free = [end for end in (*fabric.free, *fabric.lone) if end.node in nodes]
    return str(free[0]) if free else f"a QSFP port of {_listed(nodes)}"


def _listed(nodes: Sequence[str]) -> str:
    return nodes[0] if len(nodes) == 1 else f"{', '.join(nodes[:-1])} and {nodes[-1]}"
