"""Checks of Docker: it answers the login user, it is new enough, and our containers' names are free."""

from collections.abc import Iterator

from sparkops.checks.check import CONTAINERS, CannotTell, Check, Here, PlanCheck, Said, asked, fail, good, read, warn
from sparkops.core.facts import NOT_ASKED, Facts, Unread

DOCKER_HINT = "on the node: sudo usermod -aG docker $USER, then log in again; or set `become: sudo` in the inventory"
ROOTFUL = (
    "use the system's Docker, on the node: docker context use default; remove DOCKER_HOST from the user's environment; "
    "sudo systemctl enable --now docker"
)
LEAST = (25,)
"""From version 25 on, CDI is enabled by default, so `--gpus all` needs no runtime."""


def docker_problem(facts: Facts) -> str:
    """Why Docker cannot be used on the node; empty if it can."""
    unread = [one for one in (facts.docker_ps, facts.docker_version) if isinstance(one, Unread)]
    return next((one.reason for one in unread if one is facts.docker_ps or one != NOT_ASKED), "")


@Check(
    id="docker-usable",
    title="The login user can use Docker",
    why="Stock DGX OS does not add its first user to the group docker.",
    source="NVIDIA/dgx-spark-playbooks: if Docker prints `permission denied`, add the user to the group docker",
    hint=DOCKER_HINT,
    severity="fail",
    reads=("docker-version", "docker-ps"),
    deploys=True,
    final=True,
).each_node
def usable(here: Here) -> Iterator[Said]:
    asked(here.facts.docker_ps)
    if problem := docker_problem(here.facts):
        yield fail(f"Docker cannot be used: {problem}", docker_hint(problem))


def docker_hint(problem: str) -> str:
    """How to fix it."""
    if "permission denied" in problem:
        return DOCKER_HINT
    if "not found" in problem or "not installed" in problem:
        return "on the node: sudo apt install docker-ce"
    if "password is required" in problem:
        return "use --ask-become-pass, or add the user to the group docker and remove `become: sudo` from the inventory"
    return "on the node: sudo systemctl restart docker; if that does not help, read: journalctl -u docker -n 50"


def need_docker(facts: Facts) -> None:
    """Raise CannotTell if Docker cannot be used: `docker-usable` reports that."""
    if problem := docker_problem(facts):
        raise CannotTell(f"Docker cannot be used: {problem}")


@Check(
    id="docker-version",
    title="Docker is version 25 or newer",
    why=(
        "Docker on DGX OS has no nvidia runtime, so `--gpus all` needs the Container Device Interface (CDI). Docker "
        "before version 25 does not enable CDI."
    ),
    source="Docker 25 release notes; machines with DGX OS have Docker 28.x to 29.6",
    hint="on the node: sudo apt install --only-upgrade docker-ce",
    severity="fail",
    reads=("docker-version", "docker-info"),
).each_node
def version(here: Here) -> Iterator[Said]:
    found = read(here.facts.docker_version).server
    numbers = tuple(int(part) for part in found.split("-")[0].split(".") if part.isdigit())
    info = here.facts.docker_info
    if numbers and numbers < LEAST:
        yield warn(f"Docker {found} is too old: without the nvidia runtime, `--gpus all` needs Docker 25 or newer")
    if not isinstance(info, Unread) and info.rootless:
        yield fail("Docker runs rootless: containers cannot use the fabric or lock memory for RDMA", ROOTFUL)
    yield good(evidence=found)


@PlanCheck(
    id="names-free",
    title="The container names are free",
    why="The deployment's containers need these names. A name is taken if a container without sparkops label has it.",
    source="sparkops itself: it never touches containers that it did not start",
    hint="rename or remove that container",
    reads=CONTAINERS,
    final=True,
).each_node
def names_free(here: Here) -> Iterator[Said]:
    """A container with our name but without our label is foreign: it is neither used nor removed."""
    need_docker(here.facts)
    wanted = {here.s.revision.container(member) for member in here.members}
    for one in here.facts.containers:
        if one.name in wanted and not one.ours:
            yield fail(
                f"the name {one.name} is taken by a container that sparkops did not start",
                f"rename it, on the node: docker rename {one.name} {one.name}-old",
            )
