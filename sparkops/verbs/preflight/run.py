"""`preflight`: check the nodes, and fix what is safe to fix."""

from collections.abc import Callable, Iterable
from dataclasses import replace
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
    def look() -> tuple[Situation, tuple[Finding, ...]]:
        s = see(session, draft, wanted, narrow=bool(options.only), deep=options.deep, clock=network().clock)
        return s, judged(s, session.selected, wanted)

    situation, found = look()
    if situation.placement.note:
        session.report.note(situation.placement.note)
    if options.fix:
        placed = replace(draft, placement=situation.placement)
        return _with_fixes(options, session, placed, look, situation, found)
    return Answer(document(situation, session, found), error=verdict_error(session, found))


def _with_fixes(
    options: PreflightOptions,
    session: Session,
    draft: Draft,
    look: Callable[[], tuple[Situation, tuple[Finding, ...]]],
    situation: Situation,
    found: tuple[Finding, ...],
) -> Answer:
    from sparkops.verbs.preflight import missing_images as images  # noqa: PLC0415  most preflights fix nothing

    held = frozenset((one.node, one.id) for one in found if one.node and one.status in ("fail", "warn"))
    steps = fixes(situation, session.selected, held)
    plan = with_sudo(compile_fix(steps.values()), session.sudo)
    lacking = images.missing_images(situation, draft, held)
    listed = [{"node": one.node, "title": one.title, "command": "\n".join(described(one))} for one in plan.steps]
    listed += [{"node": one.nodes[0], "title": one.way, "command": ""} for one in lacking]
    shown = {**document(situation, session, found), "plan": listed}
    as_root = replace(situation, choices=replace(situation.choices, sudo_password=True))
    if locked := {check for _, check in fixes(as_root, session.selected, held).keys() - steps.keys()}:
        session.report.note(f"with --ask-become-pass, --fix also fixes {', '.join(sorted(locked))}")
    elif not listed:
        healthy = shown["verdict"] == "pass" and not session.lost
        session.report.note("nothing needs a fix" if healthy else "--fix can fix none of these problems")
    refused = _refused(options, session, shown)
    if refused or not listed:
        return Answer({**shown, "shown": bool(refused)}, error=verdict_error(session, found, refused))
    trouble = images.get_images(session, draft, lacking)  # before the locks: a build takes up to an hour
    if session.lock(step.node for step in plan.steps) and trouble is None:
        return _with_fixes(options, session, draft, look, *look())
    trouble = _fix(session, plan) or trouble
    situation, found = look()
    done = {*steps, *((name, images.CHECK) for one in lacking for name in one.nodes)}
    found = _fixed(found, done)
    fixed = {**document(situation, session, found), "plan": listed, "mended": True}
    return Answer(fixed, error=verdict_error(session, found, trouble))


def _refused(options: PreflightOptions, session: Session, shown: dict[str, Any]) -> Refused | None:
    """Show the fixes, if there are any, and ask; returns the refusal unless the answer is yes."""
    if shown["plan"] and not options.yes:
        session.report.show(shown)
        if not session.report.confirm(f"Run these {len(shown['plan'])} steps?"):
            return Refused("nothing was fixed: nobody answered yes on a terminal", hint="do not ask: add --yes")
    return None


def _fix(session: Session, plan: Plan) -> SparkopsError | None:
    if not plan.steps:
        return None
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


def verdict_error(
    session: Session, found: tuple[Finding, ...], trouble: SparkopsError | None = None
) -> SparkopsError | None:
    """Return the error for the exit code: an unreachable node first, then a failed fix, then failing checks."""
    if session.lost:
        return session.lost.error
    by_cause: dict[str, str] = {}
    for one in found:
        if one.status == "fail":
            by_cause.setdefault(one.follows or one.id, one.id)
    failing = list(by_cause.values())
    if trouble is None and failing:
        many = f"{len(failing)} checks fail" if len(failing) > 1 else "a check fails"
        trouble = Refused(
            f"{many}: {', '.join(failing)}", hint=f"`sparkops preflight --explain {failing[0]}` explains it"
        )
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
        "order": list(dict.fromkeys(one.id for one in found)),
    }


def _check(one: Finding) -> dict[str, Any]:
    return {
        "id": one.id,
        "status": one.status,
        "message": one.message,
        "hint": one.hint,
        "evidence": one.evidence,
        "follows": one.follows or None,
    }
