"""The endpoint of a fleet: where it is to be, what it routes, and what happens to it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sparkops.core import proxy_image
from sparkops.core.endpoints import api_url
from sparkops.core.facts import Facts, Left
from sparkops.core.fleet.fleet_file import WantedEndpoint, WantedFleet
from sparkops.core.fleet.people import newest
from sparkops.core.fleet.ports import Place
from sparkops.core.fleet.routes import gateway
from sparkops.core.fleet.written_routes import changed_routes, folder
from sparkops.core.inventory import Node
from sparkops.errors import UsageError
from sparkops.phases.fleet import Endpoint
from sparkops.phases.gateway import Gateway
from sparkops.phases.parts import DeployedRevision, deployed_companions
from sparkops.phases.switches import let_in, shut
from sparkops.remote.frame import script_text
from sparkops.session.api_key import digest
from sparkops.session.find_deployment import ours_to_change
from sparkops.session.find_gateway import people_on
from sparkops.session.session import Session
from sparkops.verbs.fleet.companions import action, asked, gets, made_image, was
from sparkops.verbs.fleet.observe import Observed, started_by
from sparkops.verbs.fleet.on_demand import switches_of
from sparkops.verbs.fleet.pages import pages_of, with_keys
from sparkops.verbs.fleet.parts import FleetPart

SHORT = 12
"""Digits of the digest that stands for the program in a revision, so that another program replaces the container."""


def node_of(wanted: WantedEndpoint, session: Session) -> Node | None:
    """The endpoint's node, None if it was not selected or is away; raises UsageError if the inventory lacks it."""
    known = [one for one in session.inventory.nodes if wanted.node in (one.name, one.address)]
    if not known:
        names = ", ".join(one.name for one in session.inventory.nodes)
        text = f"{wanted.where}: endpoint: the inventory has no node {wanted.node}"
        raise UsageError(text, hint=f"name one of its nodes: {names}")
    return next((one for one in session.there if one == known[0]), None)


def taken_ports(fleet: WantedFleet, node: Node | None) -> dict[Place, str]:
    """The ports of the endpoint and of the pages on its node, with who needs them; raises UsageError for one twice."""
    if node is None or fleet.endpoint is None:
        return {}
    taken: dict[Place, str] = {(node.name, fleet.endpoint.port): "the endpoint"}
    for page in fleet.pages:
        other = taken.setdefault((node.name, page.port), page.name)
        if other != page.name:
            told = f"needs port {page.port} of {node.name}, which {other} has"
            raise UsageError(f"{page.where}: {page.name}: {told}", hint="choose another port for it: port: 3001")
    return taken


def image_of(node: Node) -> str:
    """The proxy's image for this node, with its digest."""
    return node.proxy_image or proxy_image.DEFAULT


def endpoint_of(
    fleet: WantedFleet, node: Node | None, observed: Observed, parts: Sequence[FleetPart], session: Session
) -> Endpoint:
    """What the file wants of the endpoint, and what of it ends; nothing while its node is away."""
    ours = [one for one in deployed_companions(observed.facts) if started_by(one, fleet.name)]
    here = [one for one in ours if all(name in session.names for name in one.nodes)]
    ours_to_change(one.stored for one in here)
    there, old_pages = ([one for one in here if one.stored.is_gateway is it] for it in (True, False))
    if fleet.endpoint is None:
        return Endpoint(None, tuple(there), page_ends=tuple(old_pages))
    if node is None or node.name not in observed.facts:
        return Endpoint()
    facts, made = observed.facts, made_image(image_of(node), observed.facts[node.name])
    program, starts = digest(script_text("gateway"))[:SHORT], fleet.on_demand is not None
    revision = gateway(fleet.name, node, fleet.endpoint.port, made, program, starts=starts)
    others = tuple(one for one in there if one.stored.hash != revision.hash)
    keys = {part.name: part.situation.key_digest for part in parts}
    choices = parts[0].situation.choices
    pages, page_ends = pages_of(fleet, api_url(revision.members[0]), node, old_pages, observed, choices, session)
    people = _people(revision.deployment, node.name, others, facts)
    one = Gateway(
        revision=revision,
        facts=facts[node.name],
        choices=choices,
        wanted={part.name: (part.situation.revision, keys[part.name]) for part in parts},
        # no digest where another user deployed it: that must not read as "needs no key"
        now={name: (observed.before[name].stored, had or keys.get(name, "")) for name, had in observed.keys.items()},
        names=fleet.endpoint.names,
        others=others,
        people=with_keys(people, pages, facts, session),
    )
    switched = _switched(asked(one, session), fleet, node, observed, parts, session)
    return Endpoint(switched, others, pages, page_ends)


def _switched(
    one: Gateway, fleet: WantedFleet, node: Node, observed: Observed, parts: Sequence[FleetPart], session: Session
) -> Gateway:
    """With what it needs for deployments on demand."""
    switches = None
    if fleet.on_demand:
        where = one.revision.deployment, folder(one.stored)
        switches = switches_of(fleet.on_demand, where, node, observed, parts, session)
    left = [*shut(one.revision.deployment, switches, observed.facts)]
    left += [*let_in(switches, node.name, observed.facts)] if switches else []
    return replace(one, switches=switches, switched=not left)


def _people(name: str, node: str, others: Sequence[DeployedRevision], facts: Mapping[str, Facts]) -> str:
    """The file of people's keys: that of its own node, or of one that has the endpoint and changed it since.

    If neither has it, one that an earlier endpoint left on any node.
    """
    found = {one: people_on(facts, one, name) for one in facts}
    nodes = dict.fromkeys([node, *(one for other in others for one in other.nodes)])
    near = [text for text in map(found.get, nodes) if text]
    return newest(near or filter(None, found.values()))


def endpoint_document(endpoint: Endpoint) -> dict[str, Any] | None:
    """What happens to the endpoint: its `action` is none, new, start, move, replace, or routes; None without one."""
    one = endpoint.wanted
    if one is None:
        return None
    return {
        "name": one.revision.deployment,
        "node": one.member.name,
        "url": f"{api_url(one.member)}/v1",
        "action": action(one, settled=one.routed, otherwise="routes"),
        "was": next((f"{url}/v1" for url in was(one)), None),
        "gets": gets(one),
        "why": list(changed_routes(_text(one), one.config())),
        "models": [
            {"name": it.name, "deployments": list(dict.fromkeys(server.deployment for server in it.servers))}
            for it in one.routes()
        ],
    }


def _text(one: Gateway) -> str:
    """The routes that clients have now: those of its predecessor if it moves."""
    states = ((it, one.facts.state) for it in one.others if it.runs)
    earlier = [state.gateways.get(folder(it.stored), "") for it, state in states if isinstance(state, Left)]
    return (one.before or "") if one.runs else next(iter(earlier), "")
