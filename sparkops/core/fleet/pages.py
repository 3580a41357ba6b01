"""The pages of a fleet: deployments of its file whose recipe has no model, on the node of its endpoint."""

from collections.abc import Mapping
from dataclasses import replace

from sparkops.core.fleet.fleet_file import FleetDeployment, WantedFleet, WantedPage
from sparkops.core.inventory import Node
from sparkops.core.page import PageRecipe, PageVariables
from sparkops.core.recipe import PORTS, env_problem
from sparkops.core.revision import PAGE, Member, Revision, RevisionImage
from sparkops.core.topology import Topology
from sparkops.errors import UsageError

PORT, ENV = "port=", "env."


def with_pages(fleet: WantedFleet, recipes: Mapping[str, PageRecipe]) -> WantedFleet:
    """The fleet with the deployments of these names as its pages; raises UsageError with file and line."""
    if not recipes:
        return fleet
    pages = tuple(_page(one, recipes[one.name], fleet) for one in fleet.deployments if one.name in recipes)
    left = tuple(one for one in fleet.deployments if one.name not in recipes)
    if not left:
        raise UsageError(
            f"{pages[0].where}: {pages[0].name}: a page is of no use without a model",
            hint="add a deployment with a model: NAME: {recipe: RECIPE}",
        )
    if front := fleet.endpoint:
        for called in (called for called, name in front.names.items() if name in recipes):
            told = f"{front.names[called]} is a page, and has no model"
            raise UsageError(f"{front.where}: endpoint.names.{called}: {told}")
    return replace(fleet, deployments=left, pages=pages)


def _page(one: FleetDeployment, recipe: PageRecipe, fleet: WantedFleet) -> WantedPage:
    where = f"{one.where}: {one.name}"
    if fleet.endpoint is None:
        hint = "add it to the file: endpoint: {node: NODE}"
        raise UsageError(f"{where}: {recipe.name} is a page for people, and needs the fleet's `endpoint`", hint=hint)
    plain = FleetDeployment(one.name, one.where, one.recipe, Topology("solo"), sets=one.sets, on_demand=one.on_demand)
    if one != plain or not all(text.startswith((PORT, ENV)) for text in one.sets):
        told = "takes only `port`, and variables below `set` (env.NAME: VALUE)"
        raise UsageError(f"{where}: a page {told}", hint="it runs on the node of the endpoint")
    given = dict(text.split("=", 1) for text in one.sets)
    port = given.pop("port", str(recipe.port))
    if not (port.isdecimal() and PORTS[0] <= int(port) <= PORTS[1]):
        raise UsageError(f"{where}: port: must be between {PORTS[0]} and {PORTS[1]}, not {port}")
    env = {key.removeprefix(ENV): text for key, text in given.items()}
    for name, text in env.items():
        if problem := _problem(name, text, recipe.program.variables):
            raise UsageError(f"{where}: set.env.{name}: {problem}")
    return WantedPage(one.name, one.where, recipe, int(port), env)


def _problem(name: str, text: str, told: PageVariables) -> str | None:
    """Why a page cannot be given this variable."""
    if name in (told.port, told.endpoint, *told.key):
        return "is set by sparkops"
    if name == told.user and not text:
        return "names the first user, without whom the first stranger could be it"
    return env_problem(name)


def page_revision(page: WantedPage, node: Node, image: RevisionImage, endpoint: str) -> Revision:
    """The revision of a page that asks the models at this URL (`endpoint`)."""
    program = page.recipe.program
    told = {program.variables.port: str(page.port), program.variables.endpoint: endpoint}
    given = {**page.recipe.given, **page.env}
    kept = {name: text for name, text in given.items() if text or name not in page.env}
    return Revision(
        deployment=page.name,
        recipe=page.recipe.name,
        model="",
        served="",
        kind=PAGE,
        topology=PAGE,
        executor=None,
        image=image,
        args={"data": program.data, "key": list(program.variables.key)},
        env={**kept, **told},
        mounts=(),
        members=(Member(node.name, node.address, PAGE, 0, page.port),),
        program=program.command,
    )
