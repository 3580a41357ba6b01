"""The deployments of a fleet as their recipes and the rules make them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sparkops.core import shapes
from sparkops.core.effective import Effective, Overrides, effective
from sparkops.core.fleet.fleet_file import FleetDeployment, WantedFleet
from sparkops.core.topology import LEAST_CLUSTER
from sparkops.errors import Refused, UsageError
from sparkops.files import recipes
from sparkops.session.open import Selected
from sparkops.verbs.deploy.draft import Draft, drafted
from sparkops.verbs.deploy.options import PlanOptions
from sparkops.verbs.fleet.options import FleetOptions

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
