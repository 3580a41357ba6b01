"""`rollback`: start again what served before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sparkops.core.facts import Facts
from sparkops.core.history import replaced_by, stopped_for, unfinished_rollback
from sparkops.core.impact import usual_seconds
from sparkops.core.notes import EVERYTHING, Note
from sparkops.core.situation import Choices
from sparkops.errors import Ambiguous, Refused, UsageError
from sparkops.files.playbooks import built_in
from sparkops.phases.beside import fitting, half_replaced, in_the_way, startable
from sparkops.phases.kept import compile_rollback
from sparkops.phases.orphans import left_over
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import execute
from sparkops.session.find_deployment import (
    called,
    elsewhere,
    go_back,
    lock_for,
    nothing_kept,
    on_selected,
    ours_to_change,
    refuse_newcomers,
    require_for,
)
from sparkops.session.fleet_of import tell_of_fleet
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.session.short_of_memory import short_of_memory
from sparkops.session.start_problem import start_problem, warn_of_unlike_keys
from sparkops.verbs.deploy.document import served, steps
from sparkops.verbs.deploy.options import RollbackOptions
from sparkops.verbs.deploy.start import forgotten, starts

SEE = "`sparkops rollback --check` shows what would be started"


def rollback(options: RollbackOptions, report: Report) -> Answer:
    """Stop what runs and start what it replaced, also under another deployment name, or what `to` names."""
    with reached(options.where, report) as session:
        session.deployment = options.deployment or ""
        if not options.check:
            lock_for(session, options.deployment)
        return _rollback(options, session)


def _rollback(options: RollbackOptions, session: Session) -> Answer:
    facts = session.containers()
    everything = deployed_revisions(facts)
    require_for(session, everything, options.to or filter(None, [options.deployment]))
    chosen = on_selected(session, everything, options.deployment)
    past = [known.history for known in facts.values()]
    about = chosen[0].stored.deployment if options.deployment and chosen else ""
    cut = unfinished_rollback(past, session.cut_off, about)
    previous = _wanted(options, session, facts, chosen, cut)
    left = [one for one in everything if left_over(facts, one)]  # this run ends what it does not start of them
    if previous:
        running = _instead([one for one in everything if one not in left], previous)
        _refuse_others(session, previous, running)
        refuse_newcomers(options.only, [one.stored for one in running])
    else:
        running = [one for one in chosen if one.runs and one not in left]
        before = stopped_for(past, {one.stored.hash for one in running})
        previous = _previous(session, everything, left, running, before, " --check" if options.check else "")
    # Without one of its nodes, a copy does not serve any more.
    copies = [one.stored.copy_of(member) for one in running for member in one.stored.engines]
    session.require(copy[0].name for copy in copies if all(rank.name in session.away for rank in copy))
    _refuse_clash(session, [one for one in everything if one not in left], running, previous)
    ours_to_change(one.stored for one in (*running, *previous))
    ending = (*running, *(one for one in left if one not in previous))
    for one in (it for it in previous if it.kept):
        if problem := start_problem(session, facts, one, any_key=True) or short_of_memory(facts, one, ending):
            raise problem
    if error := elsewhere(session, (*running, *previous)):
        raise error
    choices = Choices(limits=options.limits)
    plan = compile_rollback(built_in("rollback"), facts, running, previous, choices)
    plan = with_sudo(replace(plan, phases=(*forgotten(session, facts, previous), *plan.phases)), session.sudo)
    names = [one.title for one in previous if one.kept]
    done = {"changed": bool(names), **served(previous), "restored": names, "replaced": [one.title for one in running]}
    if options.check:
        return Answer({**done, "check": True, "steps": steps(plan)})
    if session.lock(step.node for step in plan.steps):
        return _rollback(options, session)
    _tell(session, previous, running, cut)
    for one in previous if names else ():
        warn_of_unlike_keys(session, facts, one)
    session.report.expect(usual_seconds(facts, [one.stored for one in previous]) if names else None)
    execute(plan, session)
    tell_of_fleet(session, (container for one in running for _, container in one.running))
    settled = (*(one.stored.deployment for one in (*previous, *running)), *_left_nothing(session, facts, everything))
    session.settled = settled if options.deployment or options.to else (*settled, EVERYTHING)
    return Answer(done)


def _left_nothing(
    session: Session, facts: Mapping[str, Facts], everything: Sequence[DeployedRevision]
) -> Iterator[str]:
    """The deployments that runs were about which were cut off before they made a container."""
    there = {one.stored.deployment for one in everything}
    cut = ((name, one.nodes) for one in session.cut_off for name in one.left)
    return (name for name, nodes in cut if name not in there and facts.keys() >= {*nodes})


def _tell(
    session: Session, previous: Sequence[DeployedRevision], running: Sequence[DeployedRevision], cut: Note | None
) -> None:
    """Say what stops and starts, also in the nodes' history; there with what the run stopped that was cut off."""
    starting = [one for one in previous if one.kept]
    for text in (*(f"stops {one.title}" for one in running), *map(starts, starting)):
        session.report.note(text)
    started, stopped = {one.stored.hash for one in starting}, {one.stored.hash for one in running}
    stopped |= {*cut.stopped} if cut and started <= {*cut.started} else set()
    name = previous[0].stored.deployment
    session.about(name, started=sorted(started), stopped=sorted(stopped) if started else ())


def _wanted(
    options: RollbackOptions,
    session: Session,
    facts: Mapping[str, Facts],
    chosen: Sequence[DeployedRevision],
    cut: Note | None,
) -> list[DeployedRevision]:
    """What must serve, if that is known.

    By hash, from a rollback that was cut off, what a deploy that did not end well left, or by a name that is stopped.
    """
    if options.to:
        return _named(session, chosen, options.to)
    if cut:
        here = on_selected(session, deployed_revisions(facts), None)
        found = [one for one in here if one.complete and one.stored.hash in cut.started]
        if len(found) == len(cut.started):
            return found
    whole = [one for one in chosen if one.runs and one.complete]
    replaced = [one for one in whole if any(half_replaced(one, other) for other in chosen)]
    if half := _before(options, session, facts, whole) or replaced:
        return half
    resting = not any(one.runs and not left_over(facts, one) for one in chosen)
    return _stopped(session, chosen) if options.deployment and resting else []


def _before(
    options: RollbackOptions, session: Session, facts: Mapping[str, Facts], whole: Iterable[DeployedRevision]
) -> list[DeployedRevision]:
    """What served before deploys that were cut off, the newest on each node; else what one stopped half and left so."""
    everything = deployed_revisions(facts)
    left, failed = replaced_by(known.history for known in facts.values())
    back: list[DeployedRevision] = []
    for run in reversed(session.cut_off):
        replaces = left.get(run.begin.run, ())
        found = [one for one in everything if one.stored.hash in replaces]
        here = [one for one in found if one.nodes.intersection(session.names)]
        meant = [one for one in here if one.stored.answers_to(options.deployment)]
        whole_run = options.deployment in (None, run.begin.deployment)
        meant = found if here and whole_run else meant
        if not meant or any(in_the_way(one, back) for one in found):
            continue
        session.require(member.name for one in meant for member in one.missing if member.name in session.away)
        if all(one.complete for one in meant) and (len(found) == len(replaces) or not whole_run):
            back += [one for one in meant if one not in back]
    return back or [one for one in whole if one.kept and one.stored.hash in failed]


def _named(session: Session, chosen: Sequence[DeployedRevision], to: frozenset[str]) -> list[DeployedRevision]:
    """The revisions with these hashes; they may run already."""
    known = [one for one in chosen if one.stored.hash.startswith(tuple(to))]
    if len(known) != len(to):
        fit, have = "no" if len(known) < len(to) else "more than one", ", ".join(one.title for one in chosen)
        wanted = " or ".join(sorted(to))
        raise UsageError(f"{fit} deployment has the hash {wanted}; these nodes have: {have or 'nothing'}", hint=SEE)
    if halves := [one for one in known if one.missing]:
        raise nothing_kept(session, "roll back to", halves)
    return known


def _stopped(session: Session, chosen: Sequence[DeployedRevision]) -> list[DeployedRevision]:
    """What served last of a deployment that is stopped, whole."""
    if found := startable([one for one in chosen if one.complete], ()):
        return found
    raise nothing_kept(session, "roll back to", chosen)


def _instead(everything: Sequence[DeployedRevision], previous: Sequence[DeployedRevision]) -> list[DeployedRevision]:
    """What runs in the way of these revisions."""
    others = [one for one in everything if one.runs and one not in previous]
    stopping = [other for one in previous if one.kept for other in in_the_way(one, others)]
    return list({one.title: one for one in stopping}.values())


def _previous(
    session: Session,
    everything: Sequence[DeployedRevision],
    left: Sequence[DeployedRevision],
    running: Sequence[DeployedRevision],
    before: frozenset[str],
    dry: str,
) -> list[DeployedRevision]:
    """Return the revisions to start: all that the running ones replaced, else what served last.

    Those `left` run only in part, where a deploy did not reach them. `before` are those that a rollback stopped for all
    of the running ones, `dry` ends the commands in an error.
    """
    where = {node for one in running for node, _ in one.parts} or {node.name for node in session.selected}
    serving = [one for one in everything if one.runs and one not in left]
    stopped = [one for one in everything if one not in serving and {node for node, _ in one.parts} & where]
    candidates = [one for one in stopped if one.complete]
    if not candidates:
        raise _kept_elsewhere(session, everything, running) or nothing_kept(session, "roll back to", stopped)
    away = [one for one in stopped if any(member.name in session.away for member in one.missing)]
    gone = before & {one.stored.hash for one in (*candidates, *away)}
    if len(running) > 1 and not gone:
        candidates = _replaced_all(session, candidates, running, dry)
    gone = gone or frozenset(digest for one in running for digest in one.replaced)
    if replaced := [one for one in candidates if one.stored.hash in gone]:
        together = fitting(replaced)  # earlier releases left labels that name more than the last deploy replaced
        return [one for one in replaced if one in together]
    lost = (one for one in everything if one.stored.hash in gone)
    session.require(member.name for one in lost for member in one.missing if member.name in session.away)
    if not running and (found := startable(candidates, serving)):
        return found
    return [max(candidates, key=lambda one: one.served_until)]


def _kept_elsewhere(
    session: Session, everything: Sequence[DeployedRevision], running: Sequence[DeployedRevision]
) -> Refused | None:
    """The error that names what is kept of the same deployment on other nodes than those where it runs."""
    names = {one.stored.deployment for one in running}
    kept = [one for one in everything if not one.runs and one.complete and one.stored.deployment in names]
    if not (found := startable(kept, ())):
        return None
    where = " and ".join(dict.fromkeys(node for node, _ in found[0].kept))
    text = f"nothing to roll back to where {running[0].title} runs; but {found[0].title} was stopped on {where}"
    others = in_the_way(found[0], [one for one in everything if one.runs])
    stopping = f"to stop {', '.join(one.title for one in others)} and " if others else ""
    return Refused(text, hint=f"{stopping}{go_back(session, found[0].stored)}")


def _replaced_all(
    session: Session, candidates: Sequence[DeployedRevision], running: Sequence[DeployedRevision], dry: str
) -> list[DeployedRevision]:
    """Several deployments are rolled back together only to one that they all replaced; else the name is needed."""
    hashes = {one.stored.hash for one in running}
    if found := [one for one in candidates if hashes <= one.replaced]:
        return found
    names = ", ".join(one.title for one in running)
    able = [one for one in running if any(one.nodes & other.nodes for other in candidates)]
    ways = " or ".join(f"`sparkops rollback {called(session, one.stored, running)}{dry}`" for one in able)
    raise Ambiguous(f"several deployments serve here: {names}", hint=f"name one of them: {ways}")


def _refuse_others(
    session: Session, previous: Sequence[DeployedRevision], stopping: Iterable[DeployedRevision]
) -> None:
    """Refuse to stop what is on no selected node."""
    if others := [one.title for one in stopping if not {node for node, _ in one.parts}.intersection(session.names)]:
        raise _too_much(session, previous[0], others)


def _refuse_clash(
    session: Session,
    everything: Sequence[DeployedRevision],
    running: Sequence[DeployedRevision],
    previous: Sequence[DeployedRevision],
) -> None:
    """Refuse to start a revision beside one that would keep running in its place."""
    others = [one for one in everything if one.runs and one not in (*running, *previous)]
    for one in previous:
        if one.kept and (clashing := in_the_way(one, others)):
            raise _too_much(session, one, [other.title for other in clashing])


def _too_much(session: Session, previous: DeployedRevision, others: Sequence[str]) -> UsageError:
    return UsageError(
        f"a rollback to {previous.title} must also stop deployments that are not selected: {', '.join(others)}",
        hint=f"to stop them too, {go_back(session, previous.stored)}",
    )
