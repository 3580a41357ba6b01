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
from sparkops.core.memory_beyond import beyond_mib
from sparkops.core.memory_estimate import estimate
from sparkops.core.notes import Load
from sparkops.core.sizes import GIB_KIB
from sparkops.core.stored import CACHE_SIZE
from sparkops.core.topology import LEAST_CLUSTER, split
from sparkops.core.utilization import WHOLE
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
    def load(self) -> Load:
        """What it has in common with what a history tells of."""
        return Load(self.settings.recipe.name, self.settings.image, str(self.wanted.topology), None)

    def memory(self, total_kib: int, measured: int | None, *, runs: bool) -> tuple[int, int]:
        """What an engine requests of a node of this size, and what it takes beyond that, both in thousandths.

        If that was not `measured` (in MiB), it is estimated; what runs has shown that it needs no more than it has.
        """
        found = estimate(self.settings, self.draft.placement.shape, total_kib)
        requested = 0.0 if self.settings.number(CACHE_SIZE, 0) else found.share
        taken = found.share if runs else found.claimed
        beyond = taken - requested if measured is None else measured / 1024
        return _thousandths(requested * GIB_KIB, total_kib), _thousandths(beyond * GIB_KIB, total_kib)


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
    one: FleetDraft, facts: Mapping[str, Facts], mine: Sequence[DeployedRevision], beyond: Mapping[Load, int]
) -> Demand:
    """What a deployment needs of each node that answers; `mine` is what serves of it, or was stopped last.

    `beyond` is what engines were measured to hold beyond their share, in MiB.
    """
    placement, measured = one.draft.placement, beyond.get(one.load)
    there = [node for node in one.nodes if node in facts]
    runs = any(it.runs for it in mine)
    memory = {node: one.memory(facts[node].memory.total_kib, measured, runs=runs) for node in there}
    return Demand(
        one.wanted.name,
        {node: sum(parts) for node, parts in memory.items()},
        placement.topology.copies,
        placement.shape.span,
        {node: _lacks(one, node, facts) for node in there},
        tuple(tuple(rank.name for rank in copy) for it in mine for copy in split(it.stored.engines)),
        one.wanted.alongside,
        max((more for _, more in memory.values()), default=0),
        measured is not None,
    )


def host(node: str, facts: Facts, running: Sequence[DeployedRevision], fleet: Iterable[str]) -> Host:
    """What a node has for the fleet: without what its deployments hold now, and less what all others hold.

    Rounded, as idle nodes differ by little and are alike for the placement; but what engines of the fleet hold there
    has room.
    """
    memory, ours = facts.memory, frozenset(fleet)
    here = [one for one in running if node in shares(one)]
    mine = [one for one in here if one.stored.deployment in ours]
    free = free_without(memory, [one.stored for one in mine])
    others = [shares(one)[node] for one in here if one.stored.deployment not in ours]
    room = round(min(free / memory.total_kib, WHOLE - sum(others)) * WHOLE_NODE, 3)
    held = sum(_held(one, node, facts) for one in mine)
    return Host(node, max(held, math.floor(room / STEP) * STEP), owned=bool(others))


def _held(one: DeployedRevision, node: str, facts: Facts) -> int:
    """What a loaded engine has of a node, in thousandths; 0 if it is not known to be loaded."""
    found = [beyond_mib(one.stored, container, facts) for where, container in one.running if where == node]
    total = facts.memory.total_kib
    beyond = max((more for more in found if more is not None), default=None)
    return 0 if beyond is None else _thousandths(one.stored.asked * total, total) + _thousandths(beyond * 1024, total)


def _thousandths(kib: float, total_kib: int) -> int:
    return math.ceil(round(kib / total_kib * WHOLE_NODE, 3))


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
