"""The places of a fleet's deployments as a document, and why some have none."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparkops.core.facts import Facts
from sparkops.core.fleet.demand import Demand, Host
from sparkops.core.fleet.place import LEAST, STEP, NoPlace
from sparkops.errors import Refused
from sparkops.phases.beside import shares
from sparkops.verbs.fleet.demands import WHOLE_NODE
from sparkops.verbs.fleet.drafts import FleetDraft
from sparkops.verbs.fleet.observe import Observed


def places(observed: Observed) -> dict[str, Any]:
    """The deployments with their nodes, and the nodes with their memory."""
    pairs = zip(observed.drafts, observed.demands, strict=True)
    return {
        "deployments": [_deployment(draft, one, observed) for draft, one in pairs],
        "nodes": [_node(one, observed.facts[one.name], observed) for one in observed.hosts],
    }


def no_place(observed: Observed) -> Refused | None:
    """One error for all deployments without a place."""
    pairs = zip(observed.drafts, observed.demands, strict=True)
    without = [_deployment(draft, one, observed) for draft, one in pairs if one.name in observed.placement.without]
    return _refused(without)


def _refused(deployments: Sequence[Mapping[str, Any]]) -> Refused | None:
    without = [one for one in deployments if one["problem"]]
    if not without:
        return None
    told = "\n".join(f"{one['name']}: {one['problem']}" for one in without)
    return Refused(told, hint="\n".join(f"{one['name']}: {one['next']}" for one in without))


def _deployment(draft: FleetDraft, one: Demand, observed: Observed) -> dict[str, Any]:
    found = observed.placement
    copies, without = found.copies.get(one.name), found.without.get(one.name)
    nodes = [node for copy in copies or () for node in copy]
    share = max((one.needs[node] for node in nodes), default=max(one.needs.values(), default=0))
    stay = len(one.kept & {frozenset(copy) for copy in copies or ()})
    return {
        "name": one.name,
        "recipe": draft.settings.recipe.name,
        "topology": str(draft.wanted.topology),
        "share": share / WHOLE_NODE,
        "beyond": one.beyond(nodes or one.needs) / WHOLE_NODE,
        "measured": one.measured,
        "copies": [list(copy) for copy in copies] if copies else None,
        "stays": bool(copies) and bool(one.keeps) and stay == one.most_kept,
        "copy_mib": sum(one.lacks.get(node, 0) for node in nodes),
        "problem": _problem(draft, one, without) if without else None,
        "next": _next(draft, one, without, observed) if without else None,
    }


def _problem(draft: FleetDraft, one: Demand, without: NoPlace) -> str:
    count, share = one.nodes, max(one.needs.values(), default=0) / WHOLE_NODE
    if without.reason == "nodes":
        return f"needs {count} nodes, but only {len(one.needs)} of those that it may take can be read"
    if without.reason == "cables":
        return f"the cables connect too few of the nodes that it may take: it needs {one.copies} x {one.span}"
    if without.reason == "shared":
        return "every node that has room for it has another deployment, and neither of them is `alongside`"
    told = f"needs {share:.2f} of the memory of {count} {'node' if count == 1 else 'nodes'}"
    how = "measured" if one.measured else "estimated"
    beyond = one.beyond(one.needs) / WHOLE_NODE
    more = f" ({beyond:.2f} of that beyond what it requests, as {how})" if beyond else ""
    return f"{told}{more}; no place was found"


def _next(draft: FleetDraft, one: Demand, without: NoPlace, observed: Observed) -> str:
    others = [it.stored for it in observed.strangers if it.nodes.intersection(draft.nodes)]
    stops = [f"`sparkops stop {it.named_among(others)}`" for it in others]
    if stops and without.reason in ("memory", "shared"):
        return f"stop what is not of the fleet: {', '.join(dict.fromkeys(stops))}; or {_change(draft, one, without)}"
    return _change(draft, one, without)


def _change(draft: FleetDraft, one: Demand, without: NoPlace) -> str:
    where = draft.wanted.where
    if without.reason == "shared":
        return f"let it stand beside another one: alongside: true ({where})"
    if (share := (without.most or 0) - one.beyond(one.needs)) >= LEAST:
        less = f"args.gpu-memory-utilization: {share // STEP * STEP / WHOLE_NODE:.2f}"
        return f"if the model fits into less, give it less: set: {{{less}}} ({where})"
    return f"change its nodes or replicas, or take a deployment out of the fleet ({where})"


def _node(one: Host, facts: Facts, observed: Observed) -> dict[str, Any]:
    demands, found = observed.demands, observed.placement
    names = {demand.name for demand in demands}
    taken = {
        demand.name: demand.needs[one.name] / WHOLE_NODE
        for demand in demands
        if any(one.name in copy for copy in found.copies.get(demand.name, ()))
    }
    others = {
        it.stored.deployment: round(share, 3)
        for it in observed.running
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
