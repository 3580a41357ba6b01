"""The nodes that suit a deploy best, if more are selected than it needs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from sparkops.checks.access import REFUSED
from sparkops.checks.check import LINKS
from sparkops.checks.docker import docker_problem
from sparkops.checks.memory_fits import free_without
from sparkops.core.choice import Group, Wanted, choose
from sparkops.core.fabric import graph
from sparkops.core.facts import WHAT_RUNS, Facts, Peers, Unread
from sparkops.core.sizes import GIB_KIB
from sparkops.core.topology import Placement, arranged, split
from sparkops.core.utilization import OLD_UTILIZATION, WHOLE
from sparkops.phases.beside import shares
from sparkops.phases.orphans import left_over
from sparkops.phases.parts import DeployedRevision
from sparkops.remote.connect_errors import Unreached
from sparkops.session.find_deployment import current
from sparkops.session.peers import ask_peers, hears
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft, name_of
from sparkops.verbs.deploy.options import PlanOptions

READS = (*WHAT_RUNS, *LINKS, "meminfo")
"""What the choice depends on."""


def on_best_nodes(options: PlanOptions, draft: Draft, session: Session) -> Draft:
    """Return the draft on the best nodes; it says which, if not all selected nodes are one copy.

    Raises Unreachable for a node that does not answer, if this machine saw the deployment there, or if it is among the
    first ones and the deployment is nowhere else; and for a node whose sudo refuses the password.
    """
    if not draft.placement.open:
        return draft
    facts = session.facts(only=READS)
    refused = (name for name, lost in session.away.items() if isinstance(lost, Unreached) and lost.kind == REFUSED)
    session.require(name for name in refused if name in session.names)
    draft = replace(draft, peers=heard(draft.placement, session, facts))
    found = rechosen(options, draft, facts)
    if error := session.away.among(found.nodes).error:
        others = [node.name for node in session.selected if node.name not in session.away]
        if len(others) >= len(found.nodes):
            error.hint = error.hint or f"it may run this deployment; to deploy without it: --limit {','.join(others)}"
        raise error
    session.report.note(found.placement.note)
    return found


def rechosen(options: PlanOptions, draft: Draft, facts: Mapping[str, Facts]) -> Draft:
    """Return the draft on the best nodes by these facts."""
    name = name_of(options, draft)
    return replace(draft, placement=best_of(draft, facts, name, alongside=options.alongside))


def best_of(draft: Draft, facts: Mapping[str, Facts], name: str, *, alongside: bool = False) -> Placement:
    """The placement on the best of its nodes and those that it leaves free.

    It stays where it runs, else where this machine last saw it on a node that is away or whose Docker is, so that the
    deploy fails there; else where it was stopped last, if nothing else is there. A silent node is not taken instead of
    another one that has the deployment.
    """
    placement = draft.placement
    if not placement.open:
        return placement
    nodes = [node.name for node in (*placement.nodes, *placement.free)]
    known = {node: facts[node] for node in nodes if node in facts and not docker_problem(facts[node])}
    here = [one for one in current(known, known) if not left_over(known, one)]
    running = [one for one in here if one.runs]
    short = {node: why for node in known if (why := _short(node, known[node], draft, running, name, alongside))}
    silent = [node for node in draft.seen if node in nodes and node not in known]
    keeps = [*_copies(one for one in running if one.stored.deployment == name)] or [(node,) for node in silent]
    if not keeps:
        busy = {*short, *(node for one in running for node in one.nodes)}
        stopped = [one for one in here if one.stored.deployment == name and busy.isdisjoint(one.nodes)]
        keeps = [*_copies(stopped[:1])]
    there = [node for node in nodes if node in known or any(node in group for group in keeps)]
    candidates = there if keeps and len(there) >= placement.topology.copies * placement.shape.span else nodes
    wanted = Wanted(placement.topology.copies, placement.shape.span, tuple(keeps), short)
    # NCCL finds its peers by their subnets, and these may be wrong about the cables.
    found = choose(wanted, candidates, graph(known, draft.peers).within(graph(known)))
    away = {
        node: "not reached" if node not in facts else "Docker does not answer" for node in nodes if node not in known
    }
    return arranged(placement, found.copies, {**found.why, **away})


def _copies(revisions: Iterable[DeployedRevision]) -> Iterator[Group]:
    """The nodes of each copy."""
    return (tuple(rank.name for rank in copy) for one in revisions for copy in split(one.stored.engines))


def _short(
    node: str, facts: Facts, draft: Draft, running: Iterable[DeployedRevision], name: str, alongside: bool
) -> str:
    """What memory the node lacks, once what the deploy replaces has stopped and what stays has loaded; else empty."""
    memory, here = facts.memory, [one for one in running if node in one.nodes]
    staying = [one for one in here if alongside and one.stored.deployment != name]
    free = free_without(memory, [one.stored for one in here if one not in staying])
    room = min(free, (WHOLE - sum(shares(one).get(node, 0.0) for one in staying)) * memory.total_kib)
    need = draft.effective.number("gpu-memory-utilization", OLD_UTILIZATION) * memory.total_kib
    return f"{max(0.0, room) / GIB_KIB:.0f} GiB free, of {need / GIB_KIB:.0f} that it needs" if room < need else ""


def heard(placement: Placement, session: Session, facts: Mapping[str, Facts]) -> Mapping[str, Peers | Unread]:
    """Who is at each cable, for a cluster: subnets alone may tell of a switch where there are cables."""
    if placement.topology.kind == "solo":
        return {}
    return ask_peers(session, hears(facts, session.selected))
