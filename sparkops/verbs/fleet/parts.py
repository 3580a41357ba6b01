"""Each deployment of a fleet at its place: settings, ports and what the nodes have for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sparkops.core.facts import Facts
from sparkops.core.findings import Finding
from sparkops.core.fleet.ports import Listening, Place, ports_for
from sparkops.core.revision import GATEWAY
from sparkops.core.situation import Situation
from sparkops.phases.prepare import API_KEY, secret_of
from sparkops.phases.rounds import settled
from sparkops.session.open import Selected
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft, drafted, informed
from sparkops.verbs.deploy.image_flags import with_own_flags
from sparkops.verbs.deploy.observe import read_for, situated
from sparkops.verbs.fleet.drafts import FleetDraft, named
from sparkops.verbs.fleet.observe import Observed

MODELS = ("model", "models")
"""What is read once more for each deployment, as its recipe may name a commit."""


@dataclass(frozen=True)
class FleetPart:
    """One deployment of the fleet with all that its part of the plan is made from."""

    wanted: FleetDraft
    draft: Draft
    situation: Situation
    findings: tuple[Finding, ...] = ()

    @property
    def name(self) -> str:
        return self.wanted.wanted.name

    @property
    def changes(self) -> bool:
        return not settled(self.situation)

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset(member.name for member in self.situation.revision.members)


def parts_of(
    observed: Observed, session: Session, chosen: Selected, taken: Mapping[Place, str] | None = None
) -> list[FleetPart]:
    """The deployments in the order of the file. `taken` are the ports of the fleet's endpoint and pages."""
    copies = {one.wanted.name: _ordered(one.wanted.name, observed) for one in observed.drafts}
    held: dict[str, Iterable[Listening]] = {one.title: one.stored.places for one in observed.strangers}
    held[GATEWAY] = [(node, "proxy", port) for node, port in taken or ()]
    for name, before in observed.before.items():
        if name in copies:
            held[name] = [one for one in before.stored.places if one[0] in copies[name]]
    found: dict[str, FleetPart] = {}
    for one in sorted(observed.drafts, key=lambda it: not it.wanted.has_port):  # what has no choice comes first
        part = found[one.wanted.name] = _part(one, copies[one.wanted.name], held, observed, session, chosen)
        members = part.situation.revision.members
        held[part.name] = [(it.name, it.role, it.port) for it in members]
    return [found[one.wanted.name] for one in observed.drafts]


def _part(
    one: FleetDraft,
    nodes: Iterable[str],
    held: Mapping[str, Iterable[Listening]],
    observed: Observed,
    session: Session,
    chosen: Selected,
) -> FleetPart:
    name = one.wanted.name
    before = observed.before.get(name)
    ports = None if one.wanted.has_port else ports_for(name, held, before.stored.places if before else ())
    with named(one.wanted):
        there = Selected(chosen.inventory, tuple(session.nodes[node] for node in nodes), chosen.sudo_password)
        draft = drafted(one.options, there)
        facts = _facts(observed.facts, draft, session)
        draft = informed(with_own_flags(draft, one.options, session, facts), one.options, facts)
        situation = situated(one.options, session, draft, facts, ports)
        choices = replace(situation.choices, on_demand=one.wanted.on_demand)
        situation = replace(situation, choices=choices)
    if key := session.secrets.pop(API_KEY.name, None):
        session.secrets[secret_of(name).name] = key
    return FleetPart(one, draft, situation)


def _ordered(name: str, observed: Observed) -> list[str]:
    """The nodes of all copies; those that stay keep their order, so that nothing changes for them."""
    demand = next(one for one in observed.demands if one.name == name)
    keeps = {frozenset(group): at for at, group in enumerate(demand.keeps)}
    copies = sorted(observed.placement.copies[name], key=lambda copy: keeps.get(frozenset(copy), len(keeps)))
    return [node for copy in copies for node in copy]


def _facts(facts: Mapping[str, Facts], draft: Draft, session: Session) -> dict[str, Facts]:
    """The facts with what the nodes have of the models of this draft."""
    found = read_for(session, draft, MODELS)
    session.require(draft.nodes)
    return {
        node: replace(known, model=found[node].model, models=found[node].models) if node in found else known
        for node, known in facts.items()
    }
