"""A deployment over time: each of its ranks as its own node shows it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkops.core.condition import REPLACE_SECONDS, MemberContainer, ServingProbe, State, condition
from sparkops.core.endpoints import api_url, health_url
from sparkops.core.enginelog import BootPhase
from sparkops.core.facts import known
from sparkops.core.facts.containers import GAVE_UP
from sparkops.core.fleet.usage import DayOfUse
from sparkops.core.stored import Stored, StoredMember
from sparkops.core.topology import WITHOUT_MODEL
from sparkops.core.watch.engine import KV_USE, Engine
from sparkops.core.watch.frame import Seen
from sparkops.core.watch.node import WatchedNode
from sparkops.core.watch.pace import Pace
from sparkops.core.watch.spent import joules_per

STUCK = 6.0
"""Seconds without any work after which an engine with requests may hang. A step takes longer while a slow model reads a
long prompt, so an engine that was seen to take longer for a step has three times as long, up to REPLACE_SECONDS."""

UNWATCHED = "not watched"
"""The problem of a node that is not among those that were selected."""


@dataclass(frozen=True)
class Rank:
    """A member of a deployment. `seen` is its container, None if it has none; `engine` what it says of itself."""

    member: StoredMember
    container: str
    node: WatchedNode
    seen: Seen | None
    engine: Engine | None
    pace: Pace

    @property
    def phase(self) -> BootPhase | None:
        """How far it is with its boot; None if it serves, does not run, or its log tells nothing."""
        return self.engine.phase if self.engine and self.part.up and not self.engine.answers else None

    @property
    def stuck(self) -> bool:
        """Whether it has requests and does nothing."""
        return self.part.up and self.pace.stuck >= max(STUCK, min(3 * self.pace.slowest, REPLACE_SECONDS))

    @property
    def hangs(self) -> bool:
        """Whether it does nothing for so long that no prompt explains it."""
        return self.part.up and self.pace.stuck >= REPLACE_SECONDS

    @property
    def part(self) -> MemberContainer:
        log = self.engine.log if self.engine else ()
        name, state = (self.container, self.seen.state) if self.seen else (None, "missing")
        gave_up = bool(log) and GAVE_UP in log[-1]
        return MemberContainer(self.member.name, self.member.role, not self.node.problem, name, state, gave_up)

    @property
    def probe(self) -> ServingProbe:
        """Its API in the words of `status`."""
        if self.engine is None or not self.part.up:
            return ServingProbe("wait")
        if self.hangs:
            return ServingProbe("wait", "requests run, and no token comes", "200")
        if not self.engine.answers:
            return ServingProbe("wait", "", self.engine.health)
        return ServingProbe("ready", "", "200", "busy")  # nobody asked it, so it proves nothing of a rank that is away


@dataclass(frozen=True)
class WatchedDeployment:
    stored: Stored
    ranks: Sequence[Rank]

    @property
    def name(self) -> str:
        return self.stored.deployment

    @property
    def engines(self) -> Sequence[Rank]:
        """Those with an API of their own that serve the model."""
        return [rank for rank in self.ranks if rank.member.role not in WITHOUT_MODEL and rank.member.port is not None]

    @property
    def apis(self) -> Sequence[Rank]:
        """All with an API: the engines, and a proxy in front of them."""
        return [rank for rank in self.ranks if rank.member.port is not None]

    @property
    def state(self) -> State:
        """As `status` says it, judged from the nodes that are watched."""
        seen = [rank for rank in self.ranks if rank.node.problem != UNWATCHED]
        fronts = [rank for rank in seen if rank.member in self.stored.fronts] or seen[:1]
        engines = [rank for rank in seen if rank in self.engines]
        return condition([rank.part for rank in seen], [one.probe for one in fronts], [one.probe for one in engines])

    @property
    def busy(self) -> bool:
        """Whether a run of sparkops is changing one of its nodes, so that what is wrong with it may be on purpose."""
        return any(rank.node.busy for rank in self.ranks)

    @property
    def kv_use(self) -> float:
        """The share of the KV cache that is in use, of the engine that uses most of its own."""
        return max((one.engine.counters.get(KV_USE, 0.0) for one in self.engines if one.engine), default=0.0)

    @property
    def accepted(self) -> float | None:
        """The share of speculated tokens that held lately, of the first engine that speculates."""
        return next((one.pace.accepted for one in self.engines if one.pace.accepted is not None), None)

    def joules_per(self, name: str) -> float | None:
        """Energy of the GPUs of its nodes for each token (`written`) or request (`done`) of the last two minutes."""
        nodes = {rank.node.name: rank.node for rank in self.ranks if rank.member.role not in WITHOUT_MODEL}.values()
        told = [() if node.problem else node.spent for node in nodes]
        return joules_per(self.name, told, name)

    @property
    def usage(self) -> DayOfUse | None:
        """What people used at it today; None if it is no endpoint of a fleet, or its node did not tell."""
        found = [known(rank.node.frame.usage, {}) for rank in self.ranks if rank.node.frame]
        return next((one[self.name] for one in found if self.name in one), None) if self.stored.is_gateway else None

    def sum(self, counter: str) -> float:
        return sum(one.engine.counters.get(counter, 0.0) for one in self.engines if one.engine)

    def rate(self, name: str) -> float | None:
        """The sum over its engines of a rate of `Pace`; None while none is known."""
        found = [value for one in self.engines if (value := getattr(one.pace, name)) is not None]
        return sum(found) if found else None


def watched(stored: Stored, nodes: Mapping[str, WatchedNode]) -> WatchedDeployment:
    return WatchedDeployment(stored, [rank for member in stored.members for rank in _rank(stored, member, nodes)])


def _rank(stored: Stored, member: StoredMember, nodes: Mapping[str, WatchedNode]) -> Iterator[Rank]:
    node = nodes.get(member.name) or WatchedNode(member.name, problem=UNWATCHED)
    name = stored.container(member)
    containers = known(node.frame.seen, ()) if node.frame else ()
    seen = next((one for one in containers if one.name == name), None)
    yield Rank(member, name, node, seen, node.engine(name), node.paces.get(name, Pace()))


def to_ask(stored: Stored, node: str) -> Iterator[tuple[str, str, str]]:
    """What to ask on this node about each of its members: container, URL of the health, URL of the counters or `-`."""
    for member in stored.members:
        front = stored.front_of(member)
        if member.name == node and front is not None:
            own = member.port is not None and member.role not in WITHOUT_MODEL
            yield stored.container(member), health_url(front), f"{api_url(member)}/metrics" if own else "-"


def all_to_ask(revisions: Iterable[Stored], node: str) -> tuple[tuple[str, str, str], ...]:
    return tuple(sorted(one for stored in revisions for one in to_ask(stored, node)))
