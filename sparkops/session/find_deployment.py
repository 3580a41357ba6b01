"""Find the deployment that a command names."""

import shlex
from collections.abc import Iterable, Mapping, Sequence

from sparkops.core.facts import Facts, Lock
from sparkops.core.history import unfinished_restarts
from sparkops.core.schema import meant
from sparkops.core.stored import SHORT_HASH, Stored, StoredMember
from sparkops.errors import Ambiguous, Refused, SparkopsError, Unreachable, UsageError
from sparkops.files import deployments
from sparkops.files.recipes import recipe_names
from sparkops.phases.beside import half_replaced
from sparkops.phases.orphans import left_over
from sparkops.phases.parts import DeployedRevision, all_revisions, deployed_revisions
from sparkops.session.away import OTHER_INVENTORY, AwayNodes
from sparkops.session.find_gateway import companions_named
from sparkops.session.session import Session

DIVIDES = (2, 4, 8, 16)
"""Numbers of nodes that divide the attention heads of most models."""


def refuse_newcomers(only: frozenset[str] | None, stopping: Iterable[Stored]) -> None:
    """Refuse to stop another revision than those with these hashes; None: any."""
    others = dict.fromkeys(f"{one.deployment} {one.hash[:8]}" for one in stopping if one.hash not in (only or ()))
    if only is not None and others:
        raise Refused(f"{', '.join(others)} began meanwhile, and would be stopped for it")


def current(facts: Mapping[str, Facts], nodes: Iterable[str]) -> list[DeployedRevision]:
    """Revisions on these nodes: all that run, and of each deployment what was stopped last.

    What was stopped earlier, or runs as another revision on one of its nodes, is left out; what runs only because an
    earlier run could not reach it hides only what was stopped before it.
    """
    wanted = set(nodes)
    here = [revision for revision in deployed_revisions(facts) if wanted & revision.nodes]
    found = [revision for revision in here if revision.runs]
    newer = [revision for revision in found if not left_over(facts, revision)]
    for revision in sorted(here, key=lambda one: one.served_until, reverse=True):
        if revision.runs:
            newer.append(revision)
        elif not (_removed(revision, facts) or any(_same_place(revision, one) for one in newer)):
            found.append(revision)
            newer.append(revision)
    return found


def _same_place(one: DeployedRevision, other: DeployedRevision) -> bool:
    """Whether both are of one deployment, on a common node."""
    nodes, others = ({member.name for member in revision.stored.members} for revision in (one, other))
    return one.stored.deployment == other.stored.deployment and bool(nodes & others)


def _removed(revision: DeployedRevision, facts: Mapping[str, Facts]) -> bool:
    """Whether later deploys removed a part of a stopped revision, so that nothing can start it again."""
    there = {(node, container.name) for node, container in revision.parts}
    return any(
        member.name in facts and (member.name, revision.stored.container(member)) not in there
        for member in revision.stored.members
    )


def name_or_hash(stored: Stored, here: Iterable[DeployedRevision]) -> str:
    """The name of a deployment for a command line; its hash, if another revision has this name on one of its nodes."""
    alike = [one.stored for one in here if one.stored.deployment == stored.deployment and one.stored != stored]
    nodes = {member.name for member in stored.members}
    shared = any(nodes & {member.name for member in other.members} for other in alike)
    return stored.named_among(alike if shared else ())


def called(session: Session, stored: Stored, here: Iterable[DeployedRevision]) -> str:
    """How a command line names this deployment: with its nodes, if others have or may have the same name."""
    alike = [one for one in here if one.stored.deployment == stored.deployment]
    nodes = ",".join(dict.fromkeys(one.name for one in stored.members if one.name in session.nodes))
    name = name_or_hash(stored, alike)
    whole = len(session.selected) == len(session.inventory.nodes)
    return name if whole and len(alike) < 2 else f"{name} --limit {shlex.quote(nodes)}"


def go_back(session: Session, stored: Stored) -> str:
    """How to serve this revision again: the command has its nodes, so that it locks no others."""
    limit = _limit(session, (member.name for member in stored.members))
    return f"go back: `sparkops {shlex.join(['rollback', '--to', stored.hash[:SHORT_HASH], *limit])}`"


def again(session: Session, stored: Stored, here: Iterable[DeployedRevision]) -> str:
    """How to deploy it again where it is, beside what runs there.

    Its labels have the name of the recipe. For one of a file, only the nodes' histories have the path.
    """
    if stored.is_companion:
        return "start it again: `sparkops apply`"
    if "/" not in stored.recipe and stored.recipe not in recipe_names():
        return "deploy it again, with the command that `sparkops history` shows"
    nodes = {member.name for member in stored.members}
    others = [one for one in here if one.stored.deployment != stored.deployment]
    beside = any(nodes & {node for node, _ in one.running} for one in others)
    options = [] if stored.deployment == stored.recipe else ["--name", stored.deployment]
    options += ["--no-api-key"] if stored.without_key else []
    options += ["--alongside"] if beside else []
    options += _limit(session, (member.name for member in stored.members))
    typed = shlex.join(["deploy", "--recipe", stored.recipe, "--topology", stored.topology, *options])
    return f"deploy it again: `sparkops {typed}`, with its other options (`sparkops history` shows them)"


def _first(session: Session) -> str:
    """The command that deploys on the selected nodes."""
    count = len(session.selected)
    several = "cluster" if count in DIVIDES else f"{count}x-solo"
    topology = several if count > 1 else "solo"
    limit = _limit(session, (node.name for node in session.selected))
    return f"`sparkops {shlex.join(['deploy', '--topology', topology, *limit])}`"


def _limit(session: Session, names: Iterable[str]) -> list[str]:
    """The option for these nodes, unless they are all."""
    wanted = list(dict.fromkeys(names))
    return ["--limit", ",".join(wanted)] if set(wanted) < set(session.nodes) else []


def front_of(revision: DeployedRevision) -> StoredMember:
    """The first member that clients talk to."""
    if not revision.stored.fronts:
        raise Refused(f"{revision.title}: its container labels name no endpoint", hint="see them: `docker inspect`")
    return revision.stored.fronts[0]


def _refuse_companion(session: Session, facts: Mapping[str, Facts], name: str) -> None:
    """Raise UsageError if this is the endpoint or a page of a fleet, and not a deployment."""
    for one in companions_named(session, facts, name):
        what = "the endpoint of a fleet, and has no model and no API key of its own"
        text = f"{name} is {what if one.stored.is_gateway else 'a page of a fleet, and has no model'}"
        again = f"to restart it: `sparkops restart {name}`"
        raise UsageError(text, hint=f"name a deployment (`sparkops status` lists them); {again}")


def ours_to_change(revisions: Iterable[Stored]) -> None:
    """Raise Refused if a newer sparkops started one of these: it is shown, never changed."""
    for stored in revisions:
        if stored.newer:
            raise Refused(
                f"a newer version of sparkops started {stored.deployment} {stored.hash[:8]}",
                hint="use that version of sparkops to change this deployment",
            )


def find_deployment(
    session: Session, facts: Mapping[str, Facts], name: str | None, option: str = ""
) -> DeployedRevision:
    """The named deployment, else the only one; raises Refused or UsageError. `option` is what stands before a name.

    What a restart stopped that was cut off counts as running. While a deploy replaces copies, the old revision counts.
    """
    found, stopped = current(facts, session.names), to_restart(session, facts)
    named = [revision for revision in found if revision.stored.answers_to(name)]
    chosen = [revision for revision in named if revision.runs or revision.stored.hash in stopped] or named
    chosen = [one for one in chosen if not any(half_replaced(other, one) for other in chosen)] or chosen
    if not chosen and name is not None:
        _refuse_companion(session, facts, name)
        raise unknown_deployment(session, found, name)
    if not chosen:
        if session.away.error:
            raise session.away.error
        raise Refused("nothing is deployed on these nodes", hint=f"start one: {_first(session)}")
    if len(chosen) > 1:
        names = ", ".join(revision.title for revision in chosen)
        ways = " or ".join(dict.fromkeys(f"{option}{called(session, one.stored, chosen)}" for one in chosen))
        raise Ambiguous(f"several deployments are on these nodes: {names}", hint=f"name one of them: {ways}")
    return chosen[0]


def to_restart(session: Session, facts: Mapping[str, Facts]) -> frozenset[str]:
    """The hashes of what a `restart` or `key rotate` that was cut off was to stop and start again."""
    return unfinished_restarts([known.history for known in facts.values()], session.cut_off)


def unknown_deployment(session: Session, here: Iterable[DeployedRevision], name: str) -> SparkopsError:
    """The error for a name that no deployment on these nodes has, as far as they could be asked."""
    known = list(here)
    hint = "`sparkops status` lists the deployments"
    if lost := session.lost.error:
        where = "the nodes that answer have no deployment"
        return Unreachable(f'{where} "{name}"; {lost.message}', node=lost.node, hint=lost.hint or hint)
    running = dict.fromkeys(one.stored.deployment for one in known if one.runs)
    told = f"running: {', '.join(running)}" if running else "nothing runs on these nodes"
    near = meant(name, {one.stored.deployment for one in known})
    return UsageError(f'no deployment "{name}"; {told}' + (f"; did you mean {near}?" if near else ""), hint=hint)


def lock_for(session: Session, name: str | None) -> None:
    """Lock the selected nodes, but refuse a name that no deployment has before that.

    While another run holds a lock, the name is not judged: that run may be starting this deployment.
    """
    if name is not None:
        away = AwayNodes(session.away)
        facts = session.what_runs()
        everything = all_revisions(facts)
        session.deployment = next((one.stored.deployment for one in everything if one.stored.answers_to(name)), name)
        if not any(isinstance(known.lock, Lock) and known.lock.held for known in facts.values()):
            on_selected(session, everything, name)
        session.away = away  # a node may be back when another run has ended
    session.lock(node.name for node in session.selected)


def on_selected(session: Session, everything: Sequence[DeployedRevision], name: str | None) -> list[DeployedRevision]:
    """The revisions with a container on the selected nodes, and with that name if one is given."""
    begun = {run.begin.deployment for run in session.cut_off}
    if name is not None and name not in begun and not any(one.stored.answers_to(name) for one in everything):
        raise unknown_deployment(session, everything, name)
    selected = {node.name for node in session.selected}
    return [one for one in everything if one.stored.answers_to(name) and {node for node, _ in one.parts} & selected]


def require_for(session: Session, everything: Sequence[DeployedRevision], names: Iterable[str]) -> None:
    """Raise Unreachable for a selected node that is away, unless it has no part in what these names or hashes mean.

    A node has a part if these revisions have a member there, or if this machine saw such a deployment there.
    """
    found = {name: [one for one in everything if one.stored.answers_to(name)] for name in names}
    meant = [one for ones in found.values() for one in ones] if all(found.values()) else []
    nodes = {member.name for one in meant for member in one.stored.members}
    for one in meant:
        nodes.update(deployments.where(session.inventory.source, one.stored.deployment))
    session.require(node.name for node in session.selected if not meant or node.name in nodes)


def elsewhere(session: Session, revisions: Iterable[DeployedRevision]) -> Unreachable | None:
    """The error for what may run on nodes that this inventory does not have."""
    for one in revisions:
        if member := one.stored.outside(session.inventory.nodes):
            told = f"{one.title} also has a part on {member.name} ({member.address})"
            return Unreachable(
                f"{told}, which is not in the inventory {session.inventory.source}",
                node=member.name,
                hint=OTHER_INVENTORY,
            )
    return None


def nothing_kept(session: Session, purpose: str, here: Iterable[DeployedRevision]) -> SparkopsError:
    """The error when no revision that was stopped on these nodes can be started again."""
    here = list(here)
    halves = [one for one in here if one.missing]
    if not halves:
        text = f"nothing to {purpose}: these nodes keep no stopped deployment"
        return Refused(text, hint=f"see what runs: `sparkops status`; start a model: {_first(session)}")
    half = max(halves, key=lambda one: one.served_until)
    session.require(member.name for member in half.missing)
    text = f"nothing to {purpose}: {half.title} is not whole, {half.missing[0].name} lacks its container"
    return Refused(text, hint=again(session, half.stored, here))


def in_use(names: Iterable[str], users: Iterable[Stored], others: Iterable[Stored]) -> Refused:
    """The error of a prune that leaves all that was named; without `users`, other containers use it.

    `others` are all deployments of the inventory.
    """
    known = list(others)
    called = sorted({(one.deployment, one.named_among(known)) for one in users})
    who = ", ".join(dict.fromkeys(name for name, _ in called)) or "a container that sparkops did not start"
    stops = ", ".join(f"`sparkops stop --remove {typed}`" for _, typed in called)
    hint = f"run {stops}, then this again" if stops else "find the container, on the node: `docker ps --all`"
    return Refused(f"nothing was removed: {', '.join(names)} is in use by {who}", hint=hint)
