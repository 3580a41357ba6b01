"""What a fleet has beside its deployments, its endpoint and its pages: one container each, as it is and is to be."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sparkops.core.facts import Container, Facts, Left
from sparkops.core.facts.containers import ASIDE
from sparkops.core.plan import Step, Undoing
from sparkops.core.revision import Member, Revision
from sparkops.core.situation import Choices, state_dir
from sparkops.core.stored import Stored
from sparkops.node_commands import docker, scripts
from sparkops.phases import parts
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.steps import QUIETLY, step
from sparkops.phases.verify import await_stored


@dataclass(frozen=True, kw_only=True)
class Companion:
    """`others` are its earlier ones, with other nodes, ports, images or variables. It `hangs` if it runs and does not
    answer."""

    revision: Revision
    facts: Facts
    choices: Choices
    others: tuple[DeployedRevision, ...] = ()
    hangs: bool = False

    @property
    def member(self) -> Member:
        return self.revision.members[0]

    @property
    def name(self) -> str:
        """Its container."""
        return self.revision.container(self.member)

    @property
    def stored(self) -> Stored:
        return Stored(self.revision.deployment, self.revision.hash, self.revision.data)

    @property
    def left(self) -> Left | None:
        return self.facts.state if isinstance(self.facts.state, Left) else None

    @cached_property
    def existing(self) -> Container | None:
        return next((one for one in self.facts.containers if one.name == self.name and one.ours), None)

    @property
    def own(self) -> Container | None:
        """Its container, if that can go on."""
        return None if self.hangs else self.existing

    @property
    def runs(self) -> bool:
        return self.own is not None and self.own.state == "running" and not self.own.gave_up

    @property
    def replaces(self) -> bool:
        """Whether its container cannot be started again, and another one comes in its place."""
        return self.existing is not None and not self.runs and not (self.own and self.own.state == "exited")

    @property
    def in_the_way(self) -> tuple[DeployedRevision, ...]:
        """Those of the others on the port of this one."""
        place = (self.member.name, self.member.port)
        return tuple(one for one in self.others if place in [(node, port) for node, _, port in one.stored.places])


def make_room(one: Companion, facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Stop what is in its way; the undo starts that again."""
    for other in one.in_the_way:
        for place, container in other.running:
            yield parts.stop(facts, other.stored, place, container, one.choices)


def begin(one: Companion, command: docker.ContainerCommand) -> Iterator[Step]:
    """Start its container, or one with this command in its place."""
    node = one.member.name
    if one.own is not None and one.own.state == "exited":
        yield parts.start({node: one.facts}, one.stored, node, one.own)
        return
    owner = (one.name, one.revision.deployment, state_dir(one.facts))
    if one.replaces:
        aside, back = scripts.container("aside", *owner), scripts.container("again", *owner)
        yield step(f"aside.{node}.{one.name}", node, f"put {one.name} aside", aside, back, QUIETLY)
    told = Undoing(done=f"removed {one.name}")
    undo = scripts.container("drop", *owner)
    yield step(f"start.{node}.{one.name}", node, f"start {one.name}", docker.run(command), undo, told)


def load(one: Companion) -> Iterator[Step]:
    """Wait until it listens."""
    wait = await_stored(one.stored, one.member.name, one.name, one.choices)
    assert wait is not None, "it has a port"
    yield step(f"load.{one.member.name}.{one.name}", one.member.name, f"wait for {one.name}", wait)


def end_parts(one: DeployedRevision, facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Remove its containers."""
    for node, container in one.parts:
        remove = scripts.container("remove", container.name, one.stored.deployment, state_dir(facts[node]))
        yield step(f"remove.{node}.{container.name}", node, f"remove {container.name}", remove)


def end_aside(one: Companion) -> Iterator[Step]:
    """Remove what was put aside for it."""
    if one.replaces:
        name, node = f"{one.name}{ASIDE}", one.member.name
        remove = scripts.container("remove", name, one.revision.deployment, state_dir(one.facts))
        yield step(f"remove.{node}.{name}", node, f"remove {name}", remove)
