"""The deployments on demand of a fleet as its endpoint needs to know them, and the nodes that are to be open to it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparkops.core.copying import Hop, hop, origins
from sparkops.core.endpoints import health_url
from sparkops.core.facts import Facts
from sparkops.core.fleet.demand import Demand, Host
from sparkops.core.fleet.on_demand import OnDemand
from sparkops.core.inventory import Node
from sparkops.core.situation import state_dir
from sparkops.errors import Refused
from sparkops.phases.switches import SwitchedNode, Switches
from sparkops.remote.frame import script_text
from sparkops.session.host_keys import host_key
from sparkops.session.session import Session
from sparkops.verbs.fleet.demands import WHOLE_NODE
from sparkops.verbs.fleet.observe import Observed
from sparkops.verbs.fleet.parts import FleetPart


def switches_of(
    wanted: OnDemand, gateway: tuple[str, str], node: Node, observed: Observed, parts: Sequence[FleetPart],
    session: Session,
) -> Switches:  # fmt: skip
    """`gateway` is the name of the endpoint and of the folder with its files."""
    asked = [part for part in parts if part.wanted.wanted.on_demand]
    names = list(dict.fromkeys(member.name for part in asked for member in part.situation.revision.members))
    _refuse_sudo(names, session)
    facts, known = observed.facts, {one.name: one for one in session.inventory.nodes}
    hops = {name: hop(node.name, known[name], facts, known) for name in names}
    return Switches(
        gateway[0],
        f"{state_dir(facts[node.name])}/gateways/{gateway[1]}",
        {
            "version": 1,
            "nodes": {name: _node(hops[name], observed, facts[name], parts) for name in names},
            "deployments": {part.name: _deployment(part, wanted, observed) for part in asked},
        },
        "\n".join(f"{name} {host_key(session, name)}" for name in names),
        script_text("answer") + script_text("cache"),
        tuple(
            SwitchedNode(name, origins(hops[name], facts[node.name]), _containers(name, asked), known[name].cache_dir)
            for name in names
        ),
    )


def _refuse_sudo(names: Sequence[str], session: Session) -> None:
    if sudo := [name for name in names if session.nodes[name].become == "sudo"]:
        raise Refused(
            f"on-demand: the endpoint starts containers on {', '.join(sudo)} as the login user, without sudo",
            hint="add that user to the group docker there (`sudo usermod -aG docker USER`), and take `become` out",
        )


def _node(way: Hop, observed: Observed, facts: Facts, parts: Sequence[FleetPart]) -> dict[str, Any]:
    """How the endpoint reaches a node, and what that has for deployments on demand `beside` those that always serve."""
    host = next(one for one in observed.hosts if one.name == way.receiver)
    always = [one for one in observed.demands if not one.on_demand and _is_on(one, host, observed)]
    left = host.room - sum(one.needs[host.name] for one in always)
    return {
        "user": way.user,
        "address": way.address,
        "port": way.port,
        "bind": way.bind,
        "kib": facts.memory.total_kib * left // WHOLE_NODE,
        "beside": [part.situation.revision.hash for part in parts if part.name in {one.name for one in always}],
        "owned": host.owned or any(not one.alongside for one in always),
    }


def _is_on(one: Demand, host: Host, observed: Observed) -> bool:
    return any(host.name in copy for copy in observed.placement.copies.get(one.name, ()))


def _deployment(part: FleetPart, wanted: OnDemand, observed: Observed) -> dict[str, Any]:
    revision, demand = part.situation.revision, next(one for one in observed.demands if one.name == part.name)
    total = {one.name: observed.facts[one.name].memory.total_kib for one in revision.engines}
    return {
        "needs": {name: kib * demand.needs[name] // WHOLE_NODE for name, kib in total.items()},
        "requests": {name: kib * demand.requested // WHOLE_NODE for name, kib in total.items()},
        "alongside": demand.alongside,
        "idle": wanted.idle,
        "stay": wanted.stay,
        "priority": wanted.rank(part.name),
        "containers": [[member.name, revision.container(member)] for member in revision.members],
        "health": [health_url(member) for member in revision.engines if member.port is not None],
    }


def _containers(node: str, parts: Sequence[FleetPart]) -> Mapping[str, str]:
    return {
        part.situation.revision.container(member): part.name
        for part in parts
        for member in part.situation.revision.members
        if member.name == node
    }
