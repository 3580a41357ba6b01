"""The check of how much each cable carries, as far as it was measured."""

from collections.abc import Collection, Iterator

from sparkops.checks.check import CannotTell, FabricCheck, Said, good
from sparkops.core.fabric.bandwidth import Carried, Couple
from sparkops.core.facts.reading import grouped
from sparkops.core.situation import Situation

CURE = "when no model serves: sudo apt full-upgrade && sudo reboot; if it stays so, unplug the power for a minute"


@FabricCheck(
    id="cx7-bandwidth",
    title="Each interface carries as much as the cable promises",
    why=(
        "A NIC that got too little power at its start keeps its link at 200 Gb/s and carries only 12 to 16 Gb/s. "
        "Nothing else shows it, and a cluster answers several times slower."
    ),
    source="christopherowen/dgx-spark-networking: 13.3 Gb/s with ib_write_bw, and 105 after updates and a restart",
    hint=f"on both nodes, {CURE}",
    by_copy=False,
).all_nodes
def bandwidth(s: Situation) -> Iterator[Said]:
    if s.measured is None:
        raise CannotTell("only measured with --deep")
    if not s.measured:
        raise CannotTell("no two nodes have interfaces with RDMA in one subnet")
    carried = [one for one in s.measured if one.gbps is not None]
    yield from (good(evidence=_told(one)) for one in carried if not one.slow)
    well = {node for one in carried if not one.slow for node in one.couple.nodes}
    for where, slow in grouped((_where(one.couple, well), one) for one in carried if one.slow).items():
        problem = f"{where} carries only {min(one.gbps or 0 for one in slow):.0f} Gb/s"
        nodes = (where,) if where in s.facts else tuple(slow[0].couple.nodes)
        yield Said("warn", problem, f"on {' and '.join(sorted(nodes))}, {CURE}", "; ".join(map(_told, slow)), nodes)
    if unknown := [one.problem for one in s.measured if one.gbps is None]:
        raise CannotTell(unknown[0])


def _told(one: Carried) -> str:
    return f"{one.couple} {one.gbps:.0f} Gb/s"


def _where(couple: Couple, well: Collection[str]) -> str:
    """The only one of the two nodes that is slow with every other one, else both interfaces."""
    weak = sorted(couple.nodes.difference(well))
    return weak[0] if len(weak) == 1 else str(couple)
