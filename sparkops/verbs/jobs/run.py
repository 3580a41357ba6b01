"""`jobs`: list, read, await and end background jobs on the nodes."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sparkops.core.jobs import Job, listed
from sparkops.core.plan import Action, NodeLost, Phase, Plan, Step, Wait
from sparkops.core.schema import did_you_mean
from sparkops.core.target import NodesOptions
from sparkops.errors import Interrupted, SparkopsError, UsageError
from sparkops.node_commands import images as commands
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import execute
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.verbs.jobs.options import JobOptions


def jobs(options: NodesOptions, report: Report) -> Answer:
    with reached(options.where, report) as session:
        found = read(session)
        return session.answer({"jobs": [document(job) for job in found]})


def logs(options: JobOptions, report: Report) -> Answer:
    with reached(options.where, report) as session:
        chosen = _chosen(session, options.id)
        asked = {job.node: commands.job_log(job.id, options.tail) for job in chosen}
        answers = session.ask(asked)
        entries = [
            {"node": node, "container": options.id, "text": result.stdout}
            for node, result in answers.items()
            if not isinstance(result, NodeLost)
        ]
        return Answer({"logs": entries})


def wait(options: JobOptions, report: Report) -> Answer:
    """Wait until the job ended on all nodes; raises if it failed."""
    with reached(options.where, report) as session:
        chosen = _chosen(session, options.id)
        waiting = Wait(commands.job_probe(options.id), stall=options.deadline, deadline=options.deadline)
        _each("wait for", chosen, Action(wait=waiting), session)
        return _after(session, chosen)


def cancel(options: JobOptions, report: Report) -> Answer:
    with reached(options.where, report) as session:
        chosen = [job for job in _chosen(session, options.id) if job.state == "running"]
        if chosen:
            _each("end", chosen, Action(commands.cancel(options.id)), session)
        return Answer({**_after(session, chosen).document, "cancelled": [job.node for job in chosen]})


def read(session: Session) -> list[Job]:
    """Return every job of the selected nodes, newest first."""
    answers = session.answers(dict.fromkeys(session.names, commands.jobs()))
    found = [job for node, result in answers.items() for job in listed(node, result.stdout)]
    return sorted(found, key=lambda job: -job.started)


def document(job: Job) -> dict[str, Any]:
    started = datetime.fromtimestamp(job.started, UTC).isoformat(timespec="seconds")
    return {**asdict(job), "started": started}


def _chosen(session: Session, name: str) -> list[Job]:
    found = read(session)
    chosen = [job for job in found if job.id == name]
    if not chosen:
        if session.lost.error:
            raise session.lost.error
        close = did_you_mean(name, {job.id for job in found})
        raise UsageError(f"no job {name} on these nodes{close}", hint="list the jobs: `sparkops jobs`")
    return chosen


def _each(what: str, chosen: Sequence[Job], action: Action, session: Session) -> None:
    steps = tuple(Step(f"job.{job.node}", job.node, f"{what} {job.id}", action) for job in chosen)
    plan = with_sudo(Plan("jobs", None, (Phase(f"{what} the job", steps),), on_failure="go-on"), session.sudo)
    try:
        execute(plan, session)
    except Interrupted as error:
        raise Interrupted("the job continues", hint="see how it ends: `sparkops jobs`") from error
    except SparkopsError as error:
        error.hint = f"see its whole log: `sparkops jobs logs {chosen[0].id}`"
        raise


def _after(session: Session, chosen: Sequence[Job]) -> Answer:
    keys = {(job.node, job.id) for job in chosen}
    return Answer({"jobs": [document(job) for job in read(session) if (job.node, job.id) in keys]})
