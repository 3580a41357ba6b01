"""`diff` and `apply`: what differs between the nodes and a fleet's file, and one plan that makes it so."""

from collections.abc import Sequence

from sparkops.core.impact import load, loads
from sparkops.core.notes import Load
from sparkops.core.situation import Situation
from sparkops.core.turns import rounds
from sparkops.errors import Refused
from sparkops.files import deployments, fleets
from sparkops.phases.fleet import secret_of
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.api_key import front_key, new_key, old_keys
from sparkops.session.execute import execute
from sparkops.session.open import connected, selected
from sparkops.session.session import Session
from sparkops.verbs.deploy import provision
from sparkops.verbs.deploy.confirm import doubts
from sparkops.verbs.fleet.decide import Decided, FleetPart, decide
from sparkops.verbs.fleet.demands import draft_of
from sparkops.verbs.fleet.document import changes
from sparkops.verbs.fleet.options import FleetOptions


def diff(options: FleetOptions, report: Report) -> Answer:
    """Show what `apply` would change; only reads the nodes."""
    fleet = fleets.fleet(options.file)
    chosen = selected(options.where, report)
    drafts = [draft_of(one, options, chosen) for one in fleet.deployments]
    with connected(chosen, report) as session:
        decided = decide(fleet, drafts, session, chosen, setup=True)
        session.warn_cut_off(session.cut_off)
        document = {"file": fleet.source, "fleet": fleet.name, **changes(decided, fleet.name)}
        differs = Refused(f"the nodes differ from {fleet.source}", hint="make them so: `sparkops apply`")
        return session.answer(document, differs if options.exit_code and document["changed"] else None)


def apply(options: FleetOptions, report: Report) -> Answer:
    """Make the nodes serve what the file says; on failure, what served before serves again."""
    fleet = fleets.fleet(options.file)
    chosen = selected(options.where, report)
    drafts = [draft_of(one, options, chosen) for one in fleet.deployments]
    with connected(chosen, report) as session:
        _require_all(session)
        got: list[str] = []
        if options.setup:
            first = decide(fleet, drafts, session, chosen, setup=True)
            got = [text for part in first.parts for text in provision.get(part.draft, session, options.access)]
        session.lock(session.names)
        decided = decide(fleet, drafts, session, chosen)
        while session.lock(step.node for step in decided.plan.steps):
            decided = decide(fleet, drafts, session, chosen)
        if decided.plan.changes and options.expect not in (None, decided.plan.id):
            text = f"the plan's id is {decided.plan.id}, not {options.expect}"
            raise Refused(text, hint="read the new plan: `sparkops diff` with the same file")
        document = changes(decided, fleet.name)
        _carry_out(decided, session)
        warnings = [text for part in decided.parts for text in _doubts(part, session)]
        for warning in warnings:
            session.report.warn(warning)
        return Answer({"file": fleet.source, "fleet": fleet.name, **document, "setup": got, "warnings": warnings})


def _require_all(session: Session) -> None:
    """Raise Unreachable for any selected node: what it serves is unknown, and may only seem to be gone."""
    if error := session.lost.error:
        others = [node.name for node in session.there]
        move = f"to serve all of it without that node: --limit {','.join(others)}"
        error.hint = "\n".join(filter(None, [error.hint, move if others else ""]))
        raise error


def _carry_out(decided: Decided, session: Session) -> None:
    """Note what is about to happen, do it, and note what came of it."""
    changing = [part for part in decided.parts if part.changes]
    session.secrets |= _secrets(decided, changing, session)
    session.report.hide(*session.secrets.values())
    for part in changing:
        for finding in part.findings:
            session.report.note(f"{part.name}: {finding.id}: {finding.message}", finding.node)
        session.about(part.name, replaces=part.situation.replaces)
        deployments.add(session.inventory.source, [one.name for one in part.situation.revision.members], part.name)
    for one in decided.ends:
        session.about(one.stored.deployment)
    began = session.fleet.now()
    execute(decided.plan, session)
    seconds = session.fleet.now() - began
    for part in changing:
        session.about(part.name, load=_load(part.situation, seconds if len(changing) == 1 else None))
    names = (*(part.name for part in decided.parts), *(one.stored.deployment for one in decided.ends))
    session.settled = tuple(dict.fromkeys(names))


def _load(s: Situation, seconds: float | None) -> Load | None:
    """What the history keeps: how long a load took if nothing else was done meanwhile, else that it answered."""
    if s.loads_all and seconds is not None:
        return load(s.revision, seconds / rounds(s))
    known = {one.revision for facts in s.facts.values() for one in loads(facts)}
    return None if s.revision.hash in known else load(s.revision, None)


def _secrets(decided: Decided, changing: Sequence[FleetPart], session: Session) -> dict[str, str]:
    """The keys that the plan's steps name. Deployments that have none yet get the same new one."""
    fresh = new_key()
    found = old_keys(session, decided.observed.facts, decided.plan)
    for part in changing:
        name = secret_of(part.name).name
        if not part.situation.revision.without_key:
            found[name] = session.secrets.get(name) or front_key(session, part.situation) or fresh
    return found


def _doubts(part: FleetPart, session: Session) -> list[str]:
    if not part.changes:
        return []
    key = session.secrets.get(secret_of(part.name).name, "")
    return [f"{part.name}: {text}" for text in doubts(part.situation, session, key, part.draft.effective)]
