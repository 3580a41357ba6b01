"""The graph of a fabric: which QSFP ports of which nodes share a cable or a switch.

A port hears another one if the link-local IPv6 address of the other answers there: that is so whatever IPv4 addresses
the two have. Without IPv6, ports in one subnet count as connected.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sparkops.core.facts import Facts, Peers, Port, Unread
from sparkops.core.facts.reading import grouped


@dataclass(frozen=True, order=True)
class End:
    """One QSFP port of a node."""

    node: str
    port: str

    def __str__(self) -> str:
        return f"{self.node} {self.port}"


Pair = tuple[End, End]


@dataclass(frozen=True)
class Segment:
    """The two ports of a cable, or all ports on a switch, in the order of the nodes.

    `heard`: whether all of them were heard; else some are here only because of their subnet.
    """

    ends: tuple[End, ...]
    heard: bool

    def __str__(self) -> str:
        return " - ".join(map(str, self.ends))

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(end.node for end in self.ends))

    @property
    def looped(self) -> bool:
        """Whether one node has both ends of the cable."""
        return len(self.ends) == 2 and len(self.nodes) == 1

    def end_of(self, node: str) -> End | None:
        return next((end for end in self.ends if end.node == node), None)


@dataclass(frozen=True)
class Fabric:
    """`ports` are all QSFP ports in the order of the nodes, with their interfaces.

    `strange` are the ports at which something answers that is none of these nodes.
    """

    ports: Mapping[End, Port]
    segments: tuple[Segment, ...]
    strange: frozenset[End] = frozenset()

    @cached_property
    def segment_of(self) -> Mapping[End, Segment]:
        return {end: segment for segment in self.segments for end in segment.ends}

    @property
    def lone(self) -> tuple[End, ...]:
        """Ports with a link to none of these nodes."""
        return tuple(end for end, port in self.ports.items() if port.up and end not in self.segment_of)

    @property
    def free(self) -> tuple[End, ...]:
        """Ports without a link."""
        return tuple(end for end, port in self.ports.items() if not port.up)

    def switched(self, segment: Segment) -> bool:
        """Whether it has more ports than a cable: of these nodes, or of others that answer there."""
        return len(segment.ends) > 2 or not self.strange.isdisjoint(segment.ends)

    def within(self, other: "Fabric") -> "Fabric":
        """The fabric with its segments cut to the ports that share one in another fabric of the same ports, too."""
        cut: list[Segment] = []
        for one in self.segments:
            shared = grouped((other.segment_of[end], end) for end in one.ends if end in other.segment_of)
            cut += [Segment(tuple(ends), one.heard) for ends in shared.values() if len(ends) > 1]
        return replace(self, segments=tuple(cut))

    def among(self, nodes: Iterable[str]) -> tuple[Segment, ...]:
        """The segments that connect at least two of these nodes, less the ports of others."""
        chosen = frozenset(nodes)
        cut = (
            Segment(tuple(end for end in one.ends if end.node in chosen), one.heard)
            for one in self.segments
            if len(chosen.intersection(one.nodes)) > 1
        )
        return tuple(cut)


def graph(facts: Mapping[str, Facts], peers: Mapping[str, Peers | Unread] | None = None) -> Fabric:
    """The fabric of these nodes. Without `peers`, only their subnets tell what is connected."""
    ports = {End(node, port.name): port for node, known in facts.items() for port in known.ports}
    heard, strange = _heard(ports, peers or {})
    hearing = strange.union(*heard)
    loops = frozenset(end for group in _joined(heard) if len({end.node for end in group}) == 1 for end in group)
    groups = _joined([*heard, *_by_subnet(ports, hearing, loops)])
    order = {end: place for place, end in enumerate(ports)}
    ends = [tuple(sorted(group, key=order.__getitem__)) for group in groups]
    segments = (Segment(group, hearing.issuperset(group)) for group in sorted(ends, key=lambda group: order[group[0]]))
    return Fabric(ports, tuple(segments), strange)


def _heard(ports: Mapping[End, Port], peers: Mapping[str, Peers | Unread]) -> tuple[list[Pair], frozenset[End]]:
    """Pairs of ports of which one heard the other, and the ports that heard something else.

    An address that two ports have tells nothing.
    """
    owners = grouped((one.link_local, end) for end, port in ports.items() for one in port.interfaces if one.link_local)
    at = {(end.node, one.name): end for end, port in ports.items() for one in port.interfaces}
    pairs, strange = list[Pair](), set[End]()
    for node, found in peers.items():
        for interface, address in () if isinstance(found, Unread) else found.heard:
            mine, theirs = at.get((node, interface)), set(owners.get(address, ()))
            if mine and not theirs:
                strange.add(mine)
            elif mine and len(theirs) == 1 and mine not in theirs and all(ports[end].up for end in (mine, *theirs)):
                pairs.append((mine, theirs.pop()))
    return pairs, frozenset(strange)


def _by_subnet(ports: Mapping[End, Port], hearing: frozenset[End], loops: frozenset[End]) -> Iterator[Pair]:
    """Pairs of ports in one subnet, unless both heard others, but not each other.

    `loops` heard only the other port of their node: they are on no switch with a port that could have heard them.
    """
    having = grouped((network, end) for end, port in ports.items() for network in port.networks)
    for network, ends in having.items():
        deaf = [end for end in ends if end not in hearing and not network.is_link_local]
        hubs = [*deaf[:1], *[end for end in deaf if end.node != deaf[0].node][:1]]
        able = {hub for hub in hubs if any(one.link_local for one in ports[hub].interfaces)}
        pairs = ((hub, end) for hub in hubs for end in ends if end.node != hub.node)
        yield from ((hub, end) for hub, end in pairs if end not in loops or hub not in able)


def _joined(pairs: Iterable[Pair]) -> list[set[End]]:
    """The sets of ports that these pairs connect."""
    sets: dict[End, set[End]] = {}
    for one, other in pairs:
        if other in sets.get(one, ()):
            continue
        whole = sets.get(one, {one}) | sets.get(other, {other})
        sets.update(dict.fromkeys(whole, whole))
    return list({id(group): group for group in sets.values()}.values())
