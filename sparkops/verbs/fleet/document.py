"""What a fleet's plan changes, as a document: for each deployment, and for what else serves."""

from collections.abc import Iterator
from typing import Any

from sparkops.core.fleet.fleet_file import WantedFleet
from sparkops.core.impact import for_clients, impact
from sparkops.core.revision_changes import in_words
from sparkops.core.stored import Stored
from sparkops.core.topology import split
from sparkops.phases.parts import DeployedRevision
from sparkops.session.find_deployment import name_or_hash
from sparkops.verbs.deploy.document import endpoints
from sparkops.verbs.deploy.provision import lacking
from sparkops.verbs.fleet.decide import Decided
from sparkops.verbs.fleet.gateway import endpoint_document
from sparkops.verbs.fleet.observe import started_by
from sparkops.verbs.fleet.pages import page_documents
from sparkops.verbs.fleet.parts import FleetPart


def changes(decided: Decided, fleet: WantedFleet) -> dict[str, Any]:
    """The difference between the nodes and the file, as `diff` and `apply` tell it."""
    deployments = [_deployment(part, decided, fleet.name) for part in decided.parts]
    endpoint = endpoint_document(decided.endpoint)
    pages = list(page_documents(decided.endpoint.pages))
    gets = any(one["gets"] for one in (*deployments, *filter(None, [endpoint]), *pages))
    return {
        "id": None if gets else decided.plan.whole.id,
        "changed": decided.plan.whole.changes or gets or bool(decided.caches),
        "deployments": deployments,
        "ends": [*(_ends(one, decided) for one in decided.ends), *_ending_companions(decided)],
        "strays": [_stray(one, decided) for one in decided.strays],
        "endpoint": endpoint,
        "pages": pages,
        "caches": list(decided.caches),
    }


def _deployment(part: FleetPart, decided: Decided, fleet: str) -> dict[str, Any]:
    s, before = part.situation, _before(part, decided)
    told = impact(s)
    was = before.stored if before else None
    moved = was is not None and part.changes and was.hash not in {stored.hash for _, stored, _ in s.replaced}
    return {
        "name": part.name,
        "recipe": s.revision.recipe,
        "topology": s.revision.topology,
        "action": _action(part, before),
        "copies": [[one.name for one in copy] for copy in split(s.revision.engines)],
        "was": [[one.name for one in copy] for copy in split(was.engines)] if was else None,
        "hash": s.revision.hash,
        "why": list(in_words(was.data, s.revision.data)) if was and part.changes else [],
        "by_hand": bool(before and before.runs and part.changes and not started_by(before, fleet)),
        "clients": [*told.changes, *(for_clients(s, was) if was and moved else ())],
        "down": _down(part, before, decided),
        "seconds": told.seconds if part.changes else None,
        "in_turns": told.in_turns,
        "gets": lacking(part.draft, s.facts),
        "endpoints": endpoints(s.revision),
        "warnings": [{"id": it.id, "node": it.node, "text": it.message} for it in part.findings if it.action == "warn"],
    }


def _before(part: FleetPart, decided: Decided) -> DeployedRevision | None:
    """What serves of it: the revision that is wanted, if that is there beside what an earlier one left."""
    wanted = part.name, part.situation.revision.hash
    here = (one for one in decided.observed.running if (one.stored.deployment, one.stored.hash) == wanted)
    return next(here, decided.observed.before.get(part.name))


def _down(part: FleetPart, before: DeployedRevision | None, decided: Decided) -> bool:
    """Whether it serves now and does not while its successor loads."""
    if before is None or not before.runs or not part.changes or impact(part.situation).in_turns:
        return False
    todo = {part.situation.todo(member) for member in part.situation.revision.members}
    stops = "restart" in todo or (part.situation.replaced and todo != {"keep"})
    return bool(stops) or before in decided.order.first


def _action(part: FleetPart, before: DeployedRevision | None) -> str:
    """What happens to it: `none`, `new`, `move`, `change`, `cleanup`, `restart` with another key, or `start`."""
    if not part.changes:
        return "none"
    if before is None:
        return "new"
    s = part.situation
    if _places(before.stored) != {(one.name, one.role) for one in s.revision.members}:
        return "move"
    if all(s.todo(member) == "keep" for member in s.revision.members):
        return "cleanup"
    if before.stored.hash != s.revision.hash or s.replaced:
        return "change"
    return "restart" if any(s.todo(member) == "restart" for member in s.revision.members) else "start"


def _places(stored: Stored) -> set[tuple[str, str]]:
    return {(one.name, one.role) for one in stored.members}


def _ends(one: DeployedRevision, decided: Decided) -> dict[str, Any]:
    moved = any(one.stored.deployment == part.name for part in decided.parts)
    return {**_other(one), "why": "moved" if moved else "not in the file"}


def _ending_companions(decided: Decided) -> Iterator[dict[str, Any]]:
    """The endpoints and pages that end; one whose successor takes its place is told of there."""
    found, wanted = decided.endpoint, decided.endpoint.companions
    names = {it.revision.deployment for it in wanted}
    for one in (it for it in (*found.ends, *found.page_ends) if it.runs):
        if not any(one in it.in_the_way for it in wanted):
            yield {**_other(one), "why": "moved" if one.stored.deployment in names else "not in the file"}


def _stray(one: DeployedRevision, decided: Decided) -> dict[str, Any]:
    return {**_other(one), "stop": name_or_hash(one.stored, decided.observed.running)}


def _other(one: DeployedRevision) -> dict[str, Any]:
    return {"name": one.stored.deployment, "hash": one.stored.hash, "nodes": sorted(one.nodes)}
