"""From a fleet's file and the nodes to one plan for all of its deployments."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkops.checks.check import Here
from sparkops.checks.ports import wanted_ports
from sparkops.core.facts import Container, Facts
from sparkops.core.findings import Finding
from sparkops.core.fleet.demand import Demand
from sparkops.core.fleet.fleet_file import WantedFleet
from sparkops.core.fleet.ports import Place, places, ports_for
from sparkops.core.plan import Plan
from sparkops.core.situation import Situation
from sparkops.core.stored import Stored
from sparkops.errors import Refused
from sparkops.phases.fleet import compile_fleet, secret_of
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.prepare import API_KEY
from sparkops.phases.rounds import serves
from sparkops.phases.sudo import with_sudo
from sparkops.session.find_deployment import ours_to_change
from sparkops.session.open import Selected
from sparkops.session.session import Session
from sparkops.verbs.deploy.compile import judge, keep_other_keys
from sparkops.verbs.deploy.draft import GOT_BY_SETUP, Draft, drafted, informed
from sparkops.verbs.deploy.image_flags import with_own_flags
from sparkops.verbs.deploy.observe import read_for, situated
from sparkops.verbs.fleet.demands import FleetDraft, named
from sparkops.verbs.fleet.observe import Observed, observe_fleet, started_by
from sparkops.verbs.fleet.places import no_place

MODELS = ("model", "models")
"""What is read once more for each deployment, as its recipe may name a commit."""


@dataclass(frozen=True)
class FleetPart:
    """One deployment of the fleet with all that its part of the plan was made from."""

    wanted: FleetDraft
    draft: Draft
    situation: Situation
    findings: tuple[Finding, ...] = ()

    @property
    def name(self) -> str:
        return self.wanted.wanted.name

    @property
    def changes(self) -> bool:
        return not serves(self.situation)


@dataclass(frozen=True)
class Decided:
    """The plan of a fleet. `ends` is what it stops for good, `strays` is what serves beside the fleet."""

    observed: Observed
    parts: tuple[FleetPart, ...]
    ends: tuple[DeployedRevision, ...]
    strays: tuple[DeployedRevision, ...]
    plan: Plan


def decide(
    fleet: WantedFleet, drafts: Sequence[FleetDraft], session: Session, chosen: Selected, *, setup: bool = False
) -> Decided:
    """Observe, place, judge and compile. Raises Refused if a deployment has no place or a rule or check refuses it.

    With `setup`, images and models may be missing.
    """
    observed = observe_fleet(drafts, session, fleet.name)
    if error := no_place(observed):
        raise error
    parts = _parts(observed, fleet, session, chosen)
    ends, strays = _others(observed, parts, fleet.name)
    ours_to_change(one.stored for one in ends)
    gone = [(node, one.stored, container) for one in ends for node, container in one.running]
    gone += [item for part in parts for item in part.situation.replaced]
    keep = frozenset(stored.hash for _, stored, _ in gone) | _kept(observed, parts)
    parts = [_beside(part, gone, fleet.name, keep) for part in parts]
    parts = [replace(one, findings=found) for one, found in zip(parts, _judged(parts, setup=setup), strict=True)]
    addresses = {node.name: node.address for node in session.inventory.nodes}
    plan = compile_fleet([one.situation for one in parts], ends, observed.facts, addresses)
    return Decided(observed, tuple(parts), tuple(ends), tuple(strays), with_sudo(plan, session.sudo))


def _parts(observed: Observed, fleet: WantedFleet, session: Session, chosen: Selected) -> list[FleetPart]:
    """The situation of each deployment at its place, in the order of the file."""
    copies = {one.wanted.name: _ordered(one.wanted.name, observed) for one in observed.drafts}
    held: dict[str, Iterable[Place]] = {
        one.title: places(one.stored, one.nodes)
        for one in observed.running
        if one.stored.deployment not in copies and not started_by(one, fleet.name)
    }
    held |= {name: places(one.stored, copies[name]) for name, one in observed.before.items() if name in copies}
    found: dict[str, FleetPart] = {}
    for one in sorted(observed.drafts, key=lambda it: not it.wanted.has_port):  # what has no choice comes first
        name, before = one.wanted.name, observed.before.get(one.wanted.name)
        ports = None if one.wanted.has_port else ports_for(name, held, before.stored if before else None)
        with named(one.wanted):
            nodes = tuple(session.nodes[node] for node in copies[name])
            draft = drafted(one.options, Selected(chosen.inventory, nodes, chosen.sudo_password))
            facts = _facts(observed.facts, draft, session)
            draft = informed(with_own_flags(draft, one.options, session, facts), one.options, facts)
            situation = situated(one.options, session, draft, facts, ports)
        if key := session.secrets.pop(API_KEY.name, None):
            session.secrets[secret_of(name).name] = key
        held[name] = [(it.name, it.port) for it in situation.revision.members if it.port is not None]
        found[name] = FleetPart(one, draft, situation)
    return [found[one.wanted.name] for one in observed.drafts]


def _ordered(name: str, observed: Observed) -> list[str]:
    """The nodes of all copies; those that stay keep their order, so that nothing changes for them."""
    keeps = {frozenset(group): at for at, group in enumerate(_demand(name, observed).keeps)}
    copies = sorted(observed.placement.copies[name], key=lambda copy: keeps.get(frozenset(copy), len(keeps)))
    return [node for copy in copies for node in copy]


def _demand(name: str, observed: Observed) -> Demand:
    return next(one for one in observed.demands if one.name == name)


def _facts(facts: Mapping[str, Facts], draft: Draft, session: Session) -> dict[str, Facts]:
    """The facts with what the nodes have of the models of this draft."""
    found = read_for(session, draft, MODELS)
    session.require(draft.nodes)
    return {
        node: replace(known, model=found[node].model, models=found[node].models) if node in found else known
        for node, known in facts.items()
    }


def _others(
    observed: Observed, parts: Sequence[FleetPart], fleet: str
) -> tuple[list[DeployedRevision], list[DeployedRevision]]:
    """What else serves: that of the fleet which it no longer has or has elsewhere, and all that is not its own."""
    names = {part.name for part in parts}
    known = {(part.name, part.situation.revision.hash) for part in parts}
    known |= {(stored.deployment, stored.hash) for part in parts for _, stored, _ in part.situation.replaced}
    others = [one for one in observed.running if (one.stored.deployment, one.stored.hash) not in known]
    ends = [one for one in others if one.stored.deployment in names or started_by(one, fleet)]
    return ends, [one for one in others if one not in ends]


def _kept(observed: Observed, parts: Sequence[FleetPart]) -> frozenset[str]:
    """The hashes that no part of the plan may remove: of the fleet, and of what a rollback of what serves starts."""
    back = (digest for one in observed.running for digest in one.replaced)
    return frozenset(part.situation.revision.hash for part in parts) | frozenset(back)


def _beside(
    part: FleetPart, gone: Sequence[tuple[str, Stored, Container]], fleet: str, keep: frozenset[str]
) -> FleetPart:
    """The part with what other parts of the plan stop on its nodes."""
    s = part.situation
    own = {stored.hash for _, stored, _ in s.replaced}
    nodes = {member.name for member in s.revision.members}
    leaving = tuple(item for item in gone if item[0] in nodes and item[1].hash not in own)
    choices = replace(s.choices, fleet=fleet, keep=keep)
    return replace(part, situation=replace(s, leaving=leaving, choices=choices))


def _judged(parts: Sequence[FleetPart], *, setup: bool) -> list[tuple[Finding, ...]]:
    """The findings of rules and checks for each part; raises one Refused for all that is refused."""
    found, refused = [], []
    for part in parts:
        allow = part.wanted.options.allow | (GOT_BY_SETUP if setup else frozenset())
        try:
            with named(part.wanted.wanted):
                found.append((*part.draft.findings, *judge(part.situation, allow)))
                keep_other_keys(part.situation)
        except Refused as error:
            refused.append(error)
    refused += [*_same_ports(parts)]
    if refused:
        hints = dict.fromkeys(line for one in refused for line in (one.hint or "").splitlines())
        raise Refused("\n".join(one.message for one in refused), hint="\n".join(hints) or None)
    return found


def _same_ports(parts: Sequence[FleetPart]) -> Iterator[Refused]:
    """What two deployments need on one node, such as the port of Ray, if both have their head there."""
    owners: dict[tuple[str, int], str] = {}
    for part in parts:
        s = part.situation
        for node in dict.fromkeys(place.node for place in s.placement.places):
            for port, use in wanted_ports(Here(s, node, s.facts[node.name])).items():
                other = owners.setdefault((node.name, port), part.name)
                if other != part.name:
                    where, text = part.wanted.wanted.where, f"port {port} of {node.name} ({use}), which {other} has"
                    yield Refused(f"{where}: {part.name}: needs {text}", hint="give one of them other nodes or a port")
