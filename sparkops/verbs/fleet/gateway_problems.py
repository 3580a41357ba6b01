"""What is in the way of a fleet's endpoint and pages."""

from collections.abc import Iterator, Sequence

from sparkops.core import proxy_image
from sparkops.core.fleet.fleet_file import WantedEndpoint, WantedFleet
from sparkops.core.fleet.people import read
from sparkops.core.fleet.routes import LOADED
from sparkops.errors import Refused
from sparkops.phases.companion import Companion
from sparkops.phases.fleet import Endpoint
from sparkops.phases.gateway import Gateway
from sparkops.phases.pages import FleetPage
from sparkops.verbs.fleet.companions import Problem, image_problems, port_problems
from sparkops.verbs.fleet.parts import FleetPart


def refuse(fleet: WantedFleet, endpoint: Endpoint, parts: Sequence[FleetPart], *, setup: bool) -> None:
    """Raise one Refused for all that is in the way; with `setup`, images may be missing."""
    wanted, one = fleet.endpoint, endpoint.wanted
    if wanted is None or one is None:
        return
    told = [(f"{wanted.where}: endpoint", it) for it in _endpoint(wanted, one, endpoint.pages, parts, setup=setup)]
    for page in endpoint.pages:
        where = f"{page.wanted.where}: {page.wanted.name}"
        told += [(where, it) for it in _page(page, one, setup=setup)]
    if told:
        text = "\n".join(f"{where}: {problem}" for where, (problem, _) in told)
        raise Refused(text, hint="\n".join(dict.fromkeys(hint for _, (_, hint) in told)))


def _endpoint(
    wanted: WantedEndpoint, one: Gateway, pages: Sequence[FleetPage], parts: Sequence[FleetPart], *, setup: bool
) -> Iterator[Problem]:
    yield from _names(wanted, parts)
    yield from port_problems(one, _still_there(one, one), "choose another port for the endpoint: port: 4001")
    if not one.runs:
        yield from image_problems(one, setup=setup)
        found = one.facts.image(one.revision.image.reference)
        if found and (text := proxy_image.problem(one.revision.image.reference, found.labels)):
            yield text, "set `proxy_image` in the inventory to another version"
    if pages or one.new_people or not one.runs:
        yield from _people(one)


def _page(page: FleetPage, one: Gateway, *, setup: bool) -> Iterator[Problem]:
    name = page.revision.deployment
    yield from port_problems(page, _still_there(page, one), "choose another port for it: port: 3001")
    yield from image_problems(page, setup=setup)
    known = _digests(one.people_before or "").get(name, page.key_digest)
    if known != page.key_digest and not (page.existing or page.others):
        cure = f"call the page differently, or end that key: `sparkops gateway key revoke {name}`"
        yield f"somebody's API key at the endpoint is called {name}", cure


def _digests(text: str) -> dict[str, str]:
    """Of people's keys, by name; none if the file cannot be read, which is refused anyway."""
    try:
        return {name: key.digest for name, key in read(text).keys.items()}
    except ValueError:
        return {}


def _still_there(one: Companion, gateway: Gateway) -> list[str]:
    """The deployments that have its port when it starts, and move away from it afterwards."""
    place = (one.member.name, one.member.port)
    found = gateway.now.items()
    return [name for name, (it, _) in found if place in [(member.name, member.port) for member in it.members]]


def _names(wanted: WantedEndpoint, parts: Sequence[FleetPart]) -> Iterator[Problem]:
    """Names that mean two models, or a model with a key and without one."""
    first: dict[str, FleetPart] = {}
    for part in parts:
        new = part.situation.revision
        other = first.setdefault(new.served, part)
        old, both = other.situation.revision, f"{other.name} and {part.name} both serve a model as {new.served}"
        if old.model != new.model:
            cure = f"call one of them differently: set: {{args.served-model-name: NAME}} ({part.wanted.wanted.where})"
            yield both, cure
        elif old.without_key != new.without_key:
            where = part.wanted.wanted.where
            yield f"{both}, one with an API key and one without", f"give both the same `api-key` ({where})"
    for name, deployment in wanted.names.items():
        if (found := first.get(name)) and found.name != deployment:
            yield f"{name} is already the model of {found.name}", "choose another name, below `names`"
        if deployment == LOADED and not any(part.situation.revision.kind == "chat" for part in parts):
            yield f"{name} is for a chat model that is loaded, and no deployment has one", "leave it out"


def _people(one: Gateway) -> Iterator[Problem]:
    """Keys that the endpoint would no longer know once it starts anew."""
    try:
        read(one.people)
    except ValueError as error:
        told = f"people/{one.revision.deployment}/keys.json cannot be read: {error}"
        cure = "put a good version of the file back, or remove it: then nobody has a key"
        yield f"{told}; with it, the endpoint would know nobody's key", cure
