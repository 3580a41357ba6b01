"""The check of the cables between the nodes of a cluster."""

from collections.abc import Iterator

from sparkops.checks.check import CannotTell, FabricCheck, Said, good, some
from sparkops.core.fabric.miscabling import dark, miscablings, unsure
from sparkops.core.situation import Situation


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
def cabling(s: Situation) -> Iterator[Said]:
    """Without an answer of the nodes to each other it is not known which cable is where."""
    if not s.peers:
        raise CannotTell("needs at least two nodes with a CX7 link")
    if away := [node for node in s.cabling.order if node in s.away]:
        raise CannotTell(f"{some(away)} not reached, so it is unknown which cables lead there")
    for one in miscablings(s.fabric, s.cabling):
        yield Said("fail", one.problem, one.remedy, nodes=one.nodes)
    if nodes := dark(s.fabric, s.cabling):
        raise CannotTell(f"no CX7 link on {some(nodes)} (see the check cx7-usable)")
    if unknown := unsure(s.fabric, s.cabling):
        raise CannotTell(f"nothing answers over IPv6 at {some(map(str, unknown))}, so it is unknown where it leads")
    yield good(evidence=f"{s.cabling.kind}: {'; '.join(map(str, s.cabling.segments))}")
