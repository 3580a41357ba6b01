"""Start, route and end the endpoint of a fleet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from sparkops.core.endpoints import api_url, health_path
from sparkops.core.facts import Facts
from sparkops.core.facts.containers import CONFIG_IN_CONTAINER
from sparkops.core.fleet.written_routes import folder
from sparkops.core.plan import Command, Step
from sparkops.core.situation import key_path, state_dir
from sparkops.node_commands import docker, gateway, scripts
from sparkops.phases.companion import begin, end_aside, end_parts, load, make_room
from sparkops.phases.gateway import PEOPLE_TITLE, Gateway, content, people_content, texts
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.prepare import secret_of
from sparkops.phases.steps import QUIETLY, step
from sparkops.phases.switches import let_in, shut
from sparkops.phases.verify import await_answer


def start(one: Gateway, facts: Mapping[str, Facts], there: Set[str]) -> Iterator[Step]:
    """Start it, unless it runs, and wait until it listens. These deployments are at their places already."""
    yield from _keys(one)
    if one.runs:
        yield from _people(one)
    else:
        yield from make_room(one, facts)
        yield from _write(one, "first", one.before, one.config(there))
        yield from _people(one)
        yield from begin(one, _container(one))
    yield from load(one)


def _keys(one: Gateway) -> Iterator[Step]:
    """Write the keys of deployments that it lacks, beside those that engines have until they are replaced."""
    for name, file in one.missing_keys.items():
        path = f"{one.folder}/{gateway.KEYS}/{file}"
        write, node = scripts.write(path, "600", secret_of(name)), one.member.name
        title = f"write the key of {name} for the endpoint"
        undo = None if file in one.key_files else scripts.remove_file(path)
        yield step(f"gateway-key.{node}.{name}", node, title, write, undo, QUIETLY)


def _people(one: Gateway) -> Iterator[Step]:
    """Write the file of people's keys, if it is to be another."""
    if not one.new_people:
        return
    path, before = f"{one.people_folder}/keys.json", one.people_before
    undo = scripts.write(path, "600", before) if before else scripts.remove_file(path)
    write = scripts.write(path, "600", people_content(one.people))
    yield step(f"gateway-people.{one.member.name}", one.member.name, PEOPLE_TITLE, write, undo, QUIETLY)


def route(one: Gateway, arrivals: Sequence[Set[str]]) -> Iterator[list[Step]]:
    """After each round, the step that changes the routes; it follows them without a restart."""
    first, *later = texts(one, arrivals)
    before = one.before if one.runs else first
    for number, after in enumerate(later, 1):
        yield list(_write(one, str(number), before, after))
        before = after


def switch(one: Gateway, facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Let it start and stop what is on demand."""
    if one.switches:
        yield from let_in(one.switches, one.member.name, facts)


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
        asked = next((one.place for one in found.servers if one.deployment in deployments), None)
        if asked is None or not found.served:
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
        yield from end_parts(other, facts)
        for node, container in other.parts:
            forget = scripts.remove_folder(f"{state_dir(facts[node])}/gateways/{folder(other.stored)}")
            yield step(f"forget.{node}.{container.name}", node, "remove its routes and keys", forget)
            if one and node != one.member.name:
                people = scripts.remove_file(f"{state_dir(facts[node])}/people/{other.stored.deployment}/keys.json")
                yield step(f"forget-people.{node}", node, "remove its file of people's keys, which moved", people)
    names = {other.stored.deployment for other in others} | ({one.revision.deployment} if one else set())
    for name in sorted(names):
        yield from shut(name, one.switches if one else None, facts)
    if one is None:
        return
    for file in one.former_keys:
        forget = scripts.remove_file(f"{one.folder}/{gateway.KEYS}/{file}")
        yield step(f"forget.{one.member.name}.{file}", one.member.name, "remove a key that no deployment has", forget)
    yield from end_aside(one)


def _container(one: Gateway) -> docker.ContainerCommand:
    return docker.ContainerCommand(
        name=one.name,
        image=one.facts.image_id(one.revision.image.reference),
        labels=docker.labels(one.revision, one.member, (), one.choices.fleet),
        env={},
        mounts=(
            f"{one.folder}:{CONFIG_IN_CONTAINER}:ro",
            f"{one.people_folder}:{gateway.PEOPLE_IN_CONTAINER}",
            *((f"/usr:{gateway.BORROWED_IN_CONTAINER}:ro",) if one.switches else ()),
        ),
        words=gateway.words(one.member),
        gpu=False,
    )
