"""`cleanup`: show what sparkops left on the nodes and remove it after a confirmation."""

from collections.abc import Mapping

from sparkops.checks.docker import docker_hint, docker_problem
from sparkops.core import manifest
from sparkops.core.facts import Facts, Left, Sudo
from sparkops.core.notes import EVERYTHING
from sparkops.core.target import ConfirmOptions
from sparkops.errors import Refused, StepFailed
from sparkops.phases.cleanup import OWN_JOBS, anything, compile_cleanup, items, jobs, needs_root, ours
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import attempt
from sparkops.session.open import alone, connected, selected
from sparkops.session.session import Session

SUDO_HINT = "see what is left: `sparkops cleanup`; add --ask-become-pass to remove files that root owns"


def cleanup(options: ConfirmOptions, report: Report) -> Answer:
    """Remove what sparkops left; models, images and engine caches stay, because they take hours to get."""
    with connected(alone(selected(options.where, report)), report) as session:
        facts = session.facts()
        nodes = [{"name": name, "entries": _entries(known)} for name, known in facts.items()]
        asks = [name for name, known in facts.items() if needs_root(known) and not _may(session, known)]
        shown = {"nodes": nodes, "unreachable": session.away.reasons, "asks_for_sudo": asks}
        error = session.away.error
        in_use = _in_use(facts)
        if not any(anything(known) for known in facts.values()):
            return Answer({**shown, "removed": False}, error=error)
        if in_use and not options.yes:
            return Answer(
                {**shown, "removed": False, "in_use": {"reason": in_use.message, "next": in_use.hint}}, error=error
            )
        if in_use:
            raise in_use
        if not options.yes:
            session.report.show(shown)
            if not session.report.confirm("Remove all of it?"):
                return Answer({**shown, "removed": False, "shown": True}, error=error)
        session.lock(name for name, known in facts.items() if anything(known))
        now = {name: known for name, known in session.facts().items() if name in facts}
        if refusal := _in_use(now):
            raise refusal
        failed = attempt(with_sudo(compile_cleanup(now), session.sudo), session, SUDO_HINT)
        session.settled = (EVERYTHING,) if failed is None else ()
        left = {name: known for name, known in session.facts().items() if name in now and anything(known)}
        if failed is None and left:
            failed = StepFailed(
                f"{next(iter(left))}: not everything was removed", hint="see what is left: `sparkops cleanup`"
            )
        rows = [{**row, "left": _entries(left[row["name"]]) if row["name"] in left else []} for row in nodes]
        done = {**shown, "unreachable": session.away.reasons, "nodes": rows, "removed": True}
        return Answer(done, error=session.away.error or failed)


def _may(session: Session, facts: Facts) -> bool:
    return session.sudo_password or (isinstance(facts.sudo, Sudo) and facts.sudo.able)


def _in_use(facts: Mapping[str, Facts]) -> Refused | None:
    """Why nothing may be removed now: a deployment or a job runs, or that is unknown; they need what is listed."""
    for name, known in facts.items():
        running = [one.name for one in ours(known) if one.runs]
        if running:
            return Refused(f"container {running[0]} runs on {name}", node=name, hint="stop it first: `sparkops stop`")
        busy = [job.id for job in jobs(known) if not job.id.startswith(OWN_JOBS)]
        if busy:
            return Refused(
                f"the job {busy[0]} runs on {name}", node=name, hint=f"end it: `sparkops jobs cancel {busy[0]}`"
            )
        if (problem := docker_problem(known)) and known.key_digest:
            hint = f"{docker_hint(problem)}; or exclude the node with --limit"
            return Refused(f"{name}: cannot see what runs there: {problem}", node=name, hint=hint)
        wrote = manifest.version(known.state.manifest) if isinstance(known.state, Left) else None
        if wrote is not None and wrote > manifest.VERSION:
            hint = "clean up with the newer version"
            return Refused(f"a newer version of sparkops wrote files on {name}", node=name, hint=hint)
    return None


def _entries(facts: Facts) -> list[dict[str, str]]:
    return [{"kind": entry.kind, "what": entry.what, "title": entry.title} for entry in items(facts)]
