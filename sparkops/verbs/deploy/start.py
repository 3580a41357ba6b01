"""`start` and `restart`: start again what `stop` stopped, or what runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparkops.core.condition import REPLACE_SECONDS, serving_probe
from sparkops.core.facts import Facts
from sparkops.core.impact import usual_seconds
from sparkops.core.plan import Phase, Plan, Result
from sparkops.core.situation import Choices
from sparkops.errors import Refused
from sparkops.files.playbooks import built_in
from sparkops.node_commands import scripts
from sparkops.phases import parts
from sparkops.phases.beside import in_the_way, shares, startable
from sparkops.phases.kept import compile_rollback
from sparkops.phases.orphans import compile_orphans, left_over
from sparkops.phases.parts import DeployedRevision, all_revisions, deployed_revisions
from sparkops.phases.restart import compile_restart, restart_turns
from sparkops.phases.rounds import waves
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import execute
from sparkops.session.find_deployment import (
    again,
    called,
    current,
    find_deployment,
    go_back,
    lock_for,
    nothing_kept,
    on_selected,
    ours_to_change,
    require_for,
    to_restart,
)
from sparkops.session.find_gateway import companions_named
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.session.short_of_memory import short_of_memory
from sparkops.session.start_problem import start_problem, warn_of_unlike_keys
from sparkops.verbs.deploy.document import served, steps
from sparkops.verbs.deploy.options import StartOptions


def start(options: StartOptions, report: Report) -> Answer:
    """Start what `stop` stopped and verify that it serves; what runs already is only asked."""
    with reached(options.where, report) as session:
        return _start(options, session)


def _start(options: StartOptions, session: Session) -> Answer:
    facts = _read(session, options)
    require_for(session, all_revisions(facts), filter(None, [options.deployment]))
    targets = _to_start(session, facts, options.deployment)
    ours_to_change(one.stored for one in targets)
    targets = _able(session, facts, targets)
    plans = _in_turns(session, facts, targets, Choices(limits=options.limits))
    names = [one.title for one in targets if one.kept]
    document = {"changed": bool(names), **served(targets), "started": names}
    if options.check:
        return Answer({**document, "check": True, "steps": [row for plan in plans for row in steps(plan)]})
    if session.lock(step.node for plan in plans for step in plan.steps):
        return _start(options, session)
    session.about(targets[0].stored.deployment)
    for one in targets if names else ():
        session.report.note(starts(one))
        warn_of_unlike_keys(session, facts, one)
    session.report.expect(usual_seconds(facts, [one.stored for one in targets]) if names else None)
    for plan in plans:
        execute(with_sudo(plan, session.sudo), session)
    session.settled = tuple(one.stored.deployment for one in targets)
    return Answer(document)


def _in_turns(
    session: Session, facts: Mapping[str, Facts], targets: Sequence[DeployedRevision], choices: Choices
) -> list[Plan]:
    """A plan for each turn: an engine measures at its start how much memory is free, so a node starts one at a time.

    What serves stays if a later turn fails.
    """
    turns = waves(targets, lambda one: shares(one).keys() if one.kept else frozenset())
    first, *later = (compile_rollback(built_in("start"), facts, (), turn, choices) for turn in turns)
    return [replace(first, phases=(*forgotten(session, facts, targets), *first.phases)), *later]


def restart(options: StartOptions, report: Report) -> Answer:
    """Restart what runs and verify that it serves; servers behind a proxy one after the other."""
    with reached(options.where, report) as session:
        return _restart(options, session)


def _restart(options: StartOptions, session: Session) -> Answer:
    facts = _read(session, options)
    companions = companions_named(session, facts, options.deployment)
    one = max(companions, key=lambda it: it.runs) if companions else find_deployment(session, facts, options.deployment)
    name = one.stored.deployment
    everything = [other for other in deployed_revisions(facts) if other.runs and not left_over(facts, other)]
    others = in_the_way(one, everything)
    if not one.runs and one.stored.hash not in to_restart(session, facts):
        start = f"start it: `sparkops start {called(session, one.stored, current(facts, session.names))}`"
        raise Refused(f"{one.title} is stopped", hint=go_back(session, one.stored) if others else start)
    session.require(member.name for member in one.stored.members)
    ours_to_change([one.stored])
    if problem := start_problem(session, facts, one):
        raise problem
    if one.missing:
        raise Refused(
            f"{one.title} lacks a container on {one.missing[0].name}",
            hint=again(session, one.stored, deployed_revisions(facts)),
        )
    if one.kept and others:  # the half that was stopped would start where another one runs
        raise _beside(session, one, others, everything)
    session.report.note(f"asks its servers; what does not answer within {REPLACE_SECONDS:.0f} s restarts first")
    turns = restart_turns(one, _silent(session, facts, one))
    first, *later = compile_restart(built_in("restart"), facts, turns, Choices(limits=options.limits))
    plans = (replace(first, phases=(*forgotten(session, facts, [one]), *first.phases)), *later)
    restarted = [{"node": node, "container": part.name} for turn in turns for _, (node, part) in turn.held]
    document = {"changed": True, **served([one]), "restarted": restarted, "in_turns": len(turns) > 1}
    if options.check:
        return Answer({**document, "check": True, "steps": [row for plan in plans for row in steps(plan)]})
    if session.lock(step.node for plan in plans for step in plan.steps):
        return _restart(options, session)
    session.about(name, restarts=[one.stored.hash])
    session.report.note(f"restarts {one.title}: {'away for some seconds' if companions else outage(len(turns))}")
    for plan in plans:
        session.report.expect(usual_seconds(facts, [one.stored]))
        execute(with_sudo(plan, session.sudo), session)
    session.settled = (name,)
    return Answer(document)


def _silent(session: Session, facts: Mapping[str, Facts], one: DeployedRevision) -> frozenset[tuple[str, str]]:
    """Nodes and containers whose API does not answer; a proxy that listens may only wait for a server."""
    asked = [member for member in one.stored.members if member.port is not None and member.name in facts]
    questions = [(m.name, scripts.serving(parts.question(facts, one.stored, m), REPLACE_SECONDS)) for m in asked]
    (told,) = session.ask_in_turns(questions)
    heard = [(m, serving_probe(it.stdout if isinstance(it, Result) else "")) for m, it in zip(asked, told, strict=True)]
    silent = (m for m, it in heard if not it.serves and not (m.role == "proxy" and it.health == "200"))
    return frozenset((member.name, one.stored.container(member)) for member in silent)


def starts(one: DeployedRevision) -> str:
    """What will be started, and when it served last."""
    served_until = one.served_until.partition(".")[0].replace("T", " ")
    when = f", which served until {served_until} UTC" if served_until else ""
    return f"starts {one.title} as {one.stored.topology}{when}"


def outage(turns: int) -> str:
    """What clients notice of a restart in so many turns."""
    if turns > 1:
        return "its servers one after the other; the endpoint continues to answer"
    return "clients get no answer until the model is loaded again"


def _read(session: Session, options: StartOptions) -> Mapping[str, Facts]:
    session.deployment = options.deployment or ""
    if not options.check:
        lock_for(session, options.deployment)
    return session.containers()


def _to_start(session: Session, facts: Mapping[str, Facts], name: str | None) -> list[DeployedRevision]:
    """Return what was stopped last and can run now, else what runs already; raises Refused."""
    everything = all_revisions(facts)
    here = on_selected(session, everything, name)
    stopped = [one for one in here if one.kept and all(member.name in session.away for member in one.missing)]
    running = [one for one in everything if one.runs and not left_over(facts, one)]
    if found := startable(stopped, running):
        session.require(member.name for one in found for member in one.missing)
        return found
    already = [one for one in here if one.runs and one.complete and not one.kept]
    if tired := next((one for one in already if any(container.gave_up for _, container in one.running)), None):
        hint = f"when its cause is gone, start it again: `sparkops restart {called(session, tired.stored, running)}`"
        raise Refused(f"{tired.title} gave up after repeated failed starts", hint=hint)
    if already:
        return already
    if not stopped:
        raise nothing_kept(session, "start", here)
    newest = max(stopped, key=lambda one: one.served_until)
    raise _beside(session, newest, in_the_way(newest, running), running)


def _able(session: Session, facts: Mapping[str, Facts], targets: Sequence[DeployedRevision]) -> list[DeployedRevision]:
    """Those that can start as far as is known; raises Refused if that is none."""
    ending = [one for one in deployed_revisions(facts) if one.runs and left_over(facts, one)]
    problems = {
        one.title: problem
        for one in targets
        if one.kept and (problem := start_problem(session, facts, one) or short_of_memory(facts, one, ending))
    }
    if problems and len(problems) == len(targets):
        raise next(iter(problems.values()))
    for problem in problems.values():
        session.report.warn("; ".join(filter(None, (f"not started: {problem.message}", problem.hint))))
    return [one for one in targets if one.title not in problems]


def _beside(
    session: Session, one: DeployedRevision, others: Sequence[DeployedRevision], running: Sequence[DeployedRevision]
) -> Refused:
    """The error for a deployment that cannot run beside these."""
    names = ", ".join(dict.fromkeys(other.title for other in others))
    first = called(session, others[0].stored, [one, *running])
    return Refused(
        f"{one.title} cannot run beside {names}",
        hint=f"stop that first: `sparkops stop {first}`, or {go_back(session, one.stored)}",
    )


def forgotten(session: Session, facts: Mapping[str, Facts], targets: Sequence[DeployedRevision]) -> tuple[Phase, ...]:
    """End what an earlier run could not reach, but not what this one starts."""
    wanted = {(node, container.name) for one in targets for node, container in one.parts}
    return compile_orphans(facts, {node.name: node.address for node in session.inventory.nodes}, wanted)
