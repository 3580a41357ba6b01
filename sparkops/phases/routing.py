"""Start, route and end the endpoint of a fleet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from sparkops.core.endpoints import api_url, health_path
from sparkops.core.facts import Facts
from sparkops.core.facts.containers import ASIDE, CONFIG_IN_CONTAINER
from sparkops.core.fleet.written_routes import folder
from sparkops.core.plan import Command, Step, Undoing
from sparkops.core.situation import key_path, state_dir
from sparkops.node_commands import docker, gateway, proxy, scripts
from sparkops.phases import parts
from sparkops.phases.gateway import Gateway, content, texts
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.steps import QUIETLY, step
from sparkops.phases.verify import await_answer, await_stored


def start(one: Gateway, facts: Mapping[str, Facts], there: Set[str]) -> Iterator[Step]:
    """Start it, unless it runs, and wait until it listens. These deployments are at their places already."""
    yield from () if one.runs else _begin(one, facts, there)
    yield from load(one)


def _begin(one: Gateway, facts: Mapping[str, Facts], there: Set[str]) -> Iterator[Step]:
    node = one.member.name
    for other in one.in_the_way:
        for place, container in other.running:
            yield parts.stop(facts, other.stored, place, container, one.choices)
    yield from _write(one, "first", one.before, one.config(there))
    module = scripts.write(f"{one.folder}/{gateway.MODULE_FILE}", "644", gateway.MODULE)
    yield step(f"gateway-module.{node}", node, "write the endpoint's key check", module)
    if one.own is not None and one.own.state == "exited":
        yield parts.start(facts, one.stored, node, one.own)
        return
    owner = (one.name, one.revision.deployment, state_dir(one.facts))
    if one.replaces:
        aside, back = scripts.container("aside", *owner), scripts.container("again", *owner)
        yield step(f"aside.{node}.{one.name}", node, f"put {one.name} aside", aside, back, QUIETLY)
    told = Undoing(done=f"removed {one.name}")
    undo = scripts.container("drop", *owner)
    yield step(f"start.{node}.{one.name}", node, f"start {one.name}", docker.run(_container(one)), undo, told)


def load(one: Gateway) -> Iterator[Step]:
    """Wait until it listens."""
    wait = await_stored(one.stored, one.member.name, one.name, one.choices)
    assert wait is not None, "a gateway has a port"
    yield step(f"load.{one.member.name}.{one.name}", one.member.name, f"wait for {one.name}", wait)


def route(one: Gateway, arrivals: Sequence[Set[str]]) -> Iterator[list[Step]]:
    """After each round, the step that changes the routes; it follows them without a restart."""
    first, *later = texts(one, arrivals)
    before = one.before if one.runs else first
    for number, after in enumerate(later, 1):
        yield list(_write(one, str(number), before, after))
        before = after


def _write(one: Gateway, place: str, before: str | None, after: str) -> Iterator[Step]:
    if before == after:
        return
    node, path = one.member.name, f"{one.folder}/{gateway.CONFIG}"
    undo = _written(path, before) if before is not None else scripts.remove_file(path)
    title = "write the endpoint's routes"
    yield step(f"gateway-config.{node}.{place}", node, title, _written(path, after), undo, QUIETLY)


def _written(path: str, text: str) -> Command:
    return scripts.write(path, "600", content(text))


def ask(one: Gateway, facts: Mapping[str, Facts], deployments: Set[str]) -> Iterator[Step]:
    """A short request for each model name of these deployments, from a node of one of them, which has the key."""
    for found in one.routes():
        asked = next((server for name, server in found.servers if name in deployments), None)
        if asked is None or found.kind == "score":  # LiteLLM has no such requests
            continue
        question = scripts.Question(
            api=api_url(one.member),
            health=health_path("proxy"),
            model=found.name,
            kind=found.kind,
            key=key_path(facts[asked.name]),
            container="",
        )
        title = f"ask {found.name} at {question.api}"
        yield step(f"ask.{asked.name}.{found.name}", asked.name, title, await_answer(question, one.choices))


def end(one: Gateway | None, others: Iterable[DeployedRevision], facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Remove endpoints that the fleet no longer has, their routes, and what was put aside for this one."""
    for other in others:
        for node, container in other.parts:
            remove = scripts.container("remove", container.name, other.stored.deployment, state_dir(facts[node]))
            yield step(f"remove.{node}.{container.name}", node, f"remove {container.name}", remove)
            path = f"{state_dir(facts[node])}/gateways/{folder(other.stored)}/{gateway.CONFIG}"
            yield step(f"forget.{node}.{container.name}", node, "remove its routes", scripts.remove_file(path))
    if one and one.replaces:
        name, node = f"{one.name}{ASIDE}", one.member.name
        remove = scripts.container("remove", name, one.revision.deployment, state_dir(one.facts))
        yield step(f"remove.{node}.{name}", node, f"remove {name}", remove)


def _container(one: Gateway) -> docker.ContainerCommand:
    return docker.ContainerCommand(
        name=one.name,
        image=one.facts.image_id(one.revision.image.reference),
        labels=docker.labels(one.revision, one.member, (), one.choices.fleet),
        env=proxy.ENVIRONMENT,
        mounts=(f"{one.folder}:{CONFIG_IN_CONTAINER}:ro",),
        words=proxy.words(one.member, f"{CONFIG_IN_CONTAINER}/{gateway.CONFIG}"),
        gpu=False,
    )
