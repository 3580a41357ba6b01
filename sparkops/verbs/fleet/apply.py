"""`diff` and `apply`: what differs between the nodes and a fleet's file, and one plan that makes it so."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from sparkops.core.fleet.fleet_file import WantedFleet
from sparkops.core.history import last_apply
from sparkops.core.impact import noted
from sparkops.core.notes import Load
from sparkops.core.schedule import Schedule
from sparkops.errors import Refused, SparkopsError, StepFailed, UsageError
from sparkops.files import deployments, fleets
from sparkops.phases.cache import WantedSchedule, compile_schedule
from sparkops.phases.fleet import Endpoint, arrivals
from sparkops.phases.gateway import texts
from sparkops.phases.prepare import secret_of
from sparkops.phases.switches import PRIVATE, PUBLIC
from sparkops.remote.ssh_keys import new_pair
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session import git
from sparkops.session.execute import attempt, execute, tried
from sparkops.session.measure import measure
from sparkops.session.open import connected, selected
from sparkops.session.session import Session
from sparkops.verbs.cache.schedule import CRON_HINT
from sparkops.verbs.deploy import provision
from sparkops.verbs.deploy.confirm import doubts
from sparkops.verbs.fleet.companions import get_image
from sparkops.verbs.fleet.decide import Decided, decide
from sparkops.verbs.fleet.document import changes
from sparkops.verbs.fleet.drafts import drafts_of
from sparkops.verbs.fleet.gateway import image_of
from sparkops.verbs.fleet.keys import secrets_of
from sparkops.verbs.fleet.options import FleetOptions
from sparkops.verbs.fleet.pages import new_keys
from sparkops.verbs.fleet.parts import FleetPart

SHORT = 8
"""Digits of a commit in messages."""


def diff(options: FleetOptions, report: Report) -> Answer:
    """Show what `apply` would change; only reads the nodes."""
    fleet = fleets.fleet(options.file)
    chosen = selected(options.where, report)
    drafts = drafts_of(fleet, options, chosen)
    with connected(chosen, report) as session:
        decided = decide(fleet, drafts, session, chosen, setup=True)
        session.warn_cut_off(session.cut_off)
        read = [node.name for node in session.there]
        _tell_of_endpoint(fleet, decided, session)
        document = {"file": fleet.source, "fleet": fleet.name, "nodes": read, **changes(decided, fleet)}
        differs = Refused(f"the nodes differ from {fleet.source}")
        return session.answer(document, differs if options.exit_code and document["changed"] else None)


def apply(options: FleetOptions, report: Report) -> Answer:
    """Make the nodes serve what the file says; on failure, what served before serves again."""
    fleet = fleets.fleet(options.file)
    commit = _commit(fleet, options)
    chosen = selected(options.where, report)
    drafts = drafts_of(fleet, options, chosen)
    with connected(chosen, report) as session:
        if options.if_changed and _is_applied(fleet, commit, session):
            return Answer({"file": fleet.source, "fleet": fleet.name, "commit": commit, "changed": False})
        _require_all(session)
        session.fleet_name, session.commit = fleet.name, commit
        got: list[str] = []
        if options.setup:
            first = decide(fleet, drafts, session, chosen, setup=True)
            got = [text for part in first.parts for text in provision.get(part.draft, session, options.access)]
            got += _get_images(first.endpoint, session)
        session.lock(session.names)
        decided = decide(fleet, drafts, session, chosen)
        while session.lock(step.node for step in decided.plan.whole.steps):
            decided = decide(fleet, drafts, session, chosen)
        _require_all(session)  # a node may have gone since, or its Docker does not answer
        plan = decided.plan.whole
        if plan.changes and options.expect not in (None, plan.id):
            text = f"the plan's id is {plan.id}, not {options.expect}"
            raise Refused(text, hint="read the new plan: `sparkops diff` with the same file")
        _tell_of_endpoint(fleet, decided, session)
        document = changes(decided, fleet)
        error = _carry_out(decided, session)
        warnings = [text for part in decided.parts for text in _doubts(part, session)]
        for warning in warnings:
            session.report.warn(warning)
        if fleet.caches and error is None:
            error = _schedule(fleet.caches, decided.caches, session)
        about = {"file": fleet.source, "fleet": fleet.name, "commit": commit or None}
        return Answer({**about, **document, "setup": got, "warnings": warnings}, error=error)


def _get_images(endpoint: Endpoint, session: Session) -> Iterator[str]:
    """Get the images of the endpoint and of its pages."""
    if one := endpoint.wanted:
        yield from get_image(one, image_of(session.nodes[one.member.name]), session)
    for page in endpoint.pages:
        yield from get_image(page, page.wanted.recipe.container, session)


def _schedule(schedule: Schedule, nodes: Sequence[str], session: Session) -> SparkopsError | None:
    """Set when these nodes drop their page cache; the deployments serve already, so a failure undoes nothing."""
    wanted = [WantedSchedule(node, schedule, session.nodes[node].cache_dir) for node in nodes]
    return attempt(compile_schedule(wanted), session, CRON_HINT) if wanted else None


def _commit(fleet: WantedFleet, options: FleetOptions) -> str:
    """The commit that the fleet's file is at; empty without one."""
    commit = git.commit_of(Path(fleet.source).absolute().parent)
    if options.if_changed and not commit:
        text = f"--if-changed: {fleet.source} is in no git repository, or files of that differ from its commit"
        raise UsageError(text, hint="commit all changes, or apply it without --if-changed")
    return commit


def _is_applied(fleet: WantedFleet, commit: str, session: Session) -> bool:
    """Whether the nodes tell that this commit was applied last; raises StepFailed if that failed."""
    facts = session.facts(only=("lock",))
    last = last_apply((known.history for known in facts.values()), fleet.name)
    if last is None or last.commit != commit:
        return False
    if last.exit_code:
        text = f"the apply of commit {commit[:SHORT]} failed at {last.at[:16]}: {last.outcome}"
        raise StepFailed(text, hint="mend it with another commit, or apply it again without --if-changed")
    session.report.note(f"commit {commit[:SHORT]} is applied already")
    return True


def _tell_of_endpoint(fleet: WantedFleet, decided: Decided, session: Session) -> None:
    """Warn of an endpoint whose node is not among those that are changed."""
    if (front := fleet.endpoint) and decided.endpoint.wanted is None:
        told = f"the endpoint on {front.node} stays as it is, with the routes that it has"
        session.report.warn(f"{told}; to bring it elsewhere, name another node ({front.where})")


def _require_all(session: Session) -> None:
    """Raise Unreachable for any selected node: what it serves is unknown, and may only seem to be gone."""
    if error := session.lost.error:
        others = [node.name for node in session.there]
        move = f"to serve all of it without that node: --limit {','.join(others)}"
        error.hint = "\n".join(filter(None, [error.hint, move if others else ""]))
        raise error


def _carry_out(decided: Decided, session: Session) -> SparkopsError | None:
    """Note what is about to happen, do it, and note what came of it; raises if all of it was undone.

    Returns the error of what was left to do when all that changes served.
    """
    changing = [part for part in decided.parts if part.changes]
    front = decided.endpoint.wanted
    routes = texts(front, arrivals([part.situation for part in decided.parts], decided.order)) if front else ()
    session.secrets |= secrets_of(
        decided.parts, decided.plan.whole, routes, session, front.missing_keys if front else ()
    )
    if front:
        session.secrets |= new_keys(front, decided.endpoint.pages)
    if front and front.switches and front.switches.public(front.facts) is None:
        public, session.secrets[PRIVATE.name] = new_pair()
        session.secrets[PUBLIC.name] = public.strip()
    session.report.hide(*session.secrets.values())
    for part in changing:
        for finding in part.findings:
            session.report.note(f"{part.name}: {finding.id}: {finding.message}", finding.node)
        session.about(part.name, replaces=part.situation.replaces)
        deployments.add(session.inventory.source, [one.name for one in part.situation.revision.members], part.name)
    for one in decided.ends:
        session.about(one.stored.deployment, replaces=[one.stored.hash])
    for name, replaced in decided.endpoint.changing.items():
        session.about(name, replaces=replaced)
    began = session.fleet.now()
    execute(decided.plan.change, session)
    seconds = session.fleet.now() - began if len(changing) == 1 else None  # else others loaded meanwhile
    names = (
        *(part.name for part in decided.parts),
        *(one.stored.deployment for one in decided.ends),
        *decided.endpoint.names,
    )
    session.settled = tuple(dict.fromkeys(names))
    beyond: dict[Load, int] = {}
    try:
        beyond = measure(session, {node for part in changing for node in part.nodes})
    finally:
        for part in changing:
            session.about(part.name, load=noted(part.situation, seconds, beyond))
    return tried(decided.plan.rest, session)[1]


def _doubts(part: FleetPart, session: Session) -> list[str]:
    if not part.changes:
        return []
    key = session.secrets.get(secret_of(part.name).name, "")
    return [f"{part.name}: {text}" for text in doubts(part.situation, session, key, part.draft.effective)]
