"""Checks of the cables between the nodes of a cluster, and of what they can carry."""

from collections.abc import Iterator

from sparkops.checks.check import CannotTell, FabricCheck, Said, fail, good, some
from sparkops.core.fabric import Cabling, cabling_of
from sparkops.core.fabric.miscabling import dark, miscablings, unsure
from sparkops.core.situation import Situation

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
).all_nodes
def connected(s: Situation) -> Iterator[Said]:
    """Without an answer of the nodes to each other it is not known which cable is where."""
    _asked(s)
    yield from _wrong(s, s.cabling)
    yield from _right(s)


def of_islands(s: Situation) -> Iterator[Said]:
    """The same for nodes that need not form one cluster, such as two pairs: each group of connected nodes by itself."""
    _asked(s)
    for island in s.cabling.islands:
        yield from _wrong(s, cabling_of(s.fabric, island))
    for end in s.fabric.lone:
        if end in s.fabric.strange and s.cabling.beside(end.node) == ():
            problem = f"the cable in {end} does not lead to another of these nodes"
            instead = "plug it into another node, or select the node that it leads to"
            yield Said("fail", problem, instead, nodes=(end.node,))
    yield from _right(s)


def _asked(s: Situation) -> None:
    if not s.peers:
        raise CannotTell("needs at least two nodes with a CX7 link")
    if away := [node for node in s.cabling.order if node in s.away]:
        raise CannotTell(f"{some(away)} not reached, so it is unknown which cables lead there")


def _wrong(s: Situation, cabling: Cabling) -> Iterator[Said]:
    found = [*miscablings(s.fabric, cabling)]
    for one in found[:FEW]:
        yield Said("fail", one.problem, one.remedy, nodes=one.nodes)
    if len(found) > FEW:
        yield fail(f"{len(found) - FEW} more")


def _right(s: Situation) -> Iterator[Said]:
    """What connects the nodes; raises CannotTell if that is not wholly known."""
    if nodes := dark(s.fabric, s.cabling):
        raise CannotTell(f"no CX7 link on {some(nodes)} (see the check cx7-usable)")
    if unknown := unsure(s.fabric, s.cabling):
        raise CannotTell(f"nothing answers over IPv6 at {some(map(str, unknown))}, so it is unknown where it leads")
    yield good(evidence=f"{s.cabling.kind}: {'; '.join(map(str, s.cabling.segments))}")


@FabricCheck(
    id="fabric-split",
    title="The cables can carry the split of the model",
    why=(
        "In a ring of four and more nodes, a node has links only to its two neighbours. NCCL's ring sends only to "
        "neighbours, which suffices for tensor parallelism over all nodes. Pipeline, data and expert parallel groups, "
        "and Ray, need links between other nodes too. In a triangle each node has a link to each other one."
    ),
    source="eugr/spark-vllm-docker, docs/NETWORKING.md (closed ring: tensor parallelism only, no Ray)",
    hint="use a switch, or change the split",
    severity="fail",
    deploys=True,
).all_nodes
def split(s: Situation) -> Iterator[Said]:
    cabling = s.addressed
    nodes, tensor = len(cabling.order), s.effective.parallel("tensor")
    if cabling.kind == "ring" and s.placement.executor == "ray":
        yield fail("Ray cannot use a ring: it has no link between nodes that are not neighbours", "use --executor mp")
    elif cabling.kind == "ring" and s.effective.span is not None and tensor != nodes:
        sizes = f"--set args.tensor-parallel-size={nodes} --set args.pipeline-parallel-size=1"
        said = f"a ring of {nodes} nodes carries only tensor parallel size {nodes}, not {tensor}"
        yield fail(said, f"use {sizes}, or two neighbours with --limit, or a switch")
    elif len(cabling.islands) > 1 and all(_addressed(s, node) for node in cabling.order):
        groups = " and ".join(some(island) for island in cabling.islands[:2])
        yield fail(f"the fabric addresses of {groups} share no subnet", "`sparkops fabric` shows which cable is where")
    elif not cabling.one_network and cabling.kind == "partly cabled":
        first, second = cabling.segments[0].nodes[:2]
        said = f"the cables do not connect {some(cabling.order)} as a triangle or ring"
        yield fail(said, f"`sparkops fabric` names the cable; to use two of the nodes: --limit {first},{second}")


def _addressed(s: Situation, node: str) -> bool:
    """Whether a port of the node has a link and a configured subnet."""
    ports = (port for end, port in s.fabric.ports.items() if end.node == node)
    return any(not network.is_link_local for port in ports for network in port.networks)
