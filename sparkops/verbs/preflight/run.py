"""`preflight`: check the nodes, and fix what is safe to fix."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from sparkops import checks
from sparkops.checks.check import Check
from sparkops.checks.judging import judged, worst
from sparkops.core.findings import Finding
from sparkops.core.plan import Plan, described
from sparkops.core.situation import Situation
from sparkops.errors import Refused, SparkopsError, StepFailed
from sparkops.phases.fix import compile_fix, fixes
from sparkops.phases.sudo import with_sudo
from sparkops.remote.network import network
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import execute
from sparkops.session.open import alone, opened, selected
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft, supposed
from sparkops.verbs.preflight.observe import see
from sparkops.verbs.preflight.options import PreflightOptions


def preflight(options: PreflightOptions, report: Report) -> Answer:
    """Check the selected nodes only; a node that does not answer does not stop the others."""
    wanted = checks.chosen(options.only, options.skip)
    chosen = alone(selected(options.where, report))
    draft = supposed(options.recipe, options.topology, chosen, report)
    with opened(chosen, report) as session:
        return _preflight(options, session, draft, wanted)


def _preflight(options: PreflightOptions, session: Session, draft: Draft, wanted: tuple[Check, ...]) -> Answer:
    look = partial(see, session, draft, wanted, narrow=bool(options.only), deep=options.deep, clock=network().clock)
    situation = look()
    found = judged(situation, session.selected, wanted)
    if not options.fix:
        return Answer(document(situation, session, found), error=_error(session, found))
    held = frozenset((one.node, one.id) for one in found if one.node and one.status in ("fail", "warn"))
    steps = fixes(situation, session.selected, held)
    plan = with_sudo(compile_fix(steps.values()), session.sudo)
    listed = [{"node": one.node, "title": one.title, "command": "\n".join(described(one))} for one in plan.steps]
    shown = {**document(situation, session, found), "plan": listed}
    trouble = _fix(options, session, plan, shown)
    if not plan.steps or isinstance(trouble, Refused):
        return Answer({**shown, "shown": isinstance(trouble, Refused)}, error=_error(session, found, trouble))
    situation = look()
    found = _fixed(judged(situation, session.selected, wanted), steps)
    fixed = {**document(situation, session, found), "plan": listed, "mended": True}
    return Answer(fixed, error=_error(session, found, trouble))


def _fix(options: PreflightOptions, session: Session, plan: Plan, shown: dict[str, Any]) -> SparkopsError | None:
    """Show the fixes, ask, run them; `Refused` means that nothing was changed."""
    if not plan.steps:
        session.report.note("--fix can fix none of these problems")
        return None
    if not options.yes:
        session.report.show(shown)
        if not session.report.confirm(f"Run these {len(plan.steps)} steps?"):
            return Refused("nothing was fixed, because you did not answer yes", hint="fix without asking: --fix --yes")
    session.lock(step.node for step in plan.steps)
    try:
        execute(plan, session)
    except StepFailed as error:
        error.hint = "the list above shows the checks that still fail"
        return error
    return None


def _fixed(found: Iterable[Finding], done: Iterable[tuple[str, str]]) -> tuple[Finding, ...]:
    steps = set(done)
    return tuple(
        replace(one, action="fixed", message="fixed")
        if one.status == "pass" and (one.node or "", one.id) in steps
        else one
        for one in found
    )


def _error(session: Session, found: tuple[Finding, ...], trouble: SparkopsError | None = None) -> SparkopsError | None:
    """Return the error for the exit code: an unreachable node first, then a failed fix, then failing checks."""
    if session.lost:
        return session.lost.error
    failing = list(dict.fromkeys(one.id for one in found if one.status == "fail"))
    if trouble is None and failing:
        many = f"{len(failing)} checks fail" if len(failing) > 1 else "a check fails"
        trouble = Refused(f"{many}: {', '.join(failing)}", hint="`sparkops preflight --explain ID` explains a check")
    return trouble


def document(s: Situation, session: Session, found: tuple[Finding, ...]) -> dict[str, Any]:
    """Return the document: a verdict for each check and node, and an overall one."""
    mine = {node.name: [one for one in found if one.node == node.name] for node in session.selected}
    return {
        "verdict": worst(found),
        "topology": s.revision.topology,
        "recipe": s.revision.recipe,
        "nodes": [
            {
                "name": node.name,
                "address": node.address,
                "reachable": node.name not in s.away,
                "verdict": worst(mine[node.name]),
                "checks": [_check(one) for one in mine[node.name]],
            }
            for node in session.selected
        ],
        "cluster": [_check(one) for one in found if one.node is None],
    }


def _check(one: Finding) -> dict[str, Any]:
    return {"id": one.id, "status": one.status, "message": one.message, "hint": one.hint, "evidence": one.evidence}
