"""All that checks and phases may know: what is wanted, where, what the nodes have, and the user's choices."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from sparkops.core.effective import Effective
from sparkops.core.fabric import Cabling, Fabric, cabling_of, graph, links
from sparkops.core.fabric.bandwidth import Carried
from sparkops.core.facts import Container, Facts, Link, Peers, Unread
from sparkops.core.needs import NeededModel, models
from sparkops.core.plan import USUAL, WaitLimits
from sparkops.core.recipe import MOUNTS
from sparkops.core.revision import SPEC, Member, Revision
from sparkops.core.stored import Stored
from sparkops.core.topology import Placement

Todo = Literal["keep", "start", "restart", "replace", "run"]


@dataclass(frozen=True)
class Choices:
    """The user's choices. `keep` are hashes of revisions whose stopped containers are never removed.

    `at_once`: copies behind a proxy are not replaced one after the other. `fleet` is the fleet that it is a part of.
    `succeeds` are hashes of deployments that this fleet no longer has, in whose place it comes: a rollback starts them.
    `on_demand`: it starts when somebody asks for it, so it may be stopped.
    """

    alongside: bool = False
    refresh: bool = False
    at_once: bool = False
    limits: WaitLimits = USUAL
    sudo_password: bool = False
    keep: frozenset[str] = frozenset()
    fleet: str = ""
    succeeds: tuple[str, ...] = ()
    on_demand: bool = False


@dataclass(frozen=True)
class Away:
    """Why a node could not be reached; `kind` is that of `remote.connect_errors`."""

    reason: str
    hint: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Span:
    """When a node was asked and when its answer arrived, in seconds since 1970 by this machine's clock."""

    sent: float
    received: float


@dataclass(frozen=True)
class Situation:
    """Frozen at the start of a stage.

    `facts` holds the nodes that answered; `key_digest` is of the key to be used; `broken` are nodes whose engine of
    this revision is up but does not answer, `mute` those whose server does not answer that copies in turns replace;
    `given` has, by node and file, the digest of a key that containers got from another user's file. `leaving` are the
    other containers on its nodes that the same run stops, if it is a part of a fleet. Only a preflight
    fills the rest: `away` are the nodes without facts, `spans` when each node answered, `peers` what the nodes found of
    each other, `measured` how much their cables carry, None unless that was asked for.
    """

    revision: Revision
    effective: Effective
    placement: Placement
    facts: Mapping[str, Facts]
    key_digest: str
    choices: Choices = Choices()
    broken: frozenset[str] = frozenset()
    unproven: frozenset[str] = frozenset()
    mute: frozenset[str] = frozenset()
    given: Mapping[tuple[str, str], str] = field(default_factory=dict)
    leaving: tuple[tuple[str, Stored, Container], ...] = ()
    away: Mapping[str, Away] = field(default_factory=dict)
    spans: Mapping[str, Span] = field(default_factory=dict)
    peers: Mapping[str, Peers | Unread] = field(default_factory=dict)
    measured: tuple[Carried, ...] | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        """The members of the revision that the placement has: in the situation of one copy, only its own."""
        here = {(place.node.name, place.role) for place in self.placement.places}
        return tuple(member for member in self.revision.members if (member.name, member.role) in here)

    @property
    def engines(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.role != "proxy")

    def state_dir(self, node: str) -> str:
        return state_dir(self.facts[node])

    def existing(self, member: Member) -> Container | None:
        """The container of this revision on the member's node."""
        name = self.revision.container(member)
        return next((c for c in self.facts[member.name].containers if c.name == name and c.ours), None)

    def todo(self, member: Member) -> Todo:
        """What the member's container needs: nothing, a (re)start, or to be created (again)."""
        found = self.existing(member)
        if found is None:
            return "run"
        if found.gave_up or found.state not in ("running", "exited") or self.is_broken(member):
            return "replace"
        if self.choices.refresh and (found.spec or 0) < SPEC:
            return "replace"
        known = self.facts[member.name]
        own = found.key_file in (None, key_path(known))
        if found.state != "running":
            return "start" if own and self._rolls_back(found) else "replace"
        given = self.given.get((member.name, found.key_file or ""), known.key_digest)
        if member.port is None or self.revision.without_key or given == self.key_digest:
            return "keep"
        return "restart" if own else "replace"

    def _rolls_back(self, kept: Container) -> bool:
        """Whether a rollback from this container would start what is replaced now: its label is for good.

        Without one, a rollback starts what was stopped last.
        """
        replaces, labelled = frozenset(self.replaces), frozenset(kept.replaced)
        return not replaces or replaces == labelled or (not labelled and len(replaces) == 1)

    @property
    def loads_all(self) -> bool:
        """Whether every engine loads its model now."""
        return all(self.todo(member) != "keep" for member in self.revision.engines)

    def is_broken(self, member: Member) -> bool:
        """Whether the member must be replaced; a copy's members are replaced together, as any rank may hang."""
        return any(other.name in self.broken for other in self.revision.copy_of(member))

    def graphs(self, member: Member) -> str:
        """The digest of the image for an engine that runs CUDA graphs across nodes, else an empty text.

        With Ray only the head's command line decides.
        """
        across = member.link is not None and self.effective.exchanges
        decides = member.port is not None or self.revision.executor == "mp"
        image = self.facts[member.name].image(self.revision.image.reference)
        if not across or not decides or self.effective.eager or self.revision.kind != "chat" or image is None:
            return ""
        digest = image.id.removeprefix("sha256:")
        return digest if digest.isalnum() else ""

    @cached_property
    def needed(self) -> tuple[NeededModel, ...]:
        """The models that an engine opens and that sparkops can judge: not those in a mount or in the image."""
        here = (one for one in models(self.effective) if not (one.name.local and self._mounted(one.name.model)))
        return tuple(one for one in here if one not in self.in_image)

    @cached_property
    def in_image(self) -> tuple[NeededModel, ...]:
        """The further models that are paths of no node and of no mount."""
        paths = (one for one in models(self.effective)[1:] if one.name.local and not self._mounted(one.name.model))
        engines = [self.facts[member.name] for member in self.revision.engines]
        return tuple(one for one in paths if not any(map(one.exists, engines)))

    @property
    def local_models(self) -> tuple[str, ...]:
        """The models that are directories of the nodes."""
        return tuple(one.name.model for one in self.needed if one.name.local)

    def _mounted(self, path: str) -> bool:
        """Whether a mount of the recipe provides this path of the container."""
        targets = (
            MOUNTS[name][1] if name in MOUNTS else name.partition(":")[2].partition(":")[0] or name
            for name in self.revision.mounts
        )
        return any(path == target or path.startswith(f"{target.rstrip('/')}/") for target in targets)

    def commit(self, need: NeededModel) -> str | None:
        """The commit that the revision names."""
        if need.role == "model":
            return self.revision.model_revision
        return (self.revision.models or {}).get(need.name.model)

    def offline(self, node: str) -> bool:
        """Whether an engine on this node needs no hub: every model is complete."""
        served = any(one.role == "model" for one in self.needed)
        return served and all(one.usable(self.facts[node]) for one in self.needed)

    @cached_property
    def replaced(self) -> tuple[tuple[str, Stored, Container], ...]:
        """(node, revision, container) of other revisions that run on this one's nodes, with their parts elsewhere.

        With `alongside`, only those of the same deployment. In the situation of one copy, only those in its places.
        """
        here = {member.name for member in self.revision.members}
        places = {(place.node.name, place.role) for place in self.placement.places}
        running = [(node, stored, c) for node, stored, c in deployed(self.facts) if c.runs]
        gone = {
            (stored.deployment, stored.hash)
            for node, stored, _ in running
            if stored.hash != self.revision.hash
            and (not self.choices.alongside or stored.deployment == self.revision.deployment)
            and here & {node, *(member.name for member in stored.members)}
        }
        whole = (item for item in running if (item[1].deployment, item[1].hash) in gone)
        return tuple(item for item in whole if not self.partial or (item[0], item[2].role) in places)

    @property
    def gone(self) -> tuple[tuple[str, Stored, Container], ...]:
        """All that the run stops on its nodes: what it replaces, and what leaves."""
        return (*self.replaced, *self.leaving)

    @cached_property
    def copies(self) -> tuple["Situation", ...]:
        """The situation of each copy of the model alone, to judge the fabric of its nodes."""
        found = [replace(self, placement=one) for one in self.placement.copies]
        if len(found) < 2:
            return (self,)
        for one in found:
            vars(one).update(fabric=self.fabric, subnets=self.subnets)  # these are the same for all
        return tuple(found)

    @property
    def partial(self) -> bool:
        """Whether this is the situation of one copy out of several, or of its proxy."""
        return str(self.placement.topology) != self.revision.topology

    def around(self, node: str) -> "Situation":
        """The situation of the copy that this node serves; the whole one for another node."""
        return next((one for one in self.copies if any(it.name == node for it in one.placement.nodes)), self)

    @cached_property
    def fabric(self) -> Fabric:
        """The ports and cables of all nodes; without `peers`, as far as subnets tell."""
        return graph(self.facts, self.peers)

    @cached_property
    def cabling(self) -> Cabling:
        """How the nodes of the engines are connected."""
        return cabling_of(self.fabric, [place.node.name for place in self.placement.engines])

    @cached_property
    def subnets(self) -> Fabric:
        """The fabric as far as the subnets of the addresses tell, by which NCCL finds its peers."""
        return graph(self.facts)

    @cached_property
    def addressed(self) -> Cabling:
        """How the subnets connect the nodes of the engines."""
        return cabling_of(self.subnets, [place.node.name for place in self.placement.engines])

    @cached_property
    def links(self) -> Mapping[str, Link | Unread]:
        """The link that each engine's node uses on one cable or switch, or why it has none."""
        nodes = [place.node for place in self.placement.engines]
        return links(self.fabric, self.addressed, nodes, self.facts)

    @cached_property
    def fabric_owners(self) -> Mapping[str, str]:
        """By address of a CX7 interface, the node that has it."""
        return {
            str(address.ip): name
            for name, facts in self.facts.items()
            for one in facts.interfaces
            if one.port is not None
            for address in one.ipv4
        }

    @cached_property
    def silent(self) -> frozenset[str]:
        """Fabric addresses that answer no node, if others do answer: the fault is at those addresses."""
        answers: dict[str, list[bool]] = {}
        for found in self.peers.values():
            for ping in () if isinstance(found, Unread) else found.pings:
                answers.setdefault(ping.address, []).append(ping.reached)
        dead = frozenset(address for address, reached in answers.items() if not any(reached))
        return dead if len(dead) < len(answers) else frozenset()

    def lldp(self, node: str) -> Mapping[str, str]:
        """By interface of a node, what LLDP names at the other end, such as the port of a switch."""
        found = self.peers.get(node)
        return found.lldp if isinstance(found, Peers) else {}

    @property
    def replaces(self) -> tuple[str, ...]:
        """Hashes of what served last, for a rollback: what is replaced, or what an unproven revision had replaced."""
        served = (
            digest
            for _, stored, container in self.replaced
            for digest in (container.replaced if stored.hash in self.unproven else (stored.hash,))
        )
        found = (*served, *self.choices.succeeds)
        return tuple(dict.fromkeys(digest for digest in found if digest != self.revision.hash))


def deployed(facts: Mapping[str, Facts]) -> list[tuple[str, Stored, Container]]:
    """Every container of a deployment with the revision in its labels, in the order of nodes."""
    return [one for one in _labelled(facts) if not one[1].is_companion]


def companions(facts: Mapping[str, Facts]) -> list[tuple[str, Stored, Container]]:
    """Every container of a fleet's endpoint and pages, as `deployed`."""
    return [one for one in _labelled(facts) if one[1].is_companion]


def _labelled(facts: Mapping[str, Facts]) -> list[tuple[str, Stored, Container]]:
    nodes = _by_address(facts)
    return [
        (node, Stored(c.deployment or "?", c.hash or "", c.revision or {"schema": c.schema or 0}, nodes), c)
        for node, known in facts.items()
        for c in known.containers
        if c.ours
    ]


def _by_address(facts: Mapping[str, Facts]) -> dict[str, str]:
    """By address, the only node that has it; addresses of Docker's bridges are on every node."""
    having: dict[str, list[str]] = {}
    for node, known in facts.items():
        for address in known.addresses:
            having.setdefault(address, []).append(node)
    return {address: nodes[0] for address, nodes in having.items() if len(nodes) == 1}


def state_dir(facts: Facts) -> str:
    """The directory of sparkops' own files on a node."""
    return f"{facts.home}/.local/state/sparkops"


def key_path(facts: Facts) -> str:
    """The file with the API key of all deployments whose front is this node, so clients keep access after a switch."""
    return f"{state_dir(facts)}/key"


def reads_home_key(facts: Facts, container: Container) -> bool:
    """Whether a container was given the key in the home of this login user."""
    return container.key_file == key_path(facts)
