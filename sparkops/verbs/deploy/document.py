"""The JSON documents of the verbs that start a deployment, and of what they would do."""

from collections.abc import Sequence
from typing import Any

from sparkops.core import needs
from sparkops.core.effective import Effective
from sparkops.core.endpoints import api_url, base_url
from sparkops.core.findings import Finding
from sparkops.core.impact import impact as of_clients
from sparkops.core.plan import Plan, described
from sparkops.core.revision import Revision
from sparkops.core.situation import Situation
from sparkops.core.stored import Stored
from sparkops.phases.orphans import left_over
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.verbs.deploy.compile import Compiled
from sparkops.verbs.deploy.longer_context import longer_context


def plan(compiled: Compiled, then: tuple[str, ...], *, short: bool) -> dict[str, Any]:
    """Return the document of a plan, with settings and steps unless `short`; `then` are lines after its changes."""
    s, whole = compiled.situation, compiled.plan
    details = {} if short else {"settings": settings(compiled.draft.effective), "steps": steps(whole)}
    return {
        "id": whole.id,
        "deployment": s.revision.deployment,
        "topology": s.revision.topology,
        "recipe": s.revision.recipe,
        "recipe_source": compiled.draft.effective.recipe.source,
        "model": s.revision.model,
        "models": models(s),
        "image": s.revision.image.reference,
        "hash": s.revision.hash,
        "api_key": not s.revision.without_key,
        "impact": impact(compiled),
        "changes": [*compiled.changes, *then],
        "differences": [*compiled.differences, *then],
        "changed": whole.changes,
        "replaces": whole.replaces,
        "placement": placement(s),
        "rules": [rule(finding) for finding in compiled.findings],
        **details,
    }


def steps(plan: Plan) -> list[dict[str, Any]]:
    """Return the commands of a plan in their order."""
    return [
        {
            "phase": phase.name,
            "node": step.node,
            "title": step.title,
            "command": "\n".join(described(step)),
            "changes": step.changes,
        }
        for phase in plan.phases
        for step in phase.steps
    ]


def served(revisions: Sequence[DeployedRevision]) -> dict[str, Any]:
    """Return the first of these deployments, with the endpoints of all."""
    stored = revisions[0].stored
    return {
        "deployment": stored.deployment,
        "topology": stored.topology,
        "recipe": stored.recipe,
        "hash": stored.hash,
        "api_key": not stored.without_key,
        "endpoints": [endpoint for one in revisions for endpoint in endpoints(one.stored)],
    }


def deploy(compiled: Compiled, warnings: list[str]) -> dict[str, Any]:
    s, whole = compiled.situation, compiled.plan
    return {
        "changed": whole.changes,
        "changes": list(compiled.changes),
        "differences": list(compiled.differences),
        "id": whole.id,
        "deployment": s.revision.deployment,
        "topology": s.revision.topology,
        "recipe": s.revision.recipe,
        "recipe_source": compiled.draft.effective.recipe.source,
        "hash": s.revision.hash,
        "api_key": not s.revision.without_key,
        "endpoints": endpoints(s.revision),
        "rules": [rule(finding) for finding in compiled.findings],
        "warnings": warnings,
    }


def impact(compiled: Compiled) -> dict[str, Any]:
    """Return what stops and what clients see before and after."""
    found = of_clients(compiled.situation)
    return {
        "replaces": [
            {"deployment": one.deployment, "topology": one.topology, "hash": one.hash, "model": one.served}
            for one in found.replaced
        ],
        "ends": [_left_over(one) for one in _left_behind(compiled.situation)],
        "urls": list(found.service.urls),
        "model": found.service.model,
        "context": found.service.context,
        "longer_context": longer_context(compiled.draft.effective, compiled.draft.placement.topology.kind),
        "clients": list(found.changes),
        "seconds": found.seconds,
        "in_turns": found.in_turns,
    }


def _left_behind(s: Situation) -> list[DeployedRevision]:
    """Return what still runs only because an earlier run could not reach it, and what this one ends."""
    kept = {s.revision.hash, *(stored.hash for _, stored, _ in s.replaced)}
    return [one for one in deployed_revisions(s.facts) if left_over(s.facts, one) and one.stored.hash not in kept]


def _left_over(one: DeployedRevision) -> dict[str, Any]:
    fronts = {container.name for _, container in one.running}
    return {
        "deployment": one.stored.deployment,
        "hash": one.stored.hash,
        "nodes": list(dict.fromkeys(node for node, _ in one.running)),
        "urls": [f"{api_url(it)}/v1" for it in one.stored.fronts if one.stored.container(it) in fronts],
    }


def placement(s: Situation) -> dict[str, Any]:
    return {
        "head": s.placement.head.node.name,
        "nodes": [{"name": m.name, "address": m.address, "role": m.role} for m in s.revision.members],
        "free": [node.name for node in s.placement.free],
        "why": dict(s.placement.why),
    }


def models(s: Situation) -> list[dict[str, Any]]:
    """Return every model that an engine opens, the served one first, with the setting that names it."""
    return [
        {
            "model": one.name.model,
            "revision": s.commit(one) or one.name.revision or None,
            "role": one.role,
            "flag": one.flag or None,
        }
        for one in needs.models(s.effective)
    ]


def settings(effective: Effective) -> list[dict[str, Any]]:
    """Return every effective flag and variable with its origin."""
    args = [{"flag": f"--{name}", "value": item.value, "origin": item.origin} for name, item in effective.args.items()]
    env = [{"env": name, "value": item.value, "origin": item.origin} for name, item in effective.env.items()]
    return args + env


def endpoints(revision: Revision | Stored) -> list[dict[str, Any]]:
    """Return the OpenAI base URL of each front."""
    about = {"deployment": revision.deployment, "model": revision.served}
    return [{"url": base_url(revision, front), "node": front.name, **about} for front in revision.fronts]


def rule(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "action": finding.action,
        "message": finding.message,
        "why": finding.why,
        "hint": finding.hint,
        "node": finding.node,
        "follows": finding.follows or None,
        "changes": [str(change) for change in finding.changes],
    }
