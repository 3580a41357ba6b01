"""The nodes that suit a deploy best, if more are selected than it needs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sparkops.checks.check import CONTAINERS, LINKS
from sparkops.checks.memory_fits import free_without
from sparkops.core.choice import Wanted, choose
from sparkops.core.effective import Effective
from sparkops.core.fabric import graph
from sparkops.core.facts import Facts
from sparkops.core.sizes import GIB_KIB
from sparkops.core.topology import Placement, arranged
from sparkops.core.utilization import UTILIZATION
from sparkops.phases.beside import WHOLE, shares
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft, name_of
from sparkops.verbs.deploy.options import PlanOptions

READS = (*LINKS, *CONTAINERS, "meminfo")


def on_best_nodes(options: PlanOptions, draft: Draft, session: Session) -> Draft:
    """Return the draft on the best nodes; it says which, if not all selected nodes are one copy."""
    if draft.placement.note:
        facts = session.facts(only=READS)
        name = name_of(options, draft)
        draft = replace(
            draft, placement=best_of(draft.placement, draft.effective, facts, name, alongside=options.alongside)
        )
        session.report.note(draft.placement.note)
    return draft


def best_of(
    placement: Placement, settings: Effective, facts: Mapping[str, Facts], name: str, *, alongside: bool = False
) -> Placement:
    """The placement on the best of its nodes and those that it leaves free; as it is while one of them is away.

    What an absent node runs is unknown: to start elsewhere what it serves already would start it twice.
    """
    nodes = [node.name for node in (*placement.nodes, *placement.free)]
    if not placement.note or any(node not in facts for node in nodes):
        return placement
    running = [one for one in deployed_revisions(facts) if one.runs]
    keeps = {node for one in running if one.stored.deployment == name for node in one.nodes}
    going = [one for one in running if not alongside or one.stored.deployment == name]
    staying = [one for one in running if one not in going]
    share = settings.number("gpu-memory-utilization", UTILIZATION)
    rooms = {node: _room(node, facts[node], going, staying) for node in nodes}
    short = {
        node: f"{room / GIB_KIB:.0f} GiB free, of {need / GIB_KIB:.0f} that it needs"
        for node, room in rooms.items()
        if room < (need := share * facts[node].memory.total_kib)
    }
    wanted = Wanted(placement.topology.copies, placement.shape.span, keeps, short)
    found = choose(wanted, nodes, graph({node: facts[node] for node in nodes}))
    return arranged(placement, found.copies, found.why)


def _room(node: str, facts: Facts, going: Iterable[DeployedRevision], staying: Iterable[DeployedRevision]) -> float:
    """Memory in KiB for an engine: what is free, and what those that stay leave even while they still load."""
    free = free_without(facts.memory, [one.stored for one in going if node in one.nodes])
    left = WHOLE - sum(shares(one).get(node, 0.0) for one in staying)
    return max(0.0, min(free, left * facts.memory.total_kib))
