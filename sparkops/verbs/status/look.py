"""What `status` asks: each API like a client, and beside that what may take as long as an API."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkops.core.condition import LOOK_SECONDS, MemberContainer, ServingProbe, State, condition, serving_probe
from sparkops.core.facts import Container, Facts, Scheduled, Unreadable, parse
from sparkops.core.growth import SAMPLES
from sparkops.core.plan import Command, NodeLost, Result, Script
from sparkops.core.stored import Stored, StoredMember
from sparkops.node_commands import caches, scripts
from sparkops.phases.beside import in_the_way
from sparkops.phases.parts import DeployedRevision, cut_off, question
from sparkops.session.session import Session
from sparkops.verbs.status.causes import Logs, Place
from sparkops.verbs.status.logs import read_logs

GPU = Command((Script("facts"), "--only", "gpu-load", "--patience", "3"), reads=True, timeout=10.0)
"""Asked beside the APIs, which may take as long, so a driver that hangs delays nothing."""

LINK_SECONDS = 2
"""Seconds for a request to a cluster whose link is down: it gets no answer, but the API may."""

LINES = 300
"""Of a container's log: as many as `@probe` shows of an engine that ended."""


@dataclass(frozen=True)
class Looked:
    """A deployment as its nodes and APIs show it; `parts` are the containers of `places`."""

    revision: DeployedRevision
    places: Sequence[Place]
    parts: Sequence[MemberContainer]
    fronts: Sequence[ServingProbe]
    engines: Sequence[ServingProbe]
    replaced: bool = False
    """Whether one that serves was deployed in its place on every node that cannot be reached."""

    @property
    def stored(self) -> Stored:
        return self.revision.stored

    @property
    def state(self) -> State:
        found = condition(self.parts, self.fronts, self.engines)
        return "stopped" if found == "unreachable" and self.replaced else found

    def replaced_by(self, others: Iterable["Looked"]) -> bool:
        """Whether one of these serves in its place on every node that cannot be reached."""
        lost = {part.node for part in self.parts if not part.reachable}
        serving = [one.revision for one in others if one.state == "serving"]
        instead = in_the_way(self.revision, serving)
        return not self.revision.runs and any(lost <= {m.name for m in one.stored.members} for one in instead)

    @property
    def suspects(self) -> Sequence[Place]:
        """Where the cause may be: not at a server that serves, and at a proxy only if no server is to blame."""
        servers = self._servers
        front = [place for place in self.places if place[0].role == "proxy"]
        if not front or not any(asked.serves for asked in servers.values()):
            return self.places
        silent = {rank for head, asked in servers.items() if not asked.serves for rank in self.stored.copy_of(head)}
        return [place for place in self.places if place[0] in silent] or front

    @property
    def silent(self) -> Sequence[StoredMember]:
        """Servers that accept connections and do not answer; else proxies in front of servers that do."""
        servers = self._servers
        several = any(member.role == "proxy" for member in self.stored.members)
        roles = ("server", "proxy", "head") if several else ("server", "proxy")
        suspects = [member for member, _ in self.suspects if member.role in roles]
        return [one for one in suspects if (servers[one].hangs if one in servers else one not in self.stored.engines)]

    @property
    def copies(self) -> Sequence[tuple[Sequence[StoredMember], ServingProbe]]:
        """The members of each copy, with what its API answered."""
        return [(self.stored.copy_of(server), asked) for server, asked in self._servers.items()]

    @property
    def _servers(self) -> Mapping[StoredMember, ServingProbe]:
        return dict(zip((m for m in self.stored.engines if m.port is not None), self.engines, strict=True))


@dataclass(frozen=True)
class Answers:
    """`apis` by node and container; `facts` with the load of the GPU; `drops`, the logs of scheduled cache drops."""

    apis: Mapping[tuple[str, str], ServingProbe]
    facts: Mapping[str, Facts]
    drops: Mapping[str, str]


def ask(session: Session, facts: Mapping[str, Facts], revisions: Iterable[DeployedRevision]) -> Answers:
    """One wave over all nodes. An API of a silent node whose answer did not reach another node is unknown."""
    apis = [found for one in revisions if one.runs for found in _questions(facts, one)]
    here = [name for name in session.names if name in facts]
    cron = [name for name in here if isinstance(found := facts[name].schedule, Scheduled) and found.last]
    told, loads, drops = session.ask_in_turns(
        [(node, command) for node, _, command in apis],
        [(name, GPU) for name in here],
        [(name, caches.runs(SAMPLES)) for name in cron],
    )
    return Answers(
        {key: _heard(asker, key[0], answer) for (asker, key, _), answer in zip(apis, told, strict=True)},
        {**facts, **{name: _with_load(facts[name], answer) for name, answer in zip(here, loads, strict=True)}},
        {name: answer.stdout for name, answer in zip(cron, drops, strict=True) if isinstance(answer, Result)},
    )


def _heard(asker: str, node: str, answer: Result | NodeLost | None) -> ServingProbe:
    heard = serving_probe(answer.stdout) if isinstance(answer, Result) else ServingProbe("wait", "no answer")
    return heard if asker == node or heard.serves else ServingProbe("wait")


def _questions(
    facts: Mapping[str, Facts], revision: DeployedRevision
) -> Iterator[tuple[str, tuple[str, str], Command]]:
    """The node to ask, the member and the question for each API; a node of another member may ask for a silent one."""
    stored = revision.stored
    cut = cut_off(stored, facts)
    beside = next((m.name for m in stored.fronts or stored.members if m.name in facts), None)
    for member in stored.members:
        asker = member.name if member.name in facts else beside
        if member.port is None or asker is None:
            continue
        asked = question({member.name: facts[asker]}, stored, member)
        broken = any(one.name in cut for one in stored.copy_of(member))
        if asker != member.name:
            asked = replace(asked, container="", executor=None)
        if broken:
            asked = replace(asked, executor=None)  # Ray's own command hangs without the link
        yield (
            asker,
            (member.name, stored.container(member)),
            scripts.serving(asked, LINK_SECONDS if broken else LOOK_SECONDS),
        )


def _with_load(facts: Facts, answer: Result | NodeLost | None) -> Facts:
    try:
        return replace(facts, gpu_load=parse(answer.stdout).gpu_load) if isinstance(answer, Result) else facts
    except Unreadable:
        return facts


def look(session: Session, facts: Mapping[str, Facts], revision: DeployedRevision, answers: Answers) -> Looked:
    """Put together what is known of a deployment."""
    stored = revision.stored
    found = {(node, container.name): container for node, container in revision.parts}
    places = [(member, found.get((member.name, stored.container(member)))) for member in stored.members]

    def answer(member: StoredMember) -> ServingProbe:
        container = found.get((member.name, stored.container(member)))
        if member.name in facts and (container is None or not container.runs):
            return ServingProbe("wait")  # at its address another deployment may answer
        return answers.apis.get((member.name, stored.container(member)), ServingProbe("wait"))

    return Looked(
        revision,
        places,
        [_part(session, facts, member, container) for member, container in places],
        [answer(member) for member in stored.fronts],
        [answer(member) for member in stored.engines if member.port is not None],
    )


def _part(
    session: Session, facts: Mapping[str, Facts], member: StoredMember, container: Container | None
) -> MemberContainer:
    """A member's container as its node shows it."""
    reachable = member.name in facts
    if container is None:
        return MemberContainer(member.name, member.role, reachable, None, "missing")
    return MemberContainer(member.name, member.role, reachable, container.name, container.state, container.gave_up)


def read_causes(session: Session, looked: Iterable[Looked]) -> Logs:
    """The logs of all containers of deployments that do not serve, and of those that Docker restarted."""
    wanted = [
        (member.name, container.name, scripts.logs(container.name, LINES))
        for one in looked
        for member, container in one.places
        if container is not None and (container.restarts or one.state not in ("serving", "stopped"))
    ]
    entries = read_logs(session, wanted) if wanted else []
    return {(entry["node"], entry["container"]): entry["text"] for entry in entries}
