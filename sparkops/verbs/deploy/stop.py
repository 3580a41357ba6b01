"""`stop`: end what runs, and keep its containers for `start`."""

import shlex
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sparkops.core.facts import Facts
from sparkops.core.notes import EVERYTHING
from sparkops.core.plan import Plan
from sparkops.files.playbooks import built_in
from sparkops.phases.beside import in_the_way
from sparkops.phases.kept import compile_stop
from sparkops.phases.orphans import compile_orphans, left_over
from sparkops.phases.parts import DeployedRevision, all_revisions, deployed_revisions
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.away import AwayNodes
from sparkops.session.execute import tried
from sparkops.session.find_deployment import elsewhere, lock_for, on_selected, ours_to_change
from sparkops.session.fleet_of import tell_of_fleet
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.verbs.deploy.document import steps
from sparkops.verbs.deploy.options import StopOptions


def stop(options: StopOptions, report: Report) -> Answer:
    """Stop the deployment (or all) on all nodes; remove what could not be started again, with `remove` everything."""
    with reached(options.where, report) as session:
        session.deployment = options.deployment or ""
        if not options.check:
            lock_for(session, options.deployment)
        return _stop(options, session)


def _stop(options: StopOptions, session: Session) -> Answer:
    facts = session.what_runs()
    chosen = on_selected(session, all_revisions(facts), options.deployment)
    targets = [one for one in chosen if (options.remove or _stops(one)) and _meant(options, one)]
    ours_to_change(target.stored for target in targets)
    kept = [] if options.remove else [one for one in targets if all(m.name not in facts for m in one.missing)]
    stays = {(node, container.name) for one in kept for node, container in one.parts}
    orphans = compile_orphans(facts, {node.name: node.address for node in session.inventory.nodes}, stays)
    stops = compile_stop(built_in("stop"), facts, targets, frozenset(one.stored.hash for one in kept))
    # A second plan, which a failure stops: a note may only be removed after the container that it names.
    plans = (stops, Plan("stop", None, orphans, on_failure="stop"))
    for one in targets:
        if beyond := sorted({node for node, _ in one.running} - {*session.names}):
            session.report.note(f"stops {one.title} whole, so also on {', '.join(beyond)}")
    if options.check:
        checked: dict[str, Any] = {"check": True, "steps": [row for plan in plans for row in steps(plan)]}
        checked["unreachable"] = _unknown(session, targets).reasons
        return Answer(_document(targets, {step.id for step in stops.steps}) | checked)
    if session.lock(step.node for plan in plans for step in plan.steps):
        return _stop(options, session)
    outcome, error = tried(with_sudo(plans[0], session.sudo), session)
    if error is None:
        _, error = tried(with_sudo(plans[1], session.sudo), session)
    unknown = _unknown(session, targets)
    if error is None:
        session.settled = _settled(options, chosen, facts, whole=not unknown and not elsewhere(session, chosen))
    if error is None and (error := unknown.error):
        again, names = _typed("stop", options), ", ".join(unknown)
        what = f"what {names} runs may still serve; when that is mended, run `{again}` again"
        error.hint = "\n".join(filter(None, (error.hint, what)))
    if error is None:
        error = elsewhere(session, chosen)
    tell_of_fleet(session, (container for one in targets for _, container in one.running))
    done = set(outcome.sent) - {*outcome.unknown, *(failure.step for failure in outcome.failures)}
    document = _document(targets, done)
    starts = document["stopped"] and error is None and not all(_displaced(facts, one, targets) for one in targets)
    to_start = f"To start again what was stopped: `{_typed('start', options)}`" if starts else None
    return Answer(document | {"next": to_start, "unreachable": unknown.reasons}, error=error)


def _typed(verb: str, options: StopOptions) -> str:
    """The verb for the deployments that were named."""
    limit = ["--limit", options.where.limit] if options.where.limit else []
    return shlex.join(["sparkops", verb, *filter(None, [options.deployment]), *limit])


def _document(targets: Sequence[DeployedRevision], done: Container[str]) -> dict[str, Any]:
    """The containers that these steps stop or remove."""
    ended = {act: list(_ended(act, targets, done)) for act in ("stop", "remove")}
    return {"stopped": ended["stop"], "removed": ended["remove"], "changed": any(ended.values())}


def _settled(
    options: StopOptions, chosen: Iterable[DeployedRevision], facts: Mapping[str, Facts], *, whole: bool
) -> tuple[str, ...]:
    """The deployments whose nodes were all reached; with `whole`, nothing else can run there."""
    meant = [one.stored for one in chosen if _meant(options, one)]
    missed = {stored.deployment for stored in meant if any(it.name not in facts for it in stored.members)}
    names = tuple(stored.deployment for stored in meant if whole or stored.deployment not in missed)
    if options.deployment:
        return names or ((options.deployment,) if whole else ())
    return (*names, EVERYTHING) if whole and not options.only else names


def _meant(options: StopOptions, one: DeployedRevision) -> bool:
    return options.only is None or one.stored.hash in options.only


def _ended(act: str, targets: Iterable[DeployedRevision], done: Container[str]) -> Iterator[dict[str, str]]:
    """The containers whose step `stop` or `remove` is one of these."""
    for node, container in (part for target in targets for part in target.parts):
        if f"{act}.{node}.{container.name}" in done:
            yield {"node": node, "container": container.name}


def _stops(target: DeployedRevision) -> bool:
    """Whether it runs or is incomplete; a complete stopped one is kept for `start` and `rollback`."""
    return target.runs or not all(container.kept for _, container in target.parts)


def _displaced(facts: Mapping[str, Facts], one: DeployedRevision, targets: Sequence[DeployedRevision]) -> bool:
    """Whether what continues to run is in its place."""
    others = [other for other in deployed_revisions(facts) if other.runs and other not in targets]
    return bool(in_the_way(one, [other for other in others if not left_over(facts, other)]))


def _unknown(session: Session, targets: Sequence[DeployedRevision]) -> AwayNodes:
    """The unreachable nodes that may still run what was to be stopped."""
    selected = [node.name for node in session.selected]
    members = [member.name for target in targets for member in target.stored.members]
    return session.away.among(dict.fromkeys((*selected, *members)))
