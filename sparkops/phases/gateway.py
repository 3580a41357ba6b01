"""Start, route and end the endpoint of a fleet."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sparkops.core.endpoints import api_url, health_path
from sparkops.core.facts import Container, Facts, Left
from sparkops.core.fleet.routes import ModelRoute
from sparkops.core.fleet.written_routes import folder
from sparkops.core.plan import Secret, Step, Undoing
from sparkops.core.revision import Member, Revision
from sparkops.core.situation import Choices, key_path, state_dir
from sparkops.core.stored import Stored
from sparkops.node_commands import docker, gateway, proxy, scripts
from sparkops.phases import parts
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.steps import QUIETLY, step
from sparkops.phases.verify import await_answer, await_stored

CONFIG = Secret("the endpoint's configuration")
"""Stands for it in a plan that makes a new API key, whose digest nobody knows yet."""

NEW_KEY = "new"
"""The digest of a key that is still to be made."""


@dataclass(frozen=True)
class Gateway:
    """The endpoint that a fleet is to have. `others` are its earlier ones, with other nodes, ports or images."""

    revision: Revision
    facts: Facts
    routes: tuple[ModelRoute, ...]
    choices: Choices
    others: tuple[DeployedRevision, ...] = ()

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

    @cached_property
    def existing(self) -> Container | None:
        return next((one for one in self.facts.containers if one.name == self.name and one.ours), None)

    @property
    def runs(self) -> bool:
        return self.existing is not None and self.existing.state == "running" and not self.existing.gave_up

    @property
    def folder(self) -> str:
        return f"{state_dir(self.facts)}/gateways/{folder(self.stored)}"

    @property
    def config(self) -> str:
        return gateway.config(self.routes)

    @property
    def has_new_key(self) -> bool:
        """Whether a key is still to be made, so that nobody knows its digest yet."""
        return any(NEW_KEY in route.keys for route in self.routes)

    @property
    def before(self) -> str | None:
        """The configuration that is there."""
        return self.facts.state.gateways.get(folder(self.stored)) if isinstance(self.facts.state, Left) else None

    @property
    def routed(self) -> bool:
        """Whether it runs with these routes."""
        return self.runs and self.before == self.config

    @property
    def in_the_way(self) -> tuple[DeployedRevision, ...]:
        """What runs of the others on the port of this one."""
        place = (self.member.name, self.member.port)
        return tuple(one for one in self.others if place in [(node, port) for node, _, port in one.stored.places])


def start(one: Gateway, facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Start it, unless it runs, and wait until it listens. It may lead to deployments that do not serve yet."""
    yield from () if one.runs else _begin(one, facts)
    yield from load(one)


def _begin(one: Gateway, facts: Mapping[str, Facts]) -> Iterator[Step]:
    node, owner = one.member.name, (one.name, one.revision.deployment, state_dir(one.facts))
    for other in one.in_the_way:
        for place, container in other.running:
            yield parts.stop(facts, other.stored, place, container, one.choices)
    yield from configure(one)
    if one.existing is not None and one.existing.state == "exited":
        yield parts.start(facts, one.stored, node, one.existing)
    else:
        if one.existing is not None:
            yield step(f"remove.{node}.{one.name}", node, f"remove {one.name}", scripts.container("remove", *owner))
        module = scripts.write(f"{one.folder}/{gateway.MODULE_FILE}", "644", gateway.MODULE)
        yield step(f"gateway-module.{node}", node, "write the endpoint's key check", module)
        undo, told = scripts.container("drop", *owner), Undoing(done=f"removed {one.name}")
        yield step(f"start.{node}.{one.name}", node, f"start {one.name}", docker.run(_container(one)), undo, told)


def load(one: Gateway) -> Iterator[Step]:
    """Wait until it listens."""
    wait = await_stored(one.stored, one.member.name, one.name, one.choices)
    assert wait is not None, "a gateway has a port"
    yield step(f"load.{one.member.name}.{one.name}", one.member.name, f"wait for {one.name}", wait)


def configure(one: Gateway) -> Iterator[Step]:
    """Write its routes. One that runs follows them without a restart."""
    if one.before == one.config:
        return
    node, path = one.member.name, f"{one.folder}/{gateway.CONFIG}"
    write = scripts.write(path, "600", CONFIG if one.has_new_key else one.config)
    undo = scripts.write(path, "600", one.before) if one.before is not None else scripts.remove_file(path)
    names = ", ".join(route.name for route in one.routes)
    yield step(f"gateway-config.{node}", node, f"route {names}", write, undo, QUIETLY)


def ask(one: Gateway, facts: Mapping[str, Facts]) -> Iterator[Step]:
    """A short request for each model name, from a node of its deployment, which has the key."""
    for route in (it for it in one.routes if it.kind != "score"):  # LiteLLM has no such requests
        _, server = route.servers[0]
        asked = scripts.Question(
            api=api_url(one.member),
            health=health_path("proxy"),
            model=route.name,
            kind=route.kind,
            key=key_path(facts[server.name]),
            container="",
        )
        title = f"ask {route.name} at {asked.api}"
        yield step(f"ask.{server.name}.{route.name}", server.name, title, await_answer(asked, one.choices))


def end(others: Iterable[DeployedRevision], facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Remove endpoints that the fleet no longer has."""
    for one in others:
        for node, container in one.parts:
            remove = scripts.container("remove", container.name, one.stored.deployment, state_dir(facts[node]))
            yield step(f"remove.{node}.{container.name}", node, f"remove {container.name}", remove)


def _container(one: Gateway) -> docker.ContainerCommand:
    inside = gateway.FOLDER_IN_CONTAINER
    return docker.ContainerCommand(
        name=one.name,
        image=one.facts.image_id(one.revision.image.reference),
        labels=docker.labels(one.revision, one.member, (), one.choices.fleet),
        env=proxy.ENVIRONMENT,
        mounts=(f"{one.folder}:{inside}:ro",),
        words=proxy.words(one.member, f"{inside}/{gateway.CONFIG}"),
        gpu=False,
    )
