"""`key` and `key rotate`: the API key that clients must send."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain

from sparkops.core.facts import Facts
from sparkops.core.facts.reading import grouped
from sparkops.core.situation import Choices, reads_home_key
from sparkops.errors import Refused, Unreachable
from sparkops.files.playbooks import built_in
from sparkops.node_commands import scripts
from sparkops.phases.pages import key_path
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.phases.prepare import API_KEY
from sparkops.phases.restart import Turn, compile_restart, rotation_turns
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.api_key import digest, new_key, old_keys, read_key, readers
from sparkops.session.execute import execute
from sparkops.session.find_deployment import find_deployment, front_of, lock_for, ours_to_change, to_restart
from sparkops.session.find_gateway import companions_named
from sparkops.session.fleet_of import tell_of_routes
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.session.start_problem import start_problem
from sparkops.verbs.deploy.document import steps
from sparkops.verbs.deploy.start import outage
from sparkops.verbs.status.options import KeyOptions


def key(options: KeyOptions, report: Report) -> Answer:
    """Return the key that clients must send; with `rotate` first replace it."""
    with reached(options.where, report) as session:
        session.deployment = options.deployment or ""
        if options.rotate and not options.check:
            lock_for(session, options.deployment)
        return _key(options, session)


def _key(options: KeyOptions, session: Session) -> Answer:
    facts = session.containers() if options.rotate else session.what_runs()
    for page in companions_named(session, facts, options.deployment) if not options.rotate else ():
        if page.stored.is_page:
            return Answer({"key": _page_key(session, facts, page)})
    revision = find_deployment(session, facts, options.deployment, "--deployment ")
    if revision.stored.without_key:
        raise Refused(
            f"{revision.title} serves without an API key",
            hint="clients need none; to require one, deploy it again without --no-api-key",
        )
    if not options.rotate:
        return Answer({"key": read_key(session, facts, revision)})
    return _rotate(session, facts, revision, options)


def _page_key(session: Session, facts: Mapping[str, Facts], page: DeployedRevision) -> str:
    """The key of a page for people, which is the first password there."""
    name, node = page.stored.deployment, page.stored.members[0].name
    session.require([node])
    read = scripts.read_key(key_path(facts[node], name))
    return session.one(node, read, f"read the key of {name}").strip()


def _rotate(session: Session, facts: Mapping[str, Facts], revision: DeployedRevision, options: KeyOptions) -> Answer:
    """Write the new key to every file that has the old one, and restart the containers that read it at their start."""
    cut = to_restart(session, facts)
    targets, nodes = _together(facts, revision, cut)
    restarting = [one for one in targets if one.runs or one.stored.hash in cut]
    new = options.api_key or new_key()
    idle = _also_with(facts, front_of(revision).name, [name for name in session.names if name not in nodes])
    session.require(member.name for one in targets for member in one.stored.members)
    ours_to_change(one.stored for one in targets)
    for node, container in (part for one in targets for part in one.parts):
        if container.key_file and not reads_home_key(facts[node], container):
            raise Refused(
                f"{container.name} on {node} has its API key in {container.key_file}, which belongs to another user",
                node=node,
                hint="rotate it as that user, or deploy with another key: SPARKOPS_API_KEY=... sparkops deploy ...",
            )
    document = {"key": new, "deployment": revision.stored.deployment}
    changes = any(facts[node].key_digest != digest(new) for node in nodes if node in facts)
    unreachable = session.lost.reasons | _retired(session, facts)
    if not changes and not any(one.kept and one.stored.hash in cut for one in restarting):
        same = {"rotated": False, "restarted": [], "unreachable": unreachable}
        return Answer(document | same, error=_not_reached(session))
    for problem in (start_problem(session, facts, one, any_key=True) for one in restarting):
        if problem:
            raise problem
    turns = rotation_turns(restarting, nodes, [one for one in deployed_revisions(facts) if one.runs])
    first = [Turn((), tuple(idle))] if idle else []  # so that a second run after a cut-off one finds the others
    plans = compile_restart(built_in("key rotate"), facts, [*first, *turns], Choices())
    plan = replace(plans[0], phases=tuple(phase for one in plans for phase in one.phases))
    restarted = sorted({one.stored.deployment for one in restarting})
    if options.check:
        return Answer({"rotated": False, "restarted": restarted, "check": True, "steps": steps(plan)})
    if session.lock(chain(idle, (member.name for one in targets for member in one.stored.members))):
        return _key(options, session)
    for one in restarting or [revision]:
        session.about(one.stored.deployment, restarts=[one.stored.hash] if restarting else ())
    for text in _effects(restarting, turns):
        session.report.note(text)
    session.secrets |= {API_KEY.name: new, **old_keys(session, facts, plan)}
    session.report.hide(*session.secrets.values())
    execute(with_sudo(plan, session.sudo), session)
    session.settled = tuple(one.stored.deployment for one in targets)
    tell_of_routes(session, facts, restarting)
    done = {"rotated": changes, "restarted": restarted, "unreachable": unreachable}
    return Answer(document | done, error=_not_reached(session))


def _retired(session: Session, facts: Mapping[str, Facts]) -> dict[str, str]:
    """By address that no node of the inventory has, what may still run there; an earlier run noted it."""
    known = {node.address for node in session.inventory.nodes}
    notes = grouped((note.address, note.container) for there in facts.values() for note in there.orphans)
    found = {
        address: f"not in the inventory, and may still run {', '.join(dict.fromkeys(containers))} with the key of then"
        for address, containers in notes.items()
        if address not in known
    }
    for address, told in found.items():
        session.report.warn(f"{address}: {told}")
    return found


def _not_reached(session: Session) -> Unreachable | None:
    """The error for selected nodes that keep the old key."""
    error = session.lost.error
    if error:
        names = ", ".join(session.lost)
        told = f"the old key may still be on {names}, also for a deploy that begins there: see `sparkops status`"
        error.hint = "\n".join(filter(None, (error.hint, told)))
    return error


def _also_with(facts: Mapping[str, Facts], front: str, others: Iterable[str]) -> list[str]:
    """The nodes that keep the old key where nothing runs that reads it: a later deploy would bring it back."""
    old = facts[front].key_digest if front in facts else ""
    same = (name for name in others if old and name in facts and facts[name].key_digest == old)
    return [name for name in same if not readers(facts, [name])]


def _effects(restarting: Sequence[DeployedRevision], turns: Sequence[Turn]) -> Iterator[str]:
    """What will be restarted: engines and proxies read the key only at their start."""
    if not restarting:
        yield "nothing that runs uses this key: nothing is restarted"
    for one in restarting:
        several = sum(any(held == one for held, _ in turn.held) for turn in turns) > 1
        copies = "its servers one after the other, and once the proxy, which is away for seconds"
        yield f"restarts {one.title}: {copies if several else outage(1)}"


def _together(
    facts: Mapping[str, Facts], revision: DeployedRevision, cut: Set[str]
) -> tuple[list[DeployedRevision], list[str]]:
    """Return the revision and all that share a key file with it, directly or through another, and their nodes.

    `cut` are the hashes of what a run stopped that was cut off before it started it again.
    """
    found = [revision]
    while True:
        nodes = dict.fromkeys(m.name for one in found for m in one.stored.members if m.port is not None)
        known = {one.stored.hash for one in found}
        more = [one for one in readers(facts, nodes, cut) if one.stored.hash not in known]
        if not more:
            return found, list(nodes)
        found += more
