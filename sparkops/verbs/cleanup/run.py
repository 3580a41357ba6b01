"""`cleanup`: what sparkops left on the nodes, shown and, once the person agrees, taken away."""

from collections.abc import Mapping
from typing import Any

from sparkops.checks.docker import docker_problem
from sparkops.core import manifest
from sparkops.core.facts import Facts, Left
from sparkops.errors import Refused, StepFailed
from sparkops.phases.cleanup import OWN_JOBS, anything, compile_cleanup, items, jobs, ours
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import attempt
from sparkops.session.open import alone, connected, selected
from sparkops.session.session import Session
from sparkops.verbs.cleanup.options import CleanupOptions

SUDO_HINT = "see what is left: `sparkops cleanup`; add --ask-become-pass to remove files of root"


def cleanup(options: CleanupOptions, report: Report) -> Answer:
    """Models, images and filled engine caches stay: they are the person's, and cost hours."""
    with connected(alone(selected(options.where, report)), report) as session:
        return _cleanup(options, session)


def _cleanup(options: CleanupOptions, session: Session) -> Answer:
    facts = session.facts()
    shown = _document(facts, session)
    _refuse(facts)
    error = session.away.error
    if not any(anything(known) for known in facts.values()):
        return Answer({**shown, "removed": False}, error=error)
    if not options.yes:
        session.report.show(shown)
        if not session.report.confirm("Remove all of it?"):
            return Answer({**shown, "removed": False, "shown": True}, error=error)
    session.lock(facts)
    now = {name: known for name, known in session.facts().items() if name in facts}
    _refuse(now)
    failed = attempt(with_sudo(compile_cleanup(now), session.sudo), session, SUDO_HINT)
    left = {name: known for name, known in session.facts().items() if name in now and anything(known)}
    if failed is None and left:
        failed = StepFailed(
            (f"{next(iter(left))}: something of sparkops is still there"), hint="`sparkops cleanup` shows it"
        )
    rows = [{**row, "left": _entries(left[row["name"]]) if row["name"] in left else []} for row in shown["nodes"]]
    return Answer({**shown, "nodes": rows, "removed": True}, error=session.away.error or failed)


def _refuse(facts: Mapping[str, Facts]) -> None:
    """What runs needs what would be removed: its key, its configuration, its folder."""
    for name, known in facts.items():
        running = [one.name for one in ours(known) if one.runs]
        if running:
            raise Refused(f"{running[0]} runs on {name}", node=name, hint="`sparkops stop` first")
        busy = [job.id for job in jobs(known) if not job.id.startswith(OWN_JOBS)]
        if busy:
            raise Refused(
                f"the job {busy[0]} runs on {name}", node=name, hint=f"`sparkops jobs cancel {busy[0]}` first"
            )
        if (problem := docker_problem(known)) and known.key_digest:
            raise Refused(
                (f"{name}: cannot tell what runs there: {problem}"), node=name, hint="exclude the node with --limit"
            )
        _refuse_newer(name, known)


def _refuse_newer(name: str, facts: Facts) -> None:
    found = manifest.version(facts.state.manifest) if isinstance(facts.state, Left) else None
    if found is not None and found > manifest.VERSION:
        raise Refused(f"a newer sparkops wrote the manifest on {name}", node=name, hint="use that version to clean up")


def _document(facts: Mapping[str, Facts], session: Session) -> dict[str, Any]:
    rows = [{"name": name, "entries": _entries(known)} for name, known in facts.items()]
    return {"nodes": rows, "unreachable": session.away.reasons}


def _entries(facts: Facts) -> list[dict[str, str]]:
    return [{"kind": entry.kind, "what": entry.what, "title": entry.title} for entry in items(facts)]
