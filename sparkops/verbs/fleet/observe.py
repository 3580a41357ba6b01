"""What the nodes have for a fleet, and where its deployments go."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sparkops.core import needs
from sparkops.core.fabric import graph
from sparkops.core.facts import Facts
from sparkops.core.fleet.demand import Demand, Host
from sparkops.core.fleet.place import FleetPlacement, place
from sparkops.core.memory_beyond import remembered
from sparkops.core.revise import args_of
from sparkops.errors import Refused
from sparkops.phases.orphans import left_over
from sparkops.phases.parts import DeployedRevision
from sparkops.session.find_deployment import current
from sparkops.session.peers import ask_peers, hears
from sparkops.session.session import Session
from sparkops.verbs.fleet.demands import demand, host, pools
from sparkops.verbs.fleet.drafts import FleetDraft

NO_MODEL = "none"
"""Asked for first, because what is asked for first is not among `Facts.models`."""


@dataclass(frozen=True)
class Observed:
    """The places of a fleet's deployments, and what they were decided from.

    `facts` has every node that answers; `running` what serves on the selected ones; `before` the revision of each
    deployment that serves, or was stopped last; `strangers` is what serves and is not of the fleet.
    """

    drafts: tuple[FleetDraft, ...]
    facts: Mapping[str, Facts]
    running: tuple[DeployedRevision, ...]
    before: Mapping[str, DeployedRevision]
    hosts: tuple[Host, ...]
    demands: tuple[Demand, ...]
    placement: FleetPlacement
    strangers: tuple[DeployedRevision, ...]

    @property
    def keys(self) -> dict[str, str]:
        """The digests of the keys with which deployments serve now, by name."""
        fronts = {
            name: one.stored.fronts[0].name for name, one in self.before.items() if one.runs and one.stored.fronts
        }
        return {name: self.facts[node].key_digest for name, node in fronts.items() if node in self.facts}


def observe_fleet(
    drafts: Sequence[FleetDraft], session: Session, name: str, only: Sequence[str] = (), images: Sequence[str] = ()
) -> Observed:
    """Read the nodes and place the deployments on the selected ones.

    `only` names the probes; none: all. `images` are further ones to look for.
    """
    wanted = dict.fromkeys((*(image for one in drafts for image in one.draft.asked), *images))
    models = dict.fromkeys(need.name.model for one in drafts for need in needs.models(one.settings))
    facts = session.containers(session.facts(images=tuple(wanted), models=(NO_MODEL, *models), only=only))
    usable = {node: facts[node] for node in session.names if node in facts and facts[node].memory.total_kib}
    for node in session.names:
        if node in facts and node not in usable:
            session.report.warn("its memory cannot be read, so nothing is placed there", node)
    here = [one for one in current(facts, session.names) if not left_over(facts, one)]
    running = [one for one in here if one.runs]
    before = {one.stored.deployment: one for one in (*reversed(here), *reversed(running))}
    names = {one.wanted.name for one in drafts}
    _refuse_other_fleets([one for one in running if one.stored.deployment in names], name)
    strangers = [one for one in running if one.stored.deployment not in names and not started_by(one, name)]
    ours = names | {one.stored.deployment for one in running if one not in strangers}
    hosts = [host(node, known, running, ours, names) for node, known in usable.items()]
    noted = remembered(facts)
    demands = [demand(one, usable, _there(one, running, before), hosts, noted) for one in drafts]
    fabric = graph(usable)
    if any(one.span > 1 for one in demands):
        fabric = graph(usable, ask_peers(session, hears(usable, session.selected))).within(fabric)
    found = place(demands, hosts, pools(fabric, list(usable)))
    return Observed(tuple(drafts), facts, tuple(running), before, tuple(hosts), tuple(demands), found, tuple(strangers))


def _refuse_other_fleets(running: Iterable[DeployedRevision], fleet: str) -> None:
    """Refuse a name that a deployment of another fleet has on these nodes: each `apply` would stop the other's."""
    for one in running:
        for other in {container.fleet for _, container in one.running} - {"", fleet}:
            where = ", ".join(sorted(one.nodes))
            raise Refused(
                f"{one.stored.deployment}: the fleet {other} has a deployment of this name on {where}",
                hint="give it another name in one of the files; if both are one fleet, give both the same `name`",
            )


def _there(
    one: FleetDraft, running: Sequence[DeployedRevision], before: Mapping[str, DeployedRevision]
) -> list[DeployedRevision]:
    """What runs of a deployment, else what was stopped last.

    If a node came back with an earlier version, only what has the settings of the file counts.
    """
    mine = [it for it in running if it.stored.deployment == one.wanted.name]
    right = [it for it in mine if it.stored.data.get("args") == args_of(one.settings)]
    return right or mine or [*filter(None, [before.get(one.wanted.name)])]


def started_by(one: DeployedRevision, fleet: str) -> bool:
    """Whether an `apply` of this fleet started it."""
    return any(container.fleet == fleet for _, container in one.parts)
