"""The endpoint of a fleet: where it is to be, what it routes, and what is in its way."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparkops.core import proxy_image
from sparkops.core.endpoints import api_url
from sparkops.core.facts import Facts, Left, Unread
from sparkops.core.fleet.fleet_file import WantedEndpoint, WantedFleet
from sparkops.core.fleet.routes import gateway, routes
from sparkops.core.fleet.written_routes import changed_routes, folder
from sparkops.core.inventory import Node
from sparkops.core.revision import RevisionImage
from sparkops.core.situation import Choices
from sparkops.errors import Refused
from sparkops.phases.fleet import Endpoint
from sparkops.phases.gateway import Gateway
from sparkops.phases.parts import deployed_gateways
from sparkops.session.session import Session
from sparkops.verbs.fleet.observe import started_by
from sparkops.verbs.fleet.parts import FleetPart
from sparkops.verbs.image.distribute import ensure_everywhere
from sparkops.verbs.image.pull import ensure_pulled, references


def node_of(wanted: WantedEndpoint, session: Session) -> Node:
    """The endpoint's node; raises Refused if it is not one of the selected ones."""
    if found := next((one for one in session.selected if wanted.node in (one.name, one.address)), None):
        return found
    names = ", ".join(one.name for one in session.selected)
    raise Refused(
        f"{wanted.where}: endpoint: {wanted.node} is not one of the selected nodes",
        hint=f"name another node, one of {names}; clients then need its address",
    )


def image_of(node: Node) -> str:
    """The proxy's image for this node, with its digest."""
    return node.proxy_image or proxy_image.DEFAULT


def endpoint_of(
    fleet: WantedFleet, parts: Sequence[FleetPart], facts: Mapping[str, Facts], session: Session
) -> Endpoint:
    """What the file wants of the endpoint, and what runs of it otherwise."""
    there = [one for one in deployed_gateways(facts) if started_by(one, fleet.name)]
    if fleet.endpoint is None:
        return Endpoint(None, tuple(there))
    node = node_of(fleet.endpoint, session)
    known, reference = facts[node.name], proxy_image.called(image_of(node))
    image = known.image(reference)
    revision = gateway(
        fleet.name, node, fleet.endpoint.port, RevisionImage(reference, image.fingerprint if image else "")
    )
    others = tuple(one for one in there if one.stored.hash != revision.hash)
    found = routes(((one.situation.revision, one.situation.key_digest) for one in parts), fleet.endpoint.names)
    choices = Choices(fleet=fleet.name)
    return Endpoint(Gateway(revision, known, found, choices, others), others)


def refuse(fleet: WantedFleet, endpoint: Endpoint, parts: Sequence[FleetPart], *, setup: bool) -> None:
    """Raise one Refused for all that is in the way of the endpoint; with `setup`, its image may be missing."""
    wanted, one = fleet.endpoint, endpoint.wanted
    if wanted is None or one is None:
        return
    problems = [*_names(wanted, parts), *_port(one, parts), *([] if one.runs else _image(one, setup=setup))]
    if problems:
        told = "\n".join(f"{wanted.where}: endpoint: {text}" for text, _ in problems)
        raise Refused(told, hint="\n".join(dict.fromkeys(hint for _, hint in problems)))


def _names(wanted: WantedEndpoint, parts: Sequence[FleetPart]) -> Iterator[tuple[str, str]]:
    """Names that mean two models."""
    models: dict[str, FleetPart] = {}
    for part in parts:
        served = part.situation.revision.served
        other = models.setdefault(served, part)
        if other.situation.revision.model != part.situation.revision.model:
            text = f"{other.name} and {part.name} both serve a model as {served}"
            cure = f"call one of them differently: set: {{args.served-model-name: NAME}} ({part.wanted.wanted.where})"
            yield text, cure
    for name, deployment in wanted.names.items():
        if (found := models.get(name)) and found.name != deployment:
            yield f"{name} is already the model of {found.name}", "choose another name, below `names`"


def _port(one: Gateway, parts: Sequence[FleetPart]) -> Iterator[tuple[str, str]]:
    """What else listens on its port."""
    node, port = one.member.name, one.member.port
    cure = "choose another port for the endpoint: port: 4001"
    for part in parts:
        if (node, port) in [(member.name, member.port) for member in part.situation.revision.members]:
            yield f"{part.name} has port {port} of {node}", cure
    listening = one.facts.listeners
    if one.runs or isinstance(listening, Unread):
        return
    ours = {it.port for other in one.in_the_way if other.runs for it in other.stored.members}
    if found := next((it for it in listening if it.port == port and port not in ours), None):
        holder = f"{found.process} (pid {found.pid})" if found.process else "another process"
        yield f"{holder} uses port {port} of {node}", cure


def _image(one: Gateway, *, setup: bool) -> Iterator[tuple[str, str]]:
    reference, node = one.revision.image.reference, one.member.name
    found = one.facts.image(reference)
    if found is None and not setup:
        yield f"{node} lacks the image {reference}", "get it: `sparkops apply --setup`"
    elif found and (text := proxy_image.problem(reference, found.labels)):
        yield text, "set `proxy_image` in the inventory to another version"


def get_image(endpoint: Endpoint, session: Session) -> list[str]:
    """Get the endpoint's image if its node lacks it; returns what was got, in words."""
    one = endpoint.wanted
    if one is None or one.runs:
        return []
    node, reference = one.member.name, one.revision.image.reference
    having = [name for name, known in session.facts(images=[reference]).items() if known.image(reference)]
    if node in having:
        return []
    if having:
        ensure_everywhere(session, reference, [having[0], node])
        return [f"copied {reference} to {node}"]
    ensure_pulled(session, *references(image_of(session.nodes[node])), node)
    return [f"pulled {reference} on {node}"]


def endpoint_document(endpoint: Endpoint) -> dict[str, Any] | None:
    """What happens to the endpoint: its `action` is none, new, start, move, replace, or routes; None without one."""
    one = endpoint.wanted
    if one is None:
        return None
    return {
        "name": one.revision.deployment,
        "node": one.member.name,
        "url": f"{api_url(one.member)}/v1",
        "action": _action(one),
        "was": next((f"{api_url(front)}/v1" for it in one.others if it.runs for front in it.stored.fronts), None),
        "gets": [] if one.runs or one.facts.image(one.revision.image.reference) else [_gets(one)],
        "why": list(changed_routes(_text(one), one.config)),
        "models": [
            {"name": it.name, "deployments": [*dict.fromkeys(name for name, _ in it.servers)]} for it in one.routes
        ],
    }


def _text(one: Gateway) -> str:
    """The routes that clients have now: those of its predecessor if it moves."""
    states = ((it, one.facts.state) for it in one.others if it.runs)
    earlier = [state.gateways.get(folder(it.stored), "") for it, state in states if isinstance(state, Left)]
    return (one.before or "") if one.runs else next(iter(earlier), "")


def _gets(one: Gateway) -> str:
    return f"get {one.revision.image.reference} for {one.member.name}"


def _action(one: Gateway) -> str:
    if one.routed:
        return "none"
    if one.runs:
        return "routes"
    running = [it for it in one.others if it.runs]
    if one.existing is None and not running:
        return "new"
    places = {(node, port) for it in running for node, _, port in it.stored.places}
    if one.existing is not None or (one.member.name, one.member.port) in places:
        return "replace" if running else "start"
    return "move"
