"""The JSON documents of plan and deploy."""

from typing import Any

from sparkops.core import needs
from sparkops.core.effective import Effective
from sparkops.core.endpoints import api_url
from sparkops.core.findings import Finding
from sparkops.core.plan import described
from sparkops.core.revision import Revision
from sparkops.core.situation import Situation
from sparkops.core.stored import Stored
from sparkops.verbs.deploy.compile import Compiled


def plan(compiled: Compiled, then: tuple[str, ...]) -> dict[str, Any]:
    """Return the document of a plan; `then` are lines that follow its changes."""
    s, whole = compiled.situation, compiled.plan
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
        "changes": [*compiled.changes, *then],
        "changed": whole.changes,
        "replaces": whole.replaces,
        "placement": placement(s),
        "settings": settings(compiled.draft.effective),
        "rules": [rule(finding) for finding in compiled.findings],
        "steps": [
            {
                "phase": phase.name,
                "node": step.node,
                "title": step.title,
                "command": "\n".join(described(step)),
                "changes": step.changes,
            }
            for phase in whole.phases
            for step in phase.steps
        ],
    }


def deploy(compiled: Compiled, warnings: list[str]) -> dict[str, Any]:
    s, whole = compiled.situation, compiled.plan
    return {
        "changed": whole.changes,
        "changes": list(compiled.changes),
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


def placement(s: Situation) -> dict[str, Any]:
    return {
        "head": s.placement.head.node.name,
        "nodes": [{"name": m.name, "address": m.address, "role": m.role} for m in s.revision.members],
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
    return [{"url": f"{api_url(front)}/v1", "model": revision.served, "node": front.name} for front in revision.fronts]


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
