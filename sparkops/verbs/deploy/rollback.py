"""`rollback`: start again what served before."""

from collections.abc import Sequence

from sparkops.core.history import EVERYTHING
from sparkops.core.impact import usual_seconds
from sparkops.core.situation import Choices
from sparkops.errors import UsageError
from sparkops.files.playbooks import built_in
from sparkops.phases.beside import startable
from sparkops.phases.kept import compile_rollback
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import execute
from sparkops.session.find_deployment import lock_for, nothing_kept, on_selected, ours_to_change
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.verbs.deploy.document import served, steps
from sparkops.verbs.deploy.options import RollbackOptions
from sparkops.verbs.deploy.start import starts


def rollback(options: RollbackOptions, report: Report) -> Answer:
    """Stop what runs and start what it replaced, also under another deployment name; with `check` only show it."""
    with reached(options.where, report) as session:
        session.require(node.name for node in session.selected)
        session.deployment = options.deployment or ""
        if not options.check:
            lock_for(session, options.deployment)
        return _rollback(options, session)


def _rollback(options: RollbackOptions, session: Session) -> Answer:
    facts = session.containers()
    session.require(node.name for node in session.selected)
    everything = deployed_revisions(facts)
    chosen = on_selected(session, everything, options.deployment)
    running = [one for one in chosen if one.runs and one.stored.hash not in options.to]
    ours_to_change(one.stored for one in running)
    previous = _previous(session, everything, running, options.to)
    choices = Choices(limits=options.limits)
    plan = with_sudo(compile_rollback(built_in("rollback"), facts, running, previous, choices), session.sudo)
    titles = {"restored": [one.title for one in previous], "replaced": [one.title for one in running]}
    done = {"changed": True, **served(previous), **titles}
    if options.check:
        return Answer({**done, "check": True, "steps": steps(plan)})
    if session.lock(step.node for step in plan.steps):
        return _rollback(options, session)
    for text in (*(f"stops {one.title}" for one in running), *map(starts, previous)):
        session.report.note(text)
    session.report.expect(usual_seconds(facts, [one.stored for one in previous]))
    execute(plan, session)
    names = tuple(one.stored.deployment for one in (*previous, *running))
    session.settled = names if options.deployment else (*names, EVERYTHING)
    return Answer(done)


def _previous(
    session: Session, everything: Sequence[DeployedRevision], running: Sequence[DeployedRevision], to: frozenset[str]
) -> list[DeployedRevision]:
    """Return the stopped revisions to start: all that the running ones replaced, else what served last."""
    beside = {node for one in running for node, _ in one.parts} if not to else set()
    where = beside or {node.name for node in session.selected}
    stopped = [one for one in everything if not one.runs and {node for node, _ in one.parts} & where]
    candidates = [one for one in stopped if one.complete]
    ours_to_change(one.stored for one in candidates)
    if to:
        candidates = [one for one in candidates if one.stored.hash in to]
    elif len({one.stored.deployment for one in running}) > 1:
        candidates = _replaced_all(candidates, running)
    if not candidates:
        raise nothing_kept(session, "roll back to", stopped)
    gone = to or {digest for one in running for digest in one.replaced}
    if replaced := [one for one in candidates if one.stored.hash in gone]:
        return replaced
    if not running and (found := startable(candidates, [one for one in everything if one.runs])):
        return found
    newest = max(candidates, key=lambda one: one.ended)
    _refuse_half(everything, running, newest)
    return [newest]


def _replaced_all(
    candidates: Sequence[DeployedRevision], running: Sequence[DeployedRevision]
) -> list[DeployedRevision]:
    """Several deployments are rolled back together only to one that they all replaced; else the name is needed."""
    hashes = {one.stored.hash for one in running}
    if found := [one for one in candidates if hashes <= one.replaced]:
        return found
    names = ", ".join(one.title for one in running)
    raise UsageError(f"several deployments serve here: {names}", hint="name one of them, or select nodes with --limit")


def _refuse_half(
    everything: Sequence[DeployedRevision], running: Sequence[DeployedRevision], previous: DeployedRevision
) -> None:
    """Refuse to start a revision that had replaced a deployment which would keep running."""
    stopping = {one.stored.hash for one in running}
    others = [one.title for one in everything if one.runs and one.stored.hash in previous.replaced - stopping]
    if others:
        raise UsageError(
            f"a rollback to {previous.title} must also stop deployments that are not selected: {', '.join(others)}",
            hint="use `sparkops rollback` without a name, or a --limit that includes its nodes",
        )
