"""API keys: one for each node, read by containers when they start. The key on the front's node is the one in force.

The file is in the home of the user who deployed. Other users of Docker on the node can read the key from the
container; only the owner of the file can change it.
"""

import hashlib
import secrets as random_source
from collections.abc import Iterable, Mapping, Set

from sparkops.core.facts import Container, Facts
from sparkops.core.plan import NodeLost, Plan
from sparkops.core.revision import Revision
from sparkops.core.situation import Situation, key_path, reads_home_key
from sparkops.errors import Refused
from sparkops.node_commands import scripts
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.phases.prepare import API_KEY, old_key
from sparkops.session.find_deployment import front_of
from sparkops.session.session import Session


def new_key() -> str:
    return f"sk-{random_source.token_urlsafe(32)}"


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def read_key(session: Session, facts: Mapping[str, Facts], revision: DeployedRevision) -> str:
    """The API key of a deployment, from this user's file or from the front's container; raises Refused.

    Empty if it serves without a key.
    """
    if revision.stored.without_key:
        return ""
    member = front_of(revision)
    session.require([member.name])
    name = revision.stored.container(member)
    front = next((c for node, c in revision.parts if (node, c.name) == (member.name, name)), None)
    if front is None or _at_home(facts[member.name], front):
        return own_key(session, facts, member.name)
    if front.runs:
        return given_keys(session, {member.name: front})[member.name]
    hint = f"log in to the node as that user and read {front.key_file}"
    raise Refused(f"{name} on {member.name} uses another user's API key", node=member.name, hint=hint)


def own_key(session: Session, facts: Mapping[str, Facts], node: str) -> str:
    """The key in this user's home on that node; raises Refused if there is none."""
    if not facts[node].key_digest:
        raise Refused(f"there is no API key on {node}", node=node, hint="the next deploy creates one")
    return session.one(node, scripts.read_key(key_path(facts[node])), "read the API key").strip()


def given_keys(session: Session, containers: Mapping[str, Container]) -> dict[str, str]:
    """The keys of these containers by node, read on all nodes at once; raises Refused."""
    found: dict[str, str] = {}
    asked = {node: scripts.given_key(one.name) for node, one in containers.items()}
    for node, result in session.ask(asked).items():
        said = "" if isinstance(result, NodeLost) or not result.ok else result.stdout.strip()
        if not said:
            raise Refused(
                f"{containers[node].name} on {node} uses another user's API key, and sparkops cannot read it",
                node=node,
                hint="set `user:` in the inventory to the user who deployed it, or first stop it: `sparkops stop`",
            )
        found[node] = said
    session.report.hide(*found.values())
    return found


def elsewhere(facts: Mapping[str, Facts], revision: Revision) -> dict[str, Container]:
    """Map node → running container that holds the key in force, where this user's key file is not the one in use.

    The container belongs to this revision; if no container there reads this user's file, any of ours counts.
    """
    found: dict[str, Container] = {}
    for member in revision.members:
        running = [c for c in facts[member.name].containers if c.ours and c.runs and c.key_file]
        foreign = [c for c in running if not _at_home(facts[member.name], c)]
        mine = next((c for c in foreign if c.name == revision.container(member)), None)
        if member.port is not None and (mine or (foreign and len(foreign) == len(running))):
            found.setdefault(member.name, mine or foreign[0])
    return found


def keys_of(session: Session, situation: Situation, plan: Plan) -> dict[str, str]:
    """The secrets that the plan's steps name: the key to use, and those that it overwrites.

    The key is the one known by now, else the one on the front's node, else a new one.
    """
    if situation.revision.without_key:
        return {}
    primary = situation.revision.fronts[0].name
    key = session.secrets.get(API_KEY.name)
    if key is None:
        key = own_key(session, situation.facts, primary) if situation.facts[primary].key_digest else new_key()
    return {API_KEY.name: key, **old_keys(session, situation.facts, plan)}


def old_keys(session: Session, facts: Mapping[str, Facts], plan: Plan) -> dict[str, str]:
    """The keys that the plan overwrites, for its undo."""
    return {
        old_key(step.node).name: own_key(session, facts, step.node)
        for step in plan.steps
        if step.undo and step.undo.command and step.undo.command.stdin == old_key(step.node)
    }


def readers(
    facts: Mapping[str, Facts], nodes: Iterable[str], stopped: Set[str] = frozenset()
) -> list[DeployedRevision]:
    """Revisions that read this user's key file on one of the nodes: those that run, and of these hashes also others."""
    where = set(nodes)
    return [
        one
        for one in deployed_revisions(facts)
        if any(n in where and reads_home_key(facts[n], c) for n, c in one.parts if c.runs or one.stored.hash in stopped)
    ]


def _at_home(facts: Facts, container: Container) -> bool:
    return container.key_file in (None, key_path(facts)) and bool(facts.key_digest)
