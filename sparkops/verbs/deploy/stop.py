"""`stop`: remove what runs and verify that it is gone."""

from collections.abc import Sequence

from sparkops.core.plan import Plan
from sparkops.files.playbooks import built_in
from sparkops.phases.kept import compile_stop, removal
from sparkops.phases.orphans import compile_orphans
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import tried
from sparkops.session.find_deployment import on_selected, ours_to_change
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.verbs.deploy.options import StopOptions


def stop(options: StopOptions, report: Report) -> Answer:
    """Remove the running parts of the deployment (or of all) on all nodes; what is kept for rollback stays."""
    with reached(options.where, report) as session:
        session.lock(node.name for node in session.selected)
        facts = session.what_runs()
        here = deployed_revisions(facts)
        chosen = on_selected(session, here, options.deployment)
        targets = [one for one in chosen if _stops(one) and one.stored.hash not in options.but]
        ours_to_change(target.stored for target in targets)
        orphans = compile_orphans(facts, {node.name: node.address for node in session.inventory.nodes})
        # A second plan, which a failure stops: a note may only be removed after the container that it names.
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


def _stops(target: DeployedRevision) -> bool:
    """Whether it runs or is incomplete; a complete stopped one is kept for rollback."""
    return target.runs or not all(container.kept for _, container in target.parts)


def _matters(session: Session, targets: Sequence[DeployedRevision]) -> bool:
    """Whether an unreachable node may still run what was to be stopped."""
    selected = {node.name for node in session.selected}
    members = {member.name for target in targets for member in target.stored.members}
    return any(name in selected or name in members for name in session.away)
