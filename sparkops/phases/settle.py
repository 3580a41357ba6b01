"""After a deploy has been verified: what stays for a rollback, and what goes."""

from collections.abc import Iterator

from sparkops.core.facts.containers import ASIDE
from sparkops.core.plan import Step
from sparkops.core.situation import Situation
from sparkops.node_commands import scripts
from sparkops.phases.parts import DeployedRevision, NodeContainer, deployed_revisions
from sparkops.phases.steps import step


def settle(s: Situation) -> Iterator[Step]:
    """Keep what a rollback starts, whole; remove older ones, what never served, and what was put aside."""
    keep, ours = _kept(s), {s.revision.container(member) for member in s.revision.members}
    gone = {
        (node, container.name): one.stored.deployment
        for one in deployed_revisions(s.facts)
        for node, container in _superseded(s, one, keep)
    }
    aside = [member for member in s.revision.members if s.todo(member) == "replace"]
    gone |= {(one.name, s.revision.container(one) + ASIDE): s.revision.deployment for one in aside}
    for (node, name), deployment in gone.items():
        if name not in ours:
            remove = scripts.container("remove", name, deployment, s.state_dir(node))
            yield step(f"settle.{node}.{name}", node, f"remove {name}", remove)


def _kept(s: Situation) -> frozenset[str]:
    """On each node of this revision what served there last, else the newest that was stopped, if it is still whole."""
    others = [one for one in deployed_revisions(s.facts) if one.stored.hash != s.revision.hash]
    whole = [one for one in others if all(member.name not in s.facts for member in one.missing)]
    keep: set[str] = set()
    for node in {member.name for member in s.revision.members}:
        here = [one for one in whole if node in {name for name, _ in one.parts}]
        stopped = max((one for one in here if not one.runs), key=lambda one: one.served_until, default=None)
        keep |= {one.stored.hash for one in here} & {*s.replaces} or ({stopped.stored.hash} if stopped else set())
    return frozenset(keep)


def _superseded(s: Situation, one: DeployedRevision, keep: frozenset[str]) -> Iterator[NodeContainer]:
    """The containers of a revision that go; of one that is kept or runs beside this one, none that can run.

    What is replaced and was never whole goes, too.

    Other nodes than those that this deploy acts on anyway need not be there now.
    """
    ours = {member.name for member in s.revision.members} | {node for node, _, _ in s.replaced}
    half = bool(one.missing) and any(stored.hash == one.stored.hash for _, stored, _ in s.replaced)
    runs = one.runs and one.stored.hash not in s.unproven and not half
    stays = runs or one.stored.hash in {s.revision.hash, *keep, *s.choices.keep}
    for node, container in one.parts if not one.stored.newer else ():
        if node in ours and not (stays and (container.runs or container.kept)):
            yield node, container
