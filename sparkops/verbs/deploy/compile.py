"""From a situation to the plan: the checks judge it, the phases compile it."""

from dataclasses import dataclass

from sparkops import checks
from sparkops.core.findings import Finding
from sparkops.core.plan import Plan
from sparkops.core.playbook.names import Names
from sparkops.core.playbook.uses import known
from sparkops.core.playbook.values import StepsPlay
from sparkops.core.revision import differences
from sparkops.core.revision_changes import in_words
from sparkops.core.situation import Situation, deployed
from sparkops.errors import Refused
from sparkops.files.playbooks import built_in
from sparkops.phases import compile_deploy
from sparkops.phases.orphans import compile_orphans
from sparkops.phases.prepare import api_key
from sparkops.phases.sudo import with_sudo
from sparkops.session.api_key import readers
from sparkops.session.find_deployment import ours_to_change
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft, refuse


@dataclass(frozen=True)
class OwnPlay:
    """An operator's play with phases of deploy, and the variables of `-e`."""

    play: StepsPlay
    extra: Names


@dataclass(frozen=True)
class Compiled:
    """A plan with all that it was made from. `changes` names keys of the revision, `differences` says them in words."""

    draft: Draft
    situation: Situation
    plan: Plan
    findings: tuple[Finding, ...]
    changes: tuple[str, ...]
    differences: tuple[str, ...]


def judge(situation: Situation, allow: frozenset[str]) -> tuple[Finding, ...]:
    """Return the findings of the checks; raises one `Refused` for all that refuse."""
    ours_to_change(stored for _, stored, _ in situation.replaced)
    found = checks.findings(situation, allow)
    local = (need for need in situation.needed if need.name.local)
    refuse(found, setup=all(need.usable(facts) for need in local for facts in situation.facts.values()))
    return found


def compile_plan(situation: Situation, draft: Draft, session: Session, own: OwnPlay | None = None) -> Plan:
    """Compile the end of what was out of reach before, then the phases of `deploy.yml` or of the operator's play."""
    names = known(own.play, own.extra, draft.placement.nodes, situation.facts) if own else None
    deploys = compile_deploy(situation, own.play if own else built_in("deploy"), names)
    keep_other_keys(situation)
    addresses = {node.name: node.address for node in session.inventory.nodes}
    wanted = {(member.name, situation.revision.container(member)) for member in situation.revision.members}
    orphans = compile_orphans(situation.facts, addresses, wanted)
    whole = Plan("deploy", deploys.revision, (*orphans, *deploys.phases), replaces=deploys.replaces)
    return with_sudo(whole, session.sudo)


def changes(situation: Situation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the differences from the running revision of this deployment, or what starts and is replaced.

    By the keys of the revision, and in words.
    """
    name = situation.revision.deployment
    old = next((stored for _, stored, _ in situation.replaced if stored.deployment == name), None)
    if old is not None:
        both = old.data, situation.revision.data
        return differences(*both), in_words(*both)
    gone = sorted({f"{stored.deployment} {stored.hash[:8]}" for _, stored, _ in situation.replaced})
    switches = tuple(f"replaces {title}; loading the new model takes minutes" for title in gone)
    told = switches or (f"starts {name} {situation.revision.hash[:8]}",)
    return told, told


def keep_other_keys(situation: Situation, ours: frozenset[str] = frozenset()) -> None:
    """Refuse to change the key file that another deployment on the node would read at its next start.

    `ours` are the hashes of deployments that get the same key.
    """
    written = [step.node for step in api_key(situation)]
    gone = {situation.revision.hash, *ours, *(stored.hash for _, stored, _ in situation.gone)}
    everything = [stored for _, stored, _ in deployed(situation.facts)]
    for other in readers(situation.facts, written):
        if other.stored.hash not in gone:
            raise Refused(
                f"{other.title} uses a different API key on {', '.join(sorted({n for n, _ in other.running}))}",
                hint=f"deployments on a node share one key; first set yours: SPARKOPS_API_KEY=... sparkops key rotate "
                f"--deployment {other.stored.named_among(everything)}",
            )
