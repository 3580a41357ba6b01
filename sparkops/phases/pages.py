"""Start and end the pages of a fleet, beside its endpoint."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkops.core.endpoints import health_url
from sparkops.core.facts import Container, Facts
from sparkops.core.facts.containers import KEY_IN_CONTAINER
from sparkops.core.page import words
from sparkops.core.plan import Secret, Step
from sparkops.core.situation import state_dir
from sparkops.node_commands import docker, scripts
from sparkops.phases.companion import Companion, begin, end_aside, end_parts, load, make_room
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.steps import QUIETLY, step


@dataclass(frozen=True, kw_only=True)
class FleetPage(Companion):
    """A page that a fleet is to have. Its API key is one of those that the endpoint knows people by."""

    @property
    def key_digest(self) -> str | None:
        """The digest of its key; None if that is still to be made."""
        return self.left.page_keys.get(self.revision.deployment) if self.left else None

    @property
    def own(self) -> Container | None:
        """Its container, if that has a key."""
        return super().own if self.key_digest else None


def key_folder(facts: Facts, name: str) -> str:
    """The folder on its node with the file `key` of a page."""
    return f"{state_dir(facts)}/pages/{name}"


def volume(name: str) -> str:
    """The volume of Docker that keeps a page's data: nothing of sparkops removes it."""
    return f"sparkops-page-{name}"


def key_of(name: str) -> Secret:
    return Secret(f"page-key {name}")


def start(pages: Iterable[FleetPage], facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Start those that do not run, and wait until they answer."""
    for one in (it for it in pages if not it.runs):
        # two of them must not write into one volume, so all earlier ones on this node stop first
        yield from make_room(one, facts, [it for it in one.others if one.member.name in it.nodes])
        yield from _key(one)
        yield from begin(one, _container(one))
        yield from load(one)


def _key(one: FleetPage) -> Iterator[Step]:
    if one.key_digest is None:
        name, node = one.revision.deployment, one.member.name
        path = f"{key_folder(one.facts, name)}/key"
        write, undo = scripts.write(path, "600", key_of(name)), scripts.remove_file(path)
        yield step(f"page-key.{node}.{name}", node, f"write the key of {name}", write, undo, QUIETLY)


def end(pages: Sequence[FleetPage], ends: Iterable[DeployedRevision], facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Remove those that the fleet no longer has there, with their keys; what people have in them stays."""
    wanted = {(one.member.name, one.revision.deployment) for one in pages}
    for other in ends:
        yield from end_parts(other, facts)
        for node, name in {(node, other.stored.deployment) for node, _ in other.parts} - wanted:
            forget = scripts.remove_folder(key_folder(facts[node], name))
            yield step(f"forget-page.{node}.{name}", node, f"remove the key of {name}", forget)
    for one in pages:
        yield from end_aside(one)


def _container(one: FleetPage) -> docker.ContainerCommand:
    revision, name = one.revision, one.revision.deployment
    keys, program = ",".join(revision.args["key"]), words(revision.program or "")
    return docker.ContainerCommand(
        name=one.name,
        image=one.facts.image_id(revision.image.reference),
        labels=docker.labels(revision, one.member, (), one.choices.fleet),
        env=revision.env,
        mounts=(
            f"{volume(name)}:{revision.args['data']}",
            f"{key_folder(one.facts, name)}/key:{KEY_IN_CONTAINER}:ro",
        ),
        words=("page", "--health", health_url(one.member), "--keys", keys, "--", *program),
        gpu=False,
    )
