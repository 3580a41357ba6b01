"""From a fleet's file and the nodes to one plan for all of its deployments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparkops.core.facts import Container
from sparkops.core.fleet.fleet_file import WantedFleet
from sparkops.core.proxy_image import called
from sparkops.core.stored import Stored
from sparkops.phases.fleet import Endpoint, FleetPlan, compile_fleet
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.rounds import Rounds, in_rounds
from sparkops.phases.sudo import with_sudo
from sparkops.session.find_deployment import ours_to_change
from sparkops.session.open import Selected
from sparkops.session.session import Session
from sparkops.verbs.cache.schedule import is_set
from sparkops.verbs.fleet.drafts import FleetDraft
from sparkops.verbs.fleet.gateway import endpoint_of, image_of, node_of, taken_ports
from sparkops.verbs.fleet.gateway_problems import refuse
from sparkops.verbs.fleet.judge import judged
from sparkops.verbs.fleet.keys import with_common_keys
from sparkops.verbs.fleet.observe import Observed, observe_fleet, started_by
from sparkops.verbs.fleet.parts import FleetPart, parts_of
from sparkops.verbs.fleet.places import no_place


@dataclass(frozen=True)
class Decided:
    """The plan of a fleet. `ends` is what it stops for good, `strays` is what serves beside the fleet.

    `endpoint` is the one address of all. `caches` are the nodes whose page-cache schedule is not that of the file.
    """

    observed: Observed
    parts: tuple[FleetPart, ...]
    ends: tuple[DeployedRevision, ...]
    strays: tuple[DeployedRevision, ...]
    order: Rounds
    endpoint: Endpoint
    plan: FleetPlan
    caches: tuple[str, ...]


def decide(
    fleet: WantedFleet, drafts: Sequence[FleetDraft], session: Session, chosen: Selected, *, setup: bool = False
) -> Decided:
    """Observe, place, judge and compile. Raises Refused if a deployment has no place or a rule or check refuses it.

    With `setup`, images and models may be missing.
    """
    front = node_of(fleet.endpoint, session) if fleet.endpoint else None
    own = [image_of(front), *(one.recipe.container for one in fleet.pages)] if front else []
    images = list(map(called, own))
    observed = observe_fleet(drafts, session, fleet.name, images=images)
    if error := no_place(observed):
        raise session.lost.error or error  # a node that is away explains it
    taken = taken_ports(fleet, front)
    parts = parts_of(observed, session, chosen, taken)
    parts = with_common_keys(parts, observed.keys, session, one_address=front is not None)
    ends, strays = _others(observed, parts, fleet.name)
    ours_to_change(one.stored for one in ends)
    parts = judged(_together(parts, ends, observed, fleet.name), taken, setup=setup)
    endpoint = endpoint_of(fleet, front, observed, parts, session)
    refuse(fleet, endpoint, parts, setup=setup)
    situations = [one.situation for one in parts]
    order = in_rounds(situations, ends)
    addresses = {node.name: node.address for node in session.inventory.nodes}
    plan = compile_fleet(situations, order, observed.facts, addresses, endpoint)
    plan = FleetPlan(with_sudo(plan.change, session.sudo), with_sudo(plan.rest, session.sudo))
    there = {node: observed.facts[node] for node in session.names if node in observed.facts}
    caches = tuple(node for node, known in there.items() if fleet.caches and not is_set(known, fleet.caches))
    return Decided(observed, tuple(parts), tuple(ends), tuple(strays), order, endpoint, plan, caches)


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


def _together(
    parts: Sequence[FleetPart], ends: Sequence[DeployedRevision], observed: Observed, fleet: str
) -> list[FleetPart]:
    """The parts with what the plan stops on their nodes, and with all that no step of it may remove."""
    ending = [(node, one.stored, container) for one in ends for node, container in one.running]
    turns = {part.situation.revision.hash for part in parts if part.wanted.wanted.on_demand and not part.changes}
    awake = [one for one in observed.running if one.stored.hash in turns]
    sleeping = [(node, one.stored, container) for one in awake for node, container in one.running]
    replaced = [item for part in parts for item in part.situation.replaced]
    unproven = frozenset(digest for part in parts for digest in part.situation.unproven)
    keep = {stored.hash for _, stored, _ in (*ending, *replaced)} - unproven
    keep |= {digest for one in observed.running for digest in one.replaced}
    keep |= {part.situation.revision.hash for part in parts}
    names = {part.name for part in parts}
    dropped = {stored.hash for _, stored, _ in ending if stored.deployment not in names}
    gone = (*ending, *replaced, *sleeping)
    return [_beside(part, gone, dropped, frozenset(keep), fleet) for part in parts]


def _beside(
    part: FleetPart,
    gone: Sequence[tuple[str, Stored, Container]],
    dropped: set[str],
    keep: frozenset[str],
    fleet: str,
) -> FleetPart:
    s = part.situation
    own = {s.revision.hash, *(stored.hash for _, stored, _ in s.replaced)}
    leaving = tuple(item for item in gone if item[0] in part.nodes and item[1].hash not in own)
    succeeds = tuple(dict.fromkeys(stored.hash for _, stored, _ in leaving if stored.hash in dropped))
    choices = replace(s.choices, fleet=fleet, keep=keep, succeeds=succeeds)
    return replace(part, situation=replace(s, leaving=leaving, choices=choices))
