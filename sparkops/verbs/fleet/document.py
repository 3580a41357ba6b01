"""What a fleet's plan changes, as a document: for each deployment, and for what else serves."""

from typing import Any

from sparkops.core.impact import impact
from sparkops.core.revision_changes import in_words
from sparkops.core.stored import Stored
from sparkops.core.topology import split
from sparkops.phases.parts import DeployedRevision
from sparkops.verbs.deploy.document import endpoints
from sparkops.verbs.deploy.provision import lacking
from sparkops.verbs.fleet.decide import Decided, FleetPart
from sparkops.verbs.fleet.observe import started_by


def changes(decided: Decided, fleet: str) -> dict[str, Any]:
    """The difference between the nodes and the file, as `diff` and `apply` tell it."""
    deployments = [_deployment(part, decided, fleet) for part in decided.parts]
    gets = any(one["gets"] for one in deployments)
    return {
        "id": None if gets else decided.plan.id,
        "changed": decided.plan.changes or gets,
        "deployments": deployments,
        "ends": [_ends(one, decided) for one in decided.ends],
        "strays": [_other(one) for one in decided.strays],
    }


def _deployment(part: FleetPart, decided: Decided, fleet: str) -> dict[str, Any]:
    s, before = part.situation, decided.observed.before.get(part.name)
    told = impact(s)
    was = before.stored if before else None
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
        "clients": list(told.changes),
        "seconds": told.seconds if part.changes else None,
        "in_turns": told.in_turns,
        "gets": lacking(part.draft, s.facts),
        "endpoints": endpoints(s.revision),
    }


def _action(part: FleetPart, before: DeployedRevision | None) -> str:
    """What happens to it: `none`, `new`, `move`, `change`, or `start` if it was stopped or does not answer."""
    if not part.changes:
        return "none"
    if before is None:
        return "new"
    if _places(before.stored) != {(one.name, one.role) for one in part.situation.revision.members}:
        return "move"
    return "start" if before.stored.hash == part.situation.revision.hash else "change"


def _places(stored: Stored) -> set[tuple[str, str]]:
    return {(one.name, one.role) for one in stored.members}


def _ends(one: DeployedRevision, decided: Decided) -> dict[str, Any]:
    moved = any(one.stored.deployment == part.name for part in decided.parts)
    return {**_other(one), "why": "moved" if moved else "not in the file"}


def _other(one: DeployedRevision) -> dict[str, Any]:
    return {"name": one.stored.deployment, "hash": one.stored.hash, "nodes": sorted(one.nodes)}
