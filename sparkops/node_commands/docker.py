"""The `docker run` command of sparkops, and the labels of its containers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkops.core.plan import Command, Script, Word
from sparkops.core.revision import SCHEMA, SPEC, Member, Revision

# fmt: off
_BASE = (
    "--restart", "unless-stopped", "--network", "host", "--ipc", "host",
    "--ulimit", "memlock=-1", "--ulimit", "stack=67108864", "--ulimit", "nofile=1048576:1048576",
    "--log-driver", "json-file", "--log-opt", "max-size=50m", "--log-opt", "max-file=3",
    "--stop-timeout", "30",
)
# fmt: on

# CX7 devices are hot-plugged: a bind mount of the directory and a rule for their major number survive their coming
# after the container's start, `--device` would refuse the start.
_RDMA = ("--cap-add", "IPC_LOCK", "--device-cgroup-rule", "c 231:* rwm", "-v", "/dev/infiniband:/dev/infiniband")


FLAGS_SECONDS = 300.0


def read_flags(image: str, program: str) -> Command:
    """Print the options of an image's `vllm serve` in a container that is removed at its end."""
    engine = ("docker", "run", "--rm", "--network", "none", "--entrypoint=", image)
    return Command((*engine, Script("flags"), program), reads=True, timeout=FLAGS_SECONDS)


@dataclass(frozen=True)
class ContainerCommand:
    """What differs between containers. `image` is an image ID on the node; `words` are the entry script's arguments."""

    name: str
    image: str
    labels: Mapping[str, str]
    env: Mapping[str, str]
    mounts: tuple[str, ...]
    words: tuple[Word, ...]
    gpu: bool = True
    rdma: bool = False


def run(container: ContainerCommand) -> Command:
    """Start a container in the background; its entry script is sent whole, the image's entrypoint is cleared."""
    words: list[Word] = ["docker", "run", "-d", "--name", container.name]
    for key, value in sorted(container.labels.items()):
        words += ["--label", f"{key}={value}"]
    words += _BASE
    words += ["--gpus", "all"] if container.gpu else []
    words += _RDMA if container.rdma else []
    for mount in container.mounts:
        words += ["-v", mount]
    for key, value in sorted(container.env.items()):
        words += ["-e", f"{key}={value}"]
    words += ["--entrypoint=", container.image, Script("entry"), *container.words]
    return Command(tuple(words), timeout=120.0)


def labels(revision: Revision, member: Member, replaces: Iterable[str], fleet: str = "") -> dict[str, str]:
    """What any machine with the inventory needs to know of a deployment; no secrets.

    `replaces` are the hashes of what this deploy replaces, so that a rollback brings back all of it. `fleet` is the
    fleet of which an `apply` started it, so that a later one may end it.
    """
    gone = ",".join(sorted(set(replaces)))
    return {
        "sparkops.schema": str(SCHEMA),
        "sparkops.deployment": revision.deployment,
        "sparkops.hash": revision.hash,
        "sparkops.role": member.role,
        "sparkops.spec": str(SPEC),
        "sparkops.revision": revision.canonical,
        **({"sparkops.replaces": gone} if gone else {}),
        **({"sparkops.fleet": fleet} if fleet else {}),
    }
