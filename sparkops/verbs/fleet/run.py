"""`place`: which nodes the deployments of a fleet would take."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparkops.core import needs
from sparkops.core.fabric import graph
from sparkops.core.facts import Facts
from sparkops.core.fleet.demand import Demand, Host
from sparkops.core.fleet.place import FleetPlacement, NoPlace
from sparkops.core.fleet.place import place as placing
from sparkops.errors import Refused
from sparkops.files import fleets
from sparkops.phases.beside import shares
from sparkops.phases.orphans import left_over
from sparkops.phases.parts import DeployedRevision
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.find_deployment import current
from sparkops.session.open import connected, selected
from sparkops.session.peers import ask_peers, hears
from sparkops.session.session import Session
from sparkops.verbs.deploy.choose import READS
from sparkops.verbs.fleet.demands import WHOLE_NODE, FleetDraft, demand, draft_of, host, pools
from sparkops.verbs.fleet.options import FleetOptions

NO_MODEL = "none"
"""Asked for first, because what is asked for first is not among `Facts.models`."""


def place(options: FleetOptions, report: Report) -> Answer:
    """Show the nodes that each deployment would take, or why it has no place; only reads the nodes."""
    fleet = fleets.fleet(options.file)
    chosen = selected(options.where, report)
    drafts = [draft_of(one, options.where, chosen) for one in fleet.deployments]
    with connected(chosen, report) as session:
        facts = _read(session, drafts)
        running = [one for one in current(facts, facts) if one.runs and not left_over(facts, one)]
        hosts = [host(node, known, running, [one.wanted.name for one in drafts]) for node, known in facts.items()]
        demands = [demand(one, facts, running) for one in drafts]
        fabric = graph(facts)
        if any(one.span > 1 for one in demands):
            fabric = graph(facts, ask_peers(session, hears(facts, session.selected))).within(fabric)
        found = placing(demands, hosts, pools(fabric, list(facts)))
        deployments = [_deployment(draft, one, found) for draft, one in zip(drafts, demands, strict=True)]
        nodes = [_node(one, facts[one.name], demands, found, running) for one in hosts]
        document = {"file": fleet.source, "deployments": deployments, "nodes": nodes}
        return session.answer(document, _error(deployments))


def _read(session: Session, drafts: Sequence[FleetDraft]) -> dict[str, Facts]:
    """The facts of the selected nodes whose Docker and memory can be read."""
    images = dict.fromkeys(one.settings.image for one in drafts)
    models = dict.fromkeys(need.name.model for one in drafts for need in needs.models(one.settings))
    probes = (*READS, "images", "model", "models")
    asked = {
        node.name: session.facts_command(node, tuple(images), (NO_MODEL, *models), probes) for node in session.selected
    }
    facts = session.containers(session.read(asked))
    for node, known in facts.items():
        if not known.memory.total_kib:
            session.report.warn("its memory cannot be read, so nothing is placed there", node)
    return {node: known for node, known in facts.items() if known.memory.total_kib}


def _deployment(draft: FleetDraft, one: Demand, found: FleetPlacement) -> dict[str, Any]:
    copies, without = found.copies.get(one.name), found.without.get(one.name)
    nodes = [node for copy in copies or () for node in copy]
    share = max((one.needs[node] for node in nodes), default=max(one.needs.values(), default=0))
    stay = len(one.kept & {frozenset(copy) for copy in copies or ()})
    return {
        "name": one.name,
        "recipe": draft.settings.recipe.name,
        "topology": str(draft.wanted.topology),
        "share": share / WHOLE_NODE,
        "copies": [list(copy) for copy in copies] if copies else None,
        "stays": bool(copies) and bool(one.keeps) and stay == one.most_kept,
        "copy_mib": sum(one.lacks.get(node, 0) for node in nodes),
        "problem": _problem(draft, one, without) if without else None,
        "next": _next(draft, without) if without else None,
    }


def _problem(draft: FleetDraft, one: Demand, without: NoPlace) -> str:
    count, share = one.nodes, max(one.needs.values(), default=0) / WHOLE_NODE
    if without.reason == "nodes":
        return f"needs {count} nodes, but only {len(one.needs)} of those that it may take can be read"
    if without.reason == "cables":
        return f"the cables connect too few of the nodes that it may take: it needs {one.copies} x {one.span}"
    if without.reason == "shared":
        return "every node that has room for it has another deployment, and neither of them is `alongside`"
    return f"needs {share:.2f} of the memory of {count} {'node' if count == 1 else 'nodes'}; no place was found"


def _next(draft: FleetDraft, without: NoPlace) -> str:
    where = draft.wanted.where
    if without.reason == "shared":
        return f"let it stand beside another one: alongside: true ({where})"
    if without.most:
        share = f"args.gpu-memory-utilization: {without.most / WHOLE_NODE:.2f}"
        return f"if the model fits into less, give it less: set: {{{share}}} ({where})"
    return f"change its nodes or replicas, or take a deployment out of the fleet ({where})"


def _node(
    one: Host, facts: Facts, demands: Sequence[Demand], found: FleetPlacement, running: Sequence[DeployedRevision]
) -> dict[str, Any]:
    names = {demand.name for demand in demands}
    taken = {
        demand.name: demand.needs[one.name] / WHOLE_NODE
        for demand in demands
        if any(one.name in copy for copy in found.copies.get(demand.name, ()))
    }
    others = {
        it.stored.deployment: round(share, 3)
        for it in running
        if it.stored.deployment not in names and (share := shares(it).get(one.name))
    }
    given = sum(taken.values())
    return {
        "name": one.name,
        "total_kib": facts.memory.total_kib,
        "deployments": taken,
        "others": others,
        "free": round(one.room / WHOLE_NODE - given, 3),
    }


def _error(deployments: Sequence[Mapping[str, Any]]) -> Refused | None:
    without = [one for one in deployments if one["problem"]]
    if not without:
        return None
    told = "\n".join(f"{one['name']}: {one['problem']}" for one in without)
    return Refused(told, hint="\n".join(f"{one['name']}: {one['next']}" for one in without))
