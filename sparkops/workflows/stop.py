"""`stop` and `rollback`: verbs over what the nodes hold."""

from __future__ import annotations

from collections.abc import Sequence

from sparkops.asks import Answer, RollbackOptions, StopOptions
from sparkops.core.plan import Plan
from sparkops.core.schema import did_you_mean
from sparkops.core.situation import Choices
from sparkops.errors import Refused, UsageError
from sparkops.phases.kept import compile_rollback, compile_stop
from sparkops.phases.orphans import compile_orphans
from sparkops.phases.parts import Kept, kept
from sparkops.phases.sudo import with_sudo
from sparkops.phases.verify import api_url
from sparkops.report.report import Report
from sparkops.workflows.run import execute
from sparkops.workflows.session import Session, reached, unreachable


def stop(options: StopOptions, report: Report) -> Answer:
    """Remove what runs of the deployment (or of all), wherever its parts are; what was kept for rollback stays."""
    with reached(options.where, report) as session:
        return stop_on(options, session)


def stop_on(options: StopOptions, session: Session) -> Answer:
    """The same over a session that is open."""
    session.lock(session.nodes)
    facts = session.containers()
    targets = [target for target in _chosen(session, kept(facts), options.deployment) if _stops(target)]
    compiled = compile_stop(facts, targets)
    orphans = compile_orphans(facts, {node.name: node.address for node in session.inventory.nodes})
    plan = with_sudo(Plan("stop", None, (*compiled.phases, *orphans), on_failure="go-on"), session.sudo)
    execute(plan, session)
    removed = [{"node": node, "container": container.name} for target in targets for node, container in target.parts]
    error = unreachable(next(iter(session.away.values()))) if _matters(session, targets) else None
    return Answer({"removed": removed, "changed": bool(removed)}, error=error)


def rollback(options: RollbackOptions, report: Report) -> Answer:
    """Stop what runs and start what was kept before it, whatever its name is."""
    with reached(options.where, report) as session:
        return rollback_on(options, session)


def rollback_on(options: RollbackOptions, session: Session) -> Answer:
    """The same over a session that is open."""
    session.require(node.name for node in session.selected)
    session.lock(session.nodes)
    facts = session.containers()
    session.require(node.name for node in session.selected)
    everything = kept(facts)
    running = [one for one in _chosen(session, everything, options.deployment) if one.runs]
    previous = _previous(session, everything, running)
    plan = with_sudo(
        compile_rollback(facts, running, previous, Choices(stall=options.stall, deadline=options.deadline)),
        session.sudo,
    )
    execute(plan, session)
    stored = previous.stored
    return Answer(
        {
            "changed": True,
            "deployment": stored.deployment,
            "topology": stored.topology,
            "recipe": stored.recipe,
            "hash": stored.hash,
            "replaced": [one.title for one in running],
            "endpoints": [{"url": f"{api_url(m)}/v1", "model": stored.served, "node": m.name} for m in stored.fronts],
        }
    )


def _chosen(session: Session, everything: Sequence[Kept], name: str | None) -> list[Kept]:
    """Those with a part on the selected nodes, and with that name if one is given."""
    names = {one.stored.deployment for one in everything}
    if name is not None and name not in names:
        hint = "`sparkops status` lists the deployments"
        raise UsageError(f"no deployment {name} on these nodes{did_you_mean(name, names)}", hint=hint)
    selected = {node.name for node in session.selected}
    return [one for one in everything if name in (None, one.stored.deployment) and {n for n, _ in one.parts} & selected]


def _stops(target: Kept) -> bool:
    """Whether it runs, or was left half made; what is stopped whole is kept for rollback."""
    return target.runs or any(container.state in ("created", "dead") for _, container in target.parts)


def _matters(session: Session, targets: Sequence[Kept]) -> bool:
    """Whether an unreachable node may still hold what was to be stopped."""
    selected = {node.name for node in session.selected}
    members = {member.name for target in targets for member in target.stored.members}
    return any(name in selected or name in members for name in session.away)


def _previous(session: Session, everything: Sequence[Kept], running: Sequence[Kept]) -> Kept:
    """The newest whole revision that was kept, stopped, where the running ones are."""
    where = {node for one in running for node, _ in one.parts} or {node.name for node in session.selected}
    candidates = [
        one for one in everything if not one.runs and one.complete and {node for node, _ in one.parts} & where
    ]
    newer = [one.title for one in candidates if one.stored.newer]
    if newer:
        raise Refused(f"{newer[0]} was made by a newer sparkops", hint="use that version to change it")
    if not candidates:
        raise Refused(
            "there is nothing to go back to: no stopped revision is kept on these nodes", hint="`sparkops status`"
        )
    return max(candidates, key=lambda one: one.ended)
