"""`logs`: the last lines of every container, or those of the previous revision."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sparkops.core.facts import Facts
from sparkops.core.plan import Command, Result
from sparkops.core.situation import state_dir
from sparkops.node_commands import scripts
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.find_deployment import current, find_deployment, unknown_deployment
from sparkops.session.find_gateway import companions_named
from sparkops.session.open import opened, selected
from sparkops.session.session import Session
from sparkops.verbs.status.causes import seconds
from sparkops.verbs.status.follow import follow
from sparkops.verbs.status.options import LogsOptions

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\S* ")


def logs(options: LogsOptions, report: Report) -> Answer:
    """Return the last lines of every container; with `--previous` of the previous revision, even if it was removed."""
    with opened(selected(options.where, report), report) as session:
        facts = session.what_runs()
        if options.previous:
            wanted = session.names
            entries = _previous_logs(options, session, facts)
            known = deployed_revisions(facts)
            if options.deployment is not None and not entries and not _has(known, options.deployment):
                raise unknown_deployment(session, known, options.deployment)
        else:
            running = [one for one in current(facts, session.names) if one.runs]
            one_of = options.deployment is not None or options.follow or len(running) < 2
            fronts = companions_named(session, facts, options.deployment)
            shown = fronts or ([find_deployment(session, facts, options.deployment)] if one_of else running)
            if options.follow:
                return follow(session, shown[0], options.tail)
            wanted = tuple(name for name in session.names if any(name in one.nodes for one in shown))
            parts = [part for one in shown for part in one.parts if part[0] in wanted]
            entries = read_logs(session, [(n, c.name, scripts.logs(c.name, options.tail)) for n, c in parts])
        return Answer({"logs": entries}, error=session.away.among(wanted).error)


def _has(known: Sequence[DeployedRevision], name: str) -> bool:
    return any(one.stored.answers_to(name) for one in known)


def read_logs(session: Session, wanted: Sequence[tuple[str, str, Command]]) -> list[dict[str, Any]]:
    """Return the logs of (node, container, command) from the nodes that answer."""
    (answers,) = session.ask_in_turns([(node, command) for node, _, command in wanted])
    return [
        {"node": node, "container": container, "text": _in_order(result)}
        for (node, container, _), result in zip(wanted, answers, strict=True)
        if isinstance(result, Result)
    ]


def _in_order(result: Result) -> str:
    """Merge both streams of a container by Docker's timestamps; returns the lines without these."""
    lines = [line for stream in (result.stdout, result.stderr) for line in stream.split("\n") if line]
    timed = sorted(lines, key=lambda line: found[0] if (found := _TIME.match(line)) else "")
    return "".join(f"{_TIME.sub('', line, count=1)}\n" for line in timed).replace("\r", "\n")


def _previous_logs(options: LogsOptions, session: Session, facts: Mapping[str, Facts]) -> list[dict[str, Any]]:
    """Return the logs of what ended last: of removed containers, whose logs were kept as files, or of stopped ones."""
    known = deployed_revisions(facts)
    stopped = [one for one in known if not one.runs and one.stored.answers_to(options.deployment)]
    newest = max(stopped, key=lambda one: one.ended, default=None)
    if removed := _kept_logs(options, session, facts, after=seconds(newest.ended) if newest else 0.0):
        return removed
    parts = newest.parts if newest else ()
    return read_logs(session, [(n, c.name, scripts.logs(c.name, options.tail)) for n, c in parts])


def _kept_logs(
    options: LogsOptions, session: Session, facts: Mapping[str, Facts], after: float
) -> list[dict[str, Any]]:
    """The newest kept log of each node, if its container ended later than that (seconds since 1970)."""
    wanted = [
        (n, "the last one removed", scripts.newest_kept_log(state_dir(known), options.deployment, options.tail))
        for n, known in facts.items()
    ]
    entries = read_logs(session, wanted)
    told = [(entry, *entry["text"].partition("\n")[::2]) for entry in entries]
    return [{**entry, "text": text} for entry, ended, text in told if ended.isdecimal() and int(ended) >= after]
