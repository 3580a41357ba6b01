"""`stop` and `rollback`: verbs over what the nodes hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparkops.core.endpoints import api_url
from sparkops.core.plan import Plan
from sparkops.core.schema import did_you_mean, nearest
from sparkops.core.situation import Choices
from sparkops.errors import Refused, UsageError
from sparkops.files.playbooks import built_in
from sparkops.phases.kept import compile_rollback, compile_stop, removal
from sparkops.phases.orphans import compile_orphans
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import execute, tried
from sparkops.session.find_deployment import ours_to_change
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.verbs.deploy.options import RollbackOptions, StopOptions


def stop(options: StopOptions, report: Report) -> Answer:
    """Remove what runs of the deployment (or of all), wherever its parts are; what was kept for rollback stays."""
    with reached(options.where, report) as session:
        return stop_on(options, session)


def stop_on(options: StopOptions, session: Session) -> Answer:
    """The same over a session that is open."""
    session.lock(node.name for node in session.selected)
    facts = session.what_runs()
    here = deployed_revisions(facts)
    gone = options.deployment is not None and not session.away and _unknown(here, options.deployment)
    if gone:
        session.report.note(f"no deployment {options.deployment} is on these nodes")
    chosen = [] if gone else _chosen(session, here, options.deployment)
    targets = [one for one in chosen if _stops(one) and one.stored.hash not in options.but]
    ours_to_change(target.stored for target in targets)
    orphans = compile_orphans(facts, {node.name: node.address for node in session.inventory.nodes})
    # Apart, and to be stopped by a failure: a note may only be forgotten when what it names is gone.
    plans = (compile_stop(built_in("stop"), facts, targets), Plan("stop", None, orphans, on_failure="stop"))
    session.lock(step.node for plan in plans for step in plan.steps)
    outcome, error = tried(with_sudo(plans[0], session.sudo), session)
    if error is None:
        _, error = tried(with_sudo(plans[1], session.sudo), session)
    done = set(outcome.sent) - {*outcome.unknown, *(failure.step for failure in outcome.failures)}
    parts = [part for target in targets for part in target.parts if removal(*part) in done]
    if error is None and _matters(session, targets):
        error = session.away.error
    removed = [{"node": node, "container": container.name} for node, container in parts]
    return Answer({"removed": removed, "changed": bool(removed)}, error=error)


def rollback(options: RollbackOptions, report: Report) -> Answer:
    """Stop what runs and start what was kept before it, whatever its name is."""
    with reached(options.where, report) as session:
        return rollback_on(options, session)


def rollback_on(options: RollbackOptions, session: Session) -> Answer:
    """The same over a session that is open."""
    session.require(node.name for node in session.selected)
    session.lock(node.name for node in session.selected)
    facts = session.containers()
    session.require(node.name for node in session.selected)
    everything = deployed_revisions(facts)
    chosen = _chosen(session, everything, options.deployment)
    running = [one for one in chosen if one.runs and one.stored.hash not in options.to]
    ours_to_change(one.stored for one in running)
    previous = _previous(session, everything, running, options.to)
    choices = Choices(limits=options.limits)
    plan = with_sudo(compile_rollback(built_in("rollback"), facts, running, previous, choices), session.sudo)
    session.lock(step.node for step in plan.steps)
    execute(plan, session)
    return Answer(_rolled_back(running, previous))


def _rolled_back(running: Sequence[DeployedRevision], previous: Sequence[DeployedRevision]) -> dict[str, Any]:
    """Told of the first; of several all endpoints are."""
    stored = previous[0].stored
    return {
        "changed": True,
        "deployment": stored.deployment,
        "topology": stored.topology,
        "recipe": stored.recipe,
        "hash": stored.hash,
        "restored": [one.title for one in previous],
        "replaced": [one.title for one in running],
        "endpoints": [
            {"url": f"{api_url(m)}/v1", "model": one.stored.served, "node": m.name}
            for one in previous
            for m in one.stored.fronts
        ],
    }


def _chosen(session: Session, everything: Sequence[DeployedRevision], name: str | None) -> list[DeployedRevision]:
    """Those with a part on the selected nodes, and with that name if one is given."""
    names = {one.stored.deployment for one in everything}
    if name is not None and name not in names:
        session.require(node.name for node in session.selected)
        hint = "`sparkops status` lists the deployments"
        raise UsageError(f"no deployment {name} on these nodes{did_you_mean(name, names)}", hint=hint)
    selected = {node.name for node in session.selected}
    return [one for one in everything if name in (None, one.stored.deployment) and {n for n, _ in one.parts} & selected]


def _unknown(everything: Sequence[DeployedRevision], name: str) -> bool:
    """Neither there nor a slip of the pen: stopping what was stopped before is no error."""
    names = {one.stored.deployment for one in everything}
    return name not in names and nearest(name, names) is None


def _stops(target: DeployedRevision) -> bool:
    """Whether it runs, or was left half made; what is stopped whole is kept for rollback."""
    return target.runs or not all(container.kept for _, container in target.parts)


def _matters(session: Session, targets: Sequence[DeployedRevision]) -> bool:
    """Whether an unreachable node may still hold what was to be stopped."""
    selected = {node.name for node in session.selected}
    members = {member.name for target in targets for member in target.stored.members}
    return any(name in selected or name in members for name in session.away)


def _previous(
    session: Session, everything: Sequence[DeployedRevision], running: Sequence[DeployedRevision], to: frozenset[str]
) -> list[DeployedRevision]:
    """What was kept, stopped, where the running ones are: all that they replaced, else the newest whole revision."""
    beside = {node for one in running for node, _ in one.parts} if not to else set()
    where = beside or {node.name for node in session.selected}
    candidates = [
        one for one in everything if not one.runs and one.complete and {node for node, _ in one.parts} & where
    ]
    ours_to_change(one.stored for one in candidates)
    if to:
        candidates = [one for one in candidates if one.stored.hash in to]
    elif len({one.stored.deployment for one in running}) > 1:
        candidates = _replaced_all(candidates, running)
    if not candidates:
        raise Refused(
            "there is nothing to go back to: no stopped revision is kept on these nodes", hint="`sparkops status`"
        )
    gone = to or {digest for one in running for digest in one.replaced}
    if replaced := [one for one in candidates if one.stored.hash in gone]:
        return replaced
    newest = max(candidates, key=lambda one: one.ended)
    _refuse_half(everything, running, newest)
    return [newest]


def _replaced_all(
    candidates: Sequence[DeployedRevision], running: Sequence[DeployedRevision]
) -> list[DeployedRevision]:
    """Several deployments go together only where one had replaced them all; else which one is meant must be said."""
    hashes = {one.stored.hash for one in running}
    if found := [one for one in candidates if hashes <= one.replaced]:
        return found
    names = ", ".join(one.title for one in running)
    raise UsageError(f"several deployments serve here: {names}", hint="name one of them, or use --limit")


def _refuse_half(
    everything: Sequence[DeployedRevision], running: Sequence[DeployedRevision], previous: DeployedRevision
) -> None:
    """What had replaced several cannot come back beside one of them."""
    stopping = {one.stored.hash for one in running}
    others = [one.title for one in everything if one.runs and one.stored.hash in previous.replaced - stopping]
    if others:
        raise UsageError(
            f"{previous.title}, which would come back, had replaced {', '.join(others)} too",
            hint="`sparkops rollback` without a name, or with a --limit that has them all",
        )
