"""`status`: the state of every deployment, why it does not serve, and what endangers it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sparkops.core.condition import EXIT_CODES, ServingProbe
from sparkops.core.endpoints import base_url
from sparkops.core.facts import HOW_IT_RUNS, Container, Facts, Left
from sparkops.core.findings import Finding
from sparkops.core.history import PastRun, stopped_before
from sparkops.core.notes import NodeHistory
from sparkops.core.stored import Stored
from sparkops.errors import StepFailed, Unreachable, worst
from sparkops.phases.parts import DeployedRevision
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.away import AwayNodes
from sparkops.session.find_deployment import again, called, current, go_back, name_or_hash, unknown_deployment
from sparkops.session.find_gateway import companions_on, on_demand, routed_by
from sparkops.session.open import opened, selected
from sparkops.session.session import Session
from sparkops.verbs.status import warnings
from sparkops.verbs.status.causes import (
    ENDS,
    NEXT,
    OTHER_VALUE,
    Commands,
    Logs,
    Reason,
    cause,
    displaced,
    in_its_place,
    keys,
    missed,
    now,
    outside,
    seconds,
    silence,
)
from sparkops.verbs.status.fleet import of_fleet
from sparkops.verbs.status.look import Answers, Looked, ask, look, read_causes
from sparkops.verbs.status.options import StatusOptions
from sparkops.verbs.status.ranks import ranks

FORMING = 180.0
"""Seconds after a start in which a node that has not joined is no cause yet."""

SKEW = 300.0
"""Seconds by which the clocks of a node and of the operator's machine may differ."""


def status(options: StatusOptions, report: Report) -> Answer:
    """Read the facts, then ask every API; return the state of each deployment."""
    chosen = selected(options.where, report, quiet=options.quiet)
    with opened(chosen, report) as session:
        facts = session.what_runs(*HOW_IT_RUNS)
        here = [*current(facts, session.names), *companions_on(facts, session.names)]
        shown = [one for one in here if one.stored.answers_to(options.deployment)]
        if options.deployment is not None and not shown:
            raise unknown_deployment(session, here, options.deployment)
        answers = ask(session, facts, here)
        everything = [look(session, facts, revision, answers) for revision in here]
        everything = [replace(one, replaced=one.replaced_by(everything)) for one in everything]
        looked = [one for one in everything if one.revision in shown]
        logs = read_causes(session, looked)
        silent = _silent(session, everything)
        found = list(_warnings(session, answers, looked, logs, silent, here))
        found += of_fleet(options, session, chosen, here) if options.deployment is None else ()
        unknown = AwayNodes({node: lost for node, lost in session.lost.items() if node not in silent})
        if options.deployment is not None:
            unknown = unknown.among(member.name for one in looked for member in one.stored.members)
        rows = [_deployment(session, one, here, answers.facts, logs) for one in looked]
        causes = [row["cause"] for row in rows]
        past = {name: known.history for name, known in facts.items()}
        reasons = list(_reasons(options, session, looked, causes, unknown, silent, found, past))
        for code, reason in reasons if options.strict or options.quiet else ():
            report.note(f"exit code {code}: {reason}")
        document = {
            "deployments": rows,
            "under_way": [one.document for one in session.under_way],
            "cut_off": [one.document for one in session.cut_off],
            "warnings": warnings.document(found),
            "unreachable": session.lost.reasons,
            "unknown": list(unknown),
            "reasons": [{"exit_code": code, "text": reason} for code, reason in reasons],
        } | ({"short": True} if options.short else {})
        code = worst(*(code for code, _ in reasons))
        return Answer({} if options.quiet else document, exit_code=code, error=_error(unknown))


def _error(unknown: AwayNodes) -> Unreachable | None:
    error = unknown.error
    if error is not None:
        error.hint = error.hint or NEXT["unreachable"]
    return error


def _reasons(
    options: StatusOptions,
    session: Session,
    looked: Sequence[Looked],
    causes: Sequence[str | None],
    unknown: AwayNodes,
    silent: AwayNodes,
    found: Sequence[Finding],
    past: Mapping[str, NodeHistory],
) -> Iterator[tuple[int, str]]:
    """Each reason for an exit code other than 0, with that code; `causes` are those of the deployments."""
    for one, why in zip(looked, causes, strict=True):
        if code := EXIT_CODES[one.state]:
            yield code, f"{one.stored.deployment} is {one.state}" + (f": {why}" if why else "")
        elif one.state == "stopped" and (cut := _stopped_by(one, session.cut_off, past)):
            yield StepFailed.exit_code, f"{one.stored.deployment} is stopped since run {cut.begin.run} was cut off"
    for node in unknown:
        yield Unreachable.exit_code, f"what {node} runs is unknown"
    if not options.strict:
        return
    for node in silent:
        yield Unreachable.exit_code, f"{node} cannot be reached"
    for warning in found:
        if warning.node not in silent:
            yield StepFailed.exit_code, f"warning {warning.id}" + (f" on {warning.node}" if warning.node else "")
    for run in session.cut_off:
        yield StepFailed.exit_code, f"run {run.begin.run} was cut off"
    if not unknown and not any(one.state == "serving" or EXIT_CODES[one.state] for one in looked):
        yield StepFailed.exit_code, "no deployment serves"


def _stopped_by(one: Looked, runs: Sequence[PastRun], past: Mapping[str, NodeHistory]) -> PastRun | None:
    """The last run that was cut off on a node of this deployment, unless this was stopped before."""
    nodes, ended = {member.name for member in one.stored.members}, seconds(one.revision.ended) + SKEW
    about = (run for run in reversed(runs) if run.left or run.begin.verb in ("stop", "rollback"))
    here = [past[name] for name in nodes if name in past]
    stored, there = one.stored, (run for run in about if nodes & {*run.nodes})
    found = (run for run in there if not stopped_before(here, stored.deployment, stored.hash, run))
    return next((run for run in found if seconds(run.begin.at) <= ended), None)


def _silent(session: Session, looked: Sequence[Looked]) -> AwayNodes:
    """The nodes that could not be reached although all that they are known to run serves."""
    states: dict[str, set[str]] = {}
    for one in looked:
        for member in one.stored.members:
            states.setdefault(member.name, set()).add(one.state)
    return session.lost.among(node for node, found in states.items() if {"serving"} <= found <= {"serving", "stopped"})


def _warnings(
    session: Session,
    answers: Answers,
    looked: Sequence[Looked],
    logs: Logs,
    silent: AwayNodes,
    here: Sequence[DeployedRevision],
) -> Iterator[Finding]:
    """Of the selected nodes, and of the deployments that are shown."""
    yield from warnings.of_silence(silent)
    for name in (name for name in session.names if name in answers.facts):
        yield from warnings.of_node(name, answers.facts[name], answers.drops.get(name, ""))
    for one in looked:
        if one.revision.runs:
            yield from warnings.of_schedule(one.stored, answers.facts)
            if one.state == "serving":
                yield from warnings.of_inventory(one.stored, session.inventory)
                yield from warnings.of_keys(one.revision, answers.facts, name_or_hash(one.stored, here))
            yield from warnings.of_restarts(one.revision, answers.facts, logs, name_or_hash(one.stored, here))


def _deployment(
    session: Session, one: Looked, here: Sequence[DeployedRevision], facts: Mapping[str, Facts], logs: Logs
) -> dict[str, Any]:
    stored, typed = one.stored, called(session, one.stored, here)
    commands = Commands(typed, again(session, stored, here), go_back(session, stored))
    known = None
    if one.state == "unreachable":
        known = silence(one.places, session.away) or outside(stored, session.inventory, typed)
    elif one.state not in ("serving", "stopped"):
        known = _why(one, here, facts, logs, commands)
    model = ", ".join(routed_by(stored, facts)) if stored.is_gateway else stored.served
    reason = next((asked.reason for asked in (*one.fronts, *one.engines) if not asked.serves and asked.reason), "")
    wakes = stored.deployment in on_demand(facts)
    sleeps = wakes and one.state == "stopped"
    return {
        "name": stored.deployment,
        "topology": stored.topology,
        "recipe": stored.recipe,
        "model": model,
        "hash": stored.hash,
        "api_key": not stored.without_key,
        "state": one.state,
        "reason": reason,
        "cause": known.text if known else None,
        "next": None if sleeps else _then(known.next, one, typed) if known else _next(session, one, here, typed),
        "on_demand": wakes,
        "newer": stored.newer,
        "endpoints": [
            {"url": base_url(stored, m), "model": model, "node": m.name, "healthy": asked.serves}
            for m, asked in zip(stored.fronts, one.fronts, strict=True)
        ],
        "nodes": [_node(one, at) for at in range(len(one.places))],
        "ray": _ray(stored, one.engines),
        "ranks": ranks(one, logs),
        "graphs_hung": [node for node, container in one.revision.parts if _graphs_hung(facts[node], container)],
    }


def _why(
    one: Looked, here: Sequence[DeployedRevision], facts: Mapping[str, Facts], logs: Logs, commands: Commands
) -> Reason | None:
    """Why a deployment that is up does not serve. Logs tell of one that is unwell; those of one that forms mislead."""
    stored = one.stored
    few = not _forms(one, facts) and any(asked.ray and asked.ray[0] < len(copy) for copy, asked in one.copies)
    unwell = one.state in ("failed", "degraded") or few or any(c and c.restarts for _, c in one.places)
    return (
        missed(stored, one.places, facts, name_or_hash(stored, here))
        or displaced(one.revision, here, commands, answers=any(front.serves for front in one.fronts))
        or keys(one.revision, facts, commands)
        or cause(stored, one.suspects, one.silent, facts, logs if unwell else {}, commands)
    )


def _next(session: Session, one: Looked, here: Sequence[DeployedRevision], typed: str) -> str | None:
    """What to do if no cause is known; a stopped deployment starts again, also if another one runs in its place."""
    if one.state != "stopped":
        return NEXT.get(one.state, "").format(typed) or None
    instead = in_its_place(one.revision, here)
    return f"{instead}; to {go_back(session, one.stored)}" if instead else f"start it again: `sparkops start {typed}`"


def _then(mend: str, one: Looked, typed: str) -> str:
    """A next step; an engine that gave up does not start again by itself when its cause is gone."""
    if ENDS.search(mend) or not any(part.gave_up for part in one.parts):
        return mend
    then = "then deploy it again with the new value, or as it is" if OTHER_VALUE.search(mend) else "then"
    return f"{mend}; {then}: `sparkops restart {typed}`"


def _forms(one: Looked, facts: Mapping[str, Facts]) -> bool:
    """Whether a container started so short ago that the others may still be on their way to it."""
    return any(
        container is not None and now(facts[member.name]) - seconds(container.started_at) < FORMING
        for member, container in one.places
        if member.name in facts
    )


def _graphs_hung(facts: Facts, container: Container) -> bool:
    """Whether an engine that was to run CUDA graphs across nodes runs without, as the node remembers it."""
    hung = facts.state.graphs_hung if isinstance(facts.state, Left) else ()
    return container.watches_graphs and container.image_id in hung


def _node(one: Looked, at: int) -> dict[str, Any]:
    (member, container), part = one.places[at], one.parts[at]
    return {
        "name": member.name,
        "address": member.address,
        "role": member.role,
        "reachable": part.reachable,
        "container": part.container,
        "state": part.shown,
        "restarts": (container.restarts or 0) if container else 0,
    }


def _ray(stored: Stored, engines: Sequence[ServingProbe]) -> dict[str, int | None] | None:
    """Return the numbers of Ray's nodes and GPUs over all copies; null if the Ray of one did not answer in time."""
    if stored.executor != "ray":
        return None
    counts = [asked.ray for asked in engines if asked.ray]
    known = bool(counts) and len(counts) == len(engines)
    nodes, gpus = (sum(one) for one in zip(*counts, strict=True)) if known else (None, None)
    return {"nodes": nodes, "gpus": gpus}
