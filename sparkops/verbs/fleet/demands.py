"""From the deployments of a fleet and what the nodes have to what the placement needs."""

import math
from collections.abc import Iterable, Mapping, Sequence

from sparkops.checks.memory_fits import free_without
from sparkops.core import needs
from sparkops.core.fabric import Fabric, cabling_of
from sparkops.core.facts import Facts, Model, Unread
from sparkops.core.fleet.demand import Demand, Host, Pool
from sparkops.core.fleet.place import STEP
from sparkops.core.memory_beyond import beyond_mib, kind_of, one_copy
from sparkops.core.memory_estimate import estimate
from sparkops.core.notes import Load
from sparkops.core.sizes import GIB_KIB
from sparkops.core.topology import split
from sparkops.core.utilization import WHOLE, requested_share
from sparkops.phases.beside import shares
from sparkops.phases.parts import DeployedRevision
from sparkops.verbs.fleet.drafts import FleetDraft

WHOLE_NODE = 1000
"""Shares of a node's memory are whole numbers of this, so that sums are exact."""


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
    kind = one_copy(Load(one.settings.recipe.name, one.settings.image, str(one.wanted.topology), None))
    requested = _thousandths(requested_share(one.settings), 1)
    there = [node for node in one.nodes if node in facts]
    alike = [it for it in mine if kind_of(it.stored) == kind]
    own = {node: _held_beyond(it, node, facts[node]) for it in alike for node in shares(it) if node in facts}
    needed = {}
    for node in there:
        beyond, total = own.get(node, noted.get(kind)), facts[node].memory.total_kib
        need = requested + _thousandths((beyond or 0) * 1024, total)
        need = max(need, _estimated(one, total, whole=beyond is None and node not in own))
        needed[node] = need if node in own else min(need, max(requested, room[node]))
    measured = kind in noted or any(beyond is not None for beyond in own.values())
    return Demand(
        one.wanted.name,
        needed,
        placement.topology.copies,
        placement.shape.span,
        {node: _lacks(one, node, facts) for node in there},
        tuple(tuple(rank.name for rank in copy) for it in mine for copy in split(it.stored.engines)),
        one.wanted.alongside,
        one.wanted.on_demand,
        requested,
        measured,
    )


def _estimated(one: FleetDraft, total_kib: int, *, whole: bool) -> int:
    """The memory that an engine takes of a node, or (not `whole`) without what its image takes beyond its share."""
    found = estimate(one.settings, one.draft.placement.shape, total_kib)
    return _thousandths((found.claimed if whole else found.share) * GIB_KIB, total_kib)


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
