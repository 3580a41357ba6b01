"""Find the endpoints and pages of fleets, and what endpoints lead to."""

from collections.abc import Iterable, Mapping
from typing import Any

from sparkops.core.endpoints import api_url
from sparkops.core.facts import Facts, Left
from sparkops.core.fleet.on_demand import written
from sparkops.core.fleet.written_routes import WrittenRoute, folder, written_routes
from sparkops.core.stored import Stored, StoredMember
from sparkops.errors import Refused
from sparkops.phases.parts import DeployedRevision, deployed_companions
from sparkops.phases.switches import CONFIG
from sparkops.session.session import Session


def companions_on(facts: Mapping[str, Facts], nodes: Iterable[str]) -> list[DeployedRevision]:
    """The endpoints and pages of fleets on these nodes: all that run, and of each name what was stopped last."""
    wanted = set(nodes)
    here = [one for one in deployed_companions(facts) if wanted & one.nodes]
    newest = {one.stored.deployment: one for one in sorted(here, key=lambda one: (one.runs, one.served_until))}
    return [one for one in here if one.runs or one is newest[one.stored.deployment]]


def gateways_on(facts: Mapping[str, Facts], nodes: Iterable[str]) -> list[DeployedRevision]:
    """The endpoints among them."""
    return [one for one in companions_on(facts, nodes) if one.stored.is_gateway]


def companions_named(session: Session, facts: Mapping[str, Facts], name: str | None) -> list[DeployedRevision]:
    """The endpoints and pages of fleets that a command line means by this name; none without one."""
    return [one for one in companions_on(facts, session.names) if name and one.stored.answers_to(name)]


def shared_front(session: Session, facts: Mapping[str, Facts], revision: DeployedRevision) -> StoredMember | None:
    """The endpoint of a fleet that leads to this deployment and knows its key, if it runs."""
    stored = revision.stored
    keys = {"" if stored.without_key else facts[one.name].key_digest for one in stored.fronts if one.name in facts}
    for one in gateways_on(facts, session.names):
        if one.runs and any(keys & route.keys for route in routes_to(stored, one.stored, facts)):
            return one.stored.fronts[0]
    return None


def on_demand(facts: Mapping[str, Facts]) -> dict[str, Mapping[str, Any]]:
    """What an endpoint on these nodes knows of the deployments that it starts when somebody asks for them."""
    found = [(facts[node].state, one.stored) for one in deployed_companions(facts) for node, _ in one.parts]
    texts = (it.on_demand.get((folder(one), CONFIG), "") for it, one in found if isinstance(it, Left))
    return {name: about for text in texts for name, about in written(text).items()}


def starts(session: Session, facts: Mapping[str, Facts], name: str) -> tuple[DeployedRevision, str, WrittenRoute]:
    """The endpoint that runs and starts this deployment on demand, with a model name of it there; raises Refused."""
    known = sorted(on_demand(facts))
    for one in gateways_on(facts, facts):
        for model, route in routed_by(one.stored, facts).items() if one.runs and name in known else ():
            if not route.loaded and name in (place.partition(" on ")[0] for place in route.servers.values()):
                return one, model, route
    if name in known:
        raise Refused(f"the endpoint that starts {name} does not run", hint="start it: `sparkops apply`")
    if session.away:
        session.require([*session.away])
    told = f"those that are: {', '.join(known)}" if known else "no deployment here is: `on-demand` in fleet.yml"
    raise Refused(f"{name} is not on demand", hint=f"{told}; else use `sparkops start` and `sparkops stop`")


def people_on(facts: Mapping[str, Facts], node: str, name: str) -> str | None:
    """The file with people's keys of an endpoint on a node, None without one; raises Refused if that is unknown."""
    state = facts[node].state
    if not isinstance(state, Left):
        told = f"it is unknown which people have keys for {name}: {state.reason}"
        raise Refused(told, node=node, hint="try again; `sparkops facts` shows what could not be read")
    return state.people.get(name)


def routes_to(stored: Stored, gateway: Stored, facts: Mapping[str, Facts]) -> list[WrittenRoute]:
    """The routes of a fleet's endpoint that always lead to a server of this deployment."""
    servers = {f"{api_url(one)}/v1" for one in stored.engines if one.port is not None}
    found = routed_by(gateway, facts).values()
    return [route for route in found if servers & route.servers.keys() and not route.loaded]


def routed_by(gateway: Stored, facts: Mapping[str, Facts]) -> dict[str, WrittenRoute]:
    """The routes of a fleet's endpoint by model name, as its node has them."""
    states = (facts[one.name].state for one in gateway.members if one.name in facts)
    texts = (one.gateways.get(folder(gateway), "") for one in states if isinstance(one, Left))
    return {name: route for text in texts for name, route in written_routes(text).items()}
