"""Checks of the cables between the nodes of a cluster, and of what they can carry."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Interface

from sparkops.checks.check import CannotTell, FabricCheck, Said, fail, good, some
from sparkops.checks.fabric import NETPLAN, SET_UP
from sparkops.core import models
from sparkops.core.fabric import Cabling, cabling_of
from sparkops.core.fabric.addressing import lacking
from sparkops.core.fabric.miscabling import Miscabling, around, dark, loose, miscablings, unsure
from sparkops.core.facts import Unread
from sparkops.core.situation import Situation

ROUTED = 30
"""Prefix length from which a subnet is a link to a router or of one cable, so that other subnets may be reached."""

FEW = 5
"""Wrong cables that one finding tells of."""


@FabricCheck(
    id="cx7-cabling",
    title="The QSFP cables connect all nodes",
    why=(
        "Nodes that no cable connects cannot form a cluster. Each port asks who is at the other end of its cable, "
        "which shows cables in a wrong port whatever the addresses are."
    ),
    source="NVIDIA/dgx-spark-playbooks: connect-two-sparks, connect-three-sparks, multi-sparks-through-switch",
    hint="`sparkops fabric` shows which ports are connected",
    severity="fail",
    deploys=True,
).all_nodes
def connected(s: Situation) -> Iterator[Said]:
    """Without an answer of the nodes to each other it is not known which cable is where."""
    _asked(s)
    _all_reached(s)
    beyond = _unknown_beside(s) if s.addressed.kind == "partly cabled" else []  # then `fabric-split` refuses
    said = [*_wrong(s, s.cabling, beyond)]
    yield from said
    if beyond and not said and not dark(s.fabric, s.cabling) and not unsure(s.fabric, s.cabling):
        raise CannotTell(f"{some(beyond)} not reached, so it is unknown which cables lead there")
    yield from _right(s)


def of_islands(s: Situation) -> Iterator[Said]:
    """The same for nodes that need not form one cluster, such as two pairs: each group of connected nodes by itself.

    A node that is not reached may be what a group lacks, and where a cable leads to; so may one with a wrong cable.
    """
    _asked(s)
    away = [node for node in s.cabling.order if node in s.away]
    beside = [node for node in loose(s.fabric, s.cabling) if node not in away]
    said = [one for island in s.cabling.islands for one in _wrong(s, cabling_of(s.fabric, island), away, beside)]
    yield from sorted(said, key=lambda one: one.status == "warn")
    _all_reached(s)
    for end in s.fabric.lone:
        if end in s.fabric.strange and s.cabling.beside(end.node) == ():
            problem = f"the cable in {end} does not lead to another of these nodes"
            instead = "plug it into another node, or select the node that it leads to"
            yield Said("fail", problem, instead, nodes=(end.node,))
    yield from _right(s)


def _asked(s: Situation) -> None:
    if not s.peers:
        raise CannotTell("needs at least two nodes with a CX7 link")


def _all_reached(s: Situation) -> None:
    if away := [node for node in s.cabling.order if node in s.away]:
        raise CannotTell(f"{some(away)} not reached, so it is unknown which cables lead there")


def _wrong(s: Situation, cabling: Cabling, away: Sequence[str] = (), beside: Sequence[str] = ()) -> Iterator[Said]:
    """What is wrong with some nodes. They may lack one that is `away`, or one `beside` them with a wrong cable."""
    strange = {end.node for end in s.fabric.strange}
    found = [*miscablings(s.fabric, cabling)] or [*_unlike_addresses(s, cabling)]
    found = [one for one in found if not (away and one.gap and strange.intersection(one.nodes))]
    for one in found[:FEW]:
        if away and one.gap:
            problem = f"{one.problem}, unless {some(away)} (not reached) is there"
            yield Said("warn", problem, f"find out first why {some(away)} was not reached", nodes=one.nodes)
        elif beside and one.gap and not strange.intersection(one.nodes):
            problem = f"{one.problem}, unless {some(beside)} belongs there"
            yield Said("warn", problem, f"look first at the cables of {some(beside)}", nodes=one.nodes)
        else:
            yield Said("fail", one.problem, one.remedy, nodes=one.nodes)
    if len(found) > FEW:
        yield fail(f"{len(found) - FEW} more")


def _unlike_addresses(s: Situation, cabling: Cabling) -> Iterator[Miscabling]:
    """A triangle or ring of cables whose addresses are not those of one."""
    if cabling.kind in ("triangle", "ring") and cabling_of(s.subnets, cabling.order).kind != cabling.kind:
        problem = f"the cables of {some(cabling.order)} are a {cabling.kind}, but their addresses are not"
        by_hand = f"give each cable two subnets of its own, one for each interface, in {NETPLAN}"
        yield Miscabling(problem, SET_UP if lacking(s.fabric, s.facts) else by_hand, ())


def _right(s: Situation) -> Iterator[Said]:
    """What connects the nodes; raises CannotTell if that is not wholly known."""
    if nodes := dark(s.fabric, s.cabling):
        raise CannotTell(f"no CX7 link on {some(nodes)} (see the check cx7-usable)")
    if unknown := unsure(s.fabric, s.cabling):
        raise CannotTell(f"nothing was heard over IPv6 at {some(map(str, unknown))}, so it is unknown where it leads")
    yield good(evidence=f"{s.cabling.kind}: {'; '.join(map(str, s.cabling.segments))}")


@FabricCheck(
    id="fabric-split",
    title="The cables can carry the split of the model",
    why=(
        "In a ring of four and more nodes, a node has links only to its two neighbours. NCCL's ring sends only to "
        "neighbours, which suffices for tensor parallelism over all nodes. Pipeline and data parallelism and Ray need "
        "links between other nodes too. In a triangle each node has a link to each other one."
    ),
    source="eugr/spark-vllm-docker, docs/NETWORKING.md (closed ring: tensor parallelism only, no Ray)",
    hint="use a switch, or change the split",
    severity="fail",
    deploys=True,
).all_nodes
def split(s: Situation) -> Iterator[Said]:
    """A fabric that is not known, or not of CX7 ports, is not judged: other checks do."""
    if away := [node for node in s.addressed.order if node in s.away]:
        raise CannotTell(f"{some(away)} not reached, so it is unknown which cables lead there")
    nodes, tensor = len(s.addressed.order), s.effective.parallel("tensor")
    if s.addressed.kind == "ring" and s.placement.executor == "ray":
        yield fail("Ray cannot use a ring: it has no link between nodes that are not neighbours", "use --executor mp")
    elif s.addressed.kind == "ring" and s.effective.span is not None and tensor != nodes:
        way = f"{change}, or " if (change := _by_heads(s, nodes)) else ""
        said = f"a ring of {nodes} nodes carries only tensor parallel size {nodes}, not {tensor}"
        yield fail(said, f"use {way}two neighbours with --limit, or a switch")
    elif not s.addressed.one_network and s.addressed.kind == "partly cabled":
        pair = s.addressed.segments[0].nodes[:2]
        said = f"the cables do not connect {some(s.addressed.order)} as a triangle or ring"
        beside = _unknown_beside(s)
        wrong = f"find out first why {some(beside)} was not reached" if beside else "`sparkops fabric` names the cable"
        yield fail(said, f"{_whole_ring(s, pair[0]) or wrong}{_only(s, pair)}")
    elif s.addressed.one_network and (apart := _without_a_subnet(s)):
        said = f"the fabric addresses of {apart[0]} and {apart[1]} share no subnet"
        group = _only(s, s.addressed.islands[0]) if s.addressed.groups else ""
        yield fail(said, f"`sparkops fabric` shows which cable is where{group}")


def _unknown_beside(s: Situation) -> list[str]:
    """The selected nodes that are not used and were not reached: cables may lead there."""
    return [node.name for node in s.placement.free if node.name not in s.facts]


def _by_heads(s: Situation, nodes: int) -> str | None:
    """The options for tensor parallelism over so many nodes: none if no sizes are set; None if the model forbids it."""
    known = s.effective.known_model
    if known is not None and not models.splits(known, nodes):
        return None
    if s.effective.span is None:
        return ""
    others = {way: 1 for way, size in s.effective.sizes.items() if way != "tensor" and size > 1}
    return " ".join(f"--set args.{way}-parallel-size={size}" for way, size in {"tensor": nodes, **others}.items())


def _only(s: Situation, nodes: Sequence[str]) -> str:
    """How to use only these nodes, if the model can be split over them."""
    change = _by_heads(s, len(nodes))
    return "" if change is None else f"; to use only these nodes: --limit {','.join(nodes)} {change}".rstrip()


def _whole_ring(s: Situation, node: str) -> str:
    """How to use all of the ring that this node is in, if the model can be split over it."""
    ring = around(s.fabric, node)
    if cabling_of(s.fabric, ring).kind != "ring" or (change := _by_heads(s, len(ring))) is None:
        return ""
    executor = "--executor mp" if s.placement.executor == "ray" else ""
    options = " ".join(filter(None, (f"--limit {','.join(ring)}", change, executor)))
    return f"to use all {len(ring)} nodes of the ring: {options}"


def _without_a_subnet(s: Situation) -> tuple[str, ...]:
    """The head and a node in none of its subnets; empty for what may be routed, or is not on a CX7 port."""
    first, *others = s.addressed.order
    for other in others:
        one, two = _configured(s, first), _configured(s, other)
        if one and two and not (one.ip in two.network or two.ip in one.network):
            return first, other
    return ()


def _configured(s: Situation, node: str) -> IPv4Interface | None:
    link = s.links[node]
    if isinstance(link, Unread) or link.port is None:
        return None
    own = (it for one in s.facts[node].interfaces for it in one.ipv4 if str(it.ip) == link.address)
    found = next(own, None)
    return None if found is None or found.ip.is_link_local or found.network.prefixlen >= ROUTED else found
