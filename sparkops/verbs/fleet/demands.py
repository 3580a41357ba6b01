"""From the deployments of a fleet and what the nodes have to what the placement needs."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sparkops.checks.memory_fits import free_without
from sparkops.core import needs, shapes
from sparkops.core.effective import Effective, Overrides, effective
from sparkops.core.fabric import Fabric, cabling_of
from sparkops.core.facts import Facts, Model, Unread
from sparkops.core.fleet.demand import Demand, Host, Pool
from sparkops.core.fleet.fleet_file import FleetDeployment, WantedFleet
from sparkops.core.fleet.place import STEP
from sparkops.core.memory_beyond import beyond_mib, kind_of, one_copy
from sparkops.core.memory_estimate import estimate
from sparkops.core.notes import Load
from sparkops.core.sizes import GIB_KIB
from sparkops.core.topology import LEAST_CLUSTER, split
from sparkops.core.utilization import WHOLE, requested_share
from sparkops.errors import Refused, UsageError
from sparkops.files import recipes
from sparkops.phases.beside import shares
from sparkops.phases.parts import DeployedRevision
from sparkops.session.open import Selected
from sparkops.verbs.deploy.draft import Draft, drafted
from sparkops.verbs.deploy.options import PlanOptions
from sparkops.verbs.fleet.options import FleetOptions

WHOLE_NODE = 1000
"""Shares of a node's memory are whole numbers of this, so that sums are exact."""


WRITTEN = "in the fleet's file, --set args.X=V is `set: {args.X: V}`, --allow ID is `allow: [ID]`, --limit is `nodes`"


@dataclass(frozen=True)
class FleetDraft:
    """One deployment as its recipe and the rules make it, on the first nodes of those that it may take (`nodes`)."""

    wanted: FleetDeployment
    options: PlanOptions
    draft: Draft
    nodes: tuple[str, ...]

    @property
    def settings(self) -> Effective:
        return self.draft.effective

    @property
    def kind(self) -> Load:
        """What it has in common with engines that hold as much memory."""
        return one_copy(Load(self.settings.recipe.name, self.settings.image, str(self.wanted.topology), None))

    @property
    def requested(self) -> int:
        return _thousandths(requested_share(self.settings), 1)

    def need(self, total_kib: int, beyond_mib: int | None, *, there: bool) -> int:
        """The memory that an engine takes of a node of this size, in thousandths.

        If it is not known what it takes beyond its share, that is estimated; one that is `there` already takes no more.
        """
        found = estimate(self.settings, self.draft.placement.shape, total_kib)
        taken = found.share if there or beyond_mib is not None else found.claimed
        beyond = _thousandths((beyond_mib or 0) * 1024, total_kib)
        return max(self.requested + beyond, _thousandths(taken * GIB_KIB, total_kib))


def drafts_of(fleet: WantedFleet, options: FleetOptions, chosen: Selected) -> list[FleetDraft]:
    """The deployments of the file, each judged by the rules."""
    return [_draft_of(one, options, chosen) for one in fleet.deployments]


def _draft_of(wanted: FleetDeployment, options: FleetOptions, chosen: Selected) -> FleetDraft:
    """Read recipe and nodes of a deployment and let the rules judge it; errors name its place in the fleet's file."""
    deploys = PlanOptions(
        where=options.where,
        topology=str(wanted.topology),
        recipe=wanted.recipe,
        name=wanted.name,
        executor=wanted.executor,
        sets=wanted.sets,
        extra=wanted.extra,
        allow=wanted.allow,
        alongside=True,
        proxy=wanted.proxy,
        limits=options.limits,
        api_key=options.api_key,
        open_access=wanted.open_access,
    )
    with named(wanted):
        limited = chosen.inventory.select(",".join(wanted.nodes)) if wanted.nodes else chosen.nodes
        nodes = tuple(node for node in limited if node in chosen.nodes)
        first = nodes[: wanted.topology.copies * _span(wanted)]
        draft = drafted(deploys, Selected(chosen.inventory, first, chosen.sudo_password))
    return FleetDraft(wanted, deploys, draft, tuple(node.name for node in nodes))


@contextmanager
def named(wanted: FleetDeployment) -> Iterator[None]:
    """What is refused there names the deployment and its place in the fleet's file."""
    try:
        yield
    except (UsageError, Refused) as error:
        hint = "\n".join(filter(None, [error.hint, WRITTEN if "--" in (error.hint or "") else ""]))
        raise type(error)(f"{wanted.where}: {wanted.name}: {error.message}", hint=hint or None) from None


def _span(wanted: FleetDeployment) -> int:
    """The nodes of one copy: what the parallel sizes say, else as few as the recipe asks for."""
    if wanted.topology.kind == "solo":
        return 1
    recipe = recipes.recipe(wanted.recipe)
    settings = effective(recipe, wanted.topology.kind, Overrides(wanted.sets, wanted.extra))
    least = max(LEAST_CLUSTER, recipe.nodes.min)
    return shapes.cluster_size(settings, least, recipe.nodes.max) or least


def demand(
    one: FleetDraft,
    facts: Mapping[str, Facts],
    mine: Sequence[DeployedRevision],
    hosts: Iterable[Host],
    noted: Mapping[Load, int],
) -> Demand:
    """What a deployment needs of each node that answers; `mine` is what serves of it, or was stopped last.

    Where it is already, it needs what it holds there. Elsewhere it needs what such engines held beyond their share
    (`noted`, in MiB), but never more than the node has for all: then it has the node for itself.
    """
    placement, room = one.draft.placement, {host.name: host.room for host in hosts}
    there = [node for node in one.nodes if node in facts]
    alike = [it for it in mine if kind_of(it.stored) == one.kind]
    own = {node: _held_beyond(it, node, facts[node]) for it in alike for node in shares(it) if node in facts}
    needs = {}
    for node in there:
        beyond = own[node] if node in own else noted.get(one.kind)
        need = one.need(facts[node].memory.total_kib, beyond, there=node in own)
        needs[node] = need if node in own else min(need, max(one.requested, room[node]))
    return Demand(
        one.wanted.name,
        needs,
        placement.topology.copies,
        placement.shape.span,
        {node: _lacks(one, node, facts) for node in there},
        tuple(tuple(rank.name for rank in copy) for it in mine for copy in split(it.stored.engines)),
        one.wanted.alongside,
        one.requested,
        one.kind in noted or any(beyond is not None for beyond in own.values()),
    )


def host(
    node: str, facts: Facts, running: Sequence[DeployedRevision], fleet: Iterable[str], names: Iterable[str]
) -> Host:
    """What a node has for the fleet: without what its deployments hold now, and less what all others hold.

    Rounded, as idle nodes differ by little and are alike for the placement; but what deployments of the file (`names`)
    have there has room.
    """
    memory, ours, wanted = facts.memory, frozenset(fleet), frozenset(names)
    here = [one for one in running if node in shares(one)]
    free = free_without(memory, [one.stored for one in here if one.stored.deployment in ours])
    others = [shares(one)[node] for one in here if one.stored.deployment not in ours]
    room = round(min(free / memory.total_kib, WHOLE - sum(others)) * WHOLE_NODE, 3)
    kept = [one for one in here if one.stored.deployment in wanted]
    beyond = sum(_thousandths((_held_beyond(one, node, facts) or 0) * 1024, memory.total_kib) for one in kept)
    held = sum(_thousandths(one.stored.share, 1) for one in kept) + beyond if beyond else 0
    return Host(node, max(min(held, WHOLE_NODE), math.floor(room / STEP) * STEP), owned=bool(others))


def _held_beyond(one: DeployedRevision, node: str, facts: Facts) -> int | None:
    """What its engine there holds beyond its share, in MiB; None if that is not known."""
    found = (beyond_mib(one.stored, container, facts) for where, container in one.running if where == node)
    return max((beyond for beyond in found if beyond is not None), default=None)


def _thousandths(part: float, whole: int) -> int:
    return math.ceil(round(part / whole * WHOLE_NODE, 3))


def pools(fabric: Fabric, nodes: Sequence[str]) -> list[Pool]:
    """The nodes that share a cable or switch, and whole triangles and rings."""
    shared = [Pool(one.nodes) for one in fabric.among(nodes)]
    islands = (cabling_of(fabric, island) for island in cabling_of(fabric, nodes).islands if len(island) > 1)
    return shared + [Pool(one.order, whole=True) for one in islands if one.kind in ("triangle", "ring")]


def _lacks(one: FleetDraft, node: str, facts: Mapping[str, Facts]) -> int:
    """The MiB of image and models that another node has and this one lacks."""
    image = one.settings.image
    sizes = [found.size_bytes for known in facts.values() if (found := known.image(image))]
    size = 0 if facts[node].image(image) else max(sizes, default=0)
    for need in needs.models(one.settings):
        known = [model for other in facts.values() if (model := _model(other, need.name.model))]
        here = _model(facts[node], need.name.model)
        size += 0 if here else max((model.bytes for model in known), default=0)
    return size >> 20


def _model(facts: Facts, name: str) -> Model | None:
    """What the node has of a model if it is complete."""
    found = {} if isinstance(facts.models, Unread) else facts.models
    model = found.get(name)
    return model if isinstance(model, Model) and model.complete else None
