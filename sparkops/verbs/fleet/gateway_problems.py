"""What is in the way of a fleet's endpoint."""

from collections.abc import Iterator, Sequence

from sparkops.core import proxy_image
from sparkops.core.facts import Unread
from sparkops.core.fleet.fleet_file import WantedEndpoint
from sparkops.core.fleet.people import read
from sparkops.core.fleet.routes import LOADED
from sparkops.errors import Refused
from sparkops.phases.gateway import Gateway
from sparkops.verbs.fleet.parts import FleetPart

Problem = tuple[str, str]
"""What is wrong, and what to do."""


def refuse(wanted: WantedEndpoint, one: Gateway, parts: Sequence[FleetPart], *, setup: bool) -> None:
    """Raise one Refused for all that is in the way; with `setup`, the image may be missing."""
    problems = [*_names(wanted, parts), *_port(one)]
    problems += [] if one.runs else [*_image(one, setup=setup), *_people(one)]
    if problems:
        told = "\n".join(f"{wanted.where}: endpoint: {text}" for text, _ in problems)
        raise Refused(told, hint="\n".join(dict.fromkeys(hint for _, hint in problems)))


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


def _port(one: Gateway) -> Iterator[Problem]:
    """What else listens on its port; `judge` knows those of the fleet."""
    node, port = one.member.name, one.member.port
    cure = "choose another port for the endpoint: port: 4001"
    listening = one.facts.listeners
    if one.runs or isinstance(listening, Unread):
        return
    running = [other for other in one.in_the_way if other.runs]
    ours = {it.port for other in running for it in other.stored.members} | ({port} if one.existing else set())
    for name, (stored, _) in one.now.items():
        if (node, port) in [(member.name, member.port) for member in stored.members]:
            yield f"{name} has port {port} of {node}, and still needs it when the endpoint starts", cure
            return
    if found := next((it for it in listening if it.port == port and port not in ours), None):
        holder = f"{found.process} (pid {found.pid})" if found.process else "another process"
        yield f"{holder} uses port {port} of {node}", cure


def _people(one: Gateway) -> Iterator[Problem]:
    """Keys that the endpoint would no longer know once it starts anew."""
    try:
        read(one.people)
    except ValueError as error:
        told = f"people/{one.revision.deployment}/keys.json cannot be read: {error}"
        cure = "put a good version of the file back, or remove it: then nobody has a key"
        yield f"{told}; with it, the endpoint would know nobody's key", cure


def _image(one: Gateway, *, setup: bool) -> Iterator[Problem]:
    reference, node = one.revision.image.reference, one.member.name
    found = one.facts.image(reference)
    if found is None and not setup:
        yield f"{node} lacks the image {reference}", "get it: `sparkops apply --setup`"
    elif found and (text := proxy_image.problem(reference, found.labels)):
        yield text, "set `proxy_image` in the inventory to another version"
