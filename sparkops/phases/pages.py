"""Start and end the pages of a fleet, beside its endpoint."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sparkops.core.endpoints import health_url
from sparkops.core.facts import Container, Facts
from sparkops.core.facts.containers import KEY_IN_CONTAINER
from sparkops.core.fleet.fleet_file import WantedPage
from sparkops.core.page import words
from sparkops.core.plan import Secret, Step
from sparkops.core.situation import state_dir
from sparkops.node_commands import docker, scripts
from sparkops.phases.companion import Companion, begin, end_aside, end_parts, load, make_room
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.steps import step


@dataclass(frozen=True, kw_only=True)
class FleetPage(Companion):
    """A page that a fleet is to have. Its API key is one of those that the endpoint knows people by.

    `ends` are all pages of the fleet that end, also of other names.
    """

    wanted: WantedPage
    ends: tuple[DeployedRevision, ...] = ()

    @property
    def key_digest(self) -> str | None:
        """The digest of its key; None if that is still to be made."""
        return self.left.page_keys.get(self.revision.deployment) if self.left else None

    @property
    def own(self) -> Container | None:
        """Its container, if that reads the page's key of this login user."""
        found = super().own
        return found if found and self.key_digest and found.key_file in (None, self.key_path) else None

    @property
    def key_path(self) -> str:
        return key_path(self.facts, self.revision.deployment)

    @property
    def in_the_way(self) -> tuple[DeployedRevision, ...]:
        """Those that end on its port, and all earlier ones here: two of them must not write into one volume."""
        place = (self.member.name, self.member.port)
        here = [one for one in self.others if self.member.name in one.nodes]
        ends = (one for one in self.ends if place in [(node, port) for node, _, port in one.stored.places])
        return (*here, *(one for one in ends if one not in here))


def key_path(facts: Facts, name: str) -> str:
    """The file with a page's key on its node. It stays when the page ends, as the volume with its first user does."""
    return f"{state_dir(facts)}/pages/{name}/key"


def volume(name: str) -> str:
    """The volume of Docker that keeps a page's data: nothing of sparkops removes it."""
    return f"sparkops-page-{name}"


def key_of(name: str) -> Secret:
    return Secret(f"page-key {name}")


def keys(pages: Iterable[FleetPage]) -> Iterator[Step]:
    """Write the keys that are still to be made, before the endpoint knows them.

    No undo takes one away: the first user in the volume may have it as the password by then.
    """
    for one in (it for it in pages if it.key_digest is None):
        name, node = one.revision.deployment, one.member.name
        write = scripts.write(one.key_path, "600", key_of(name))
        yield step(f"page-key.{node}.{name}", node, f"write the key of {name}", write)


def start(pages: Iterable[FleetPage], facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Start those that do not run, and wait until they answer."""
    starting = [one for one in pages if not one.runs]
    for one in starting:
        yield from make_room(one, facts)
    for one in starting:
        yield from begin(one, _container(one))
        yield from load(one)


def end(pages: Iterable[FleetPage], ends: Iterable[DeployedRevision], facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Remove those that the fleet no longer has there; what people have in them stays."""
    for other in ends:
        yield from end_parts(other, facts)
    for one in pages:
        yield from end_aside(one)


def _container(one: FleetPage) -> docker.ContainerCommand:
    revision, name = one.revision, one.revision.deployment
    variables, program = ",".join(revision.args["key"]), words(revision.program or "")
    return docker.ContainerCommand(
        name=one.name,
        image=one.facts.image_id(revision.image.reference),
        labels=docker.labels(revision, one.member, (it.stored.hash for it in one.others), one.choices.fleet),
        env=revision.env,
        mounts=(
            f"{volume(name)}:{revision.args['data']}",
            f"{one.key_path}:{KEY_IN_CONTAINER}:ro",
        ),
        words=("page", "--health", health_url(one.member), "--keys", variables, "--", *program),
        gpu=False,
    )
