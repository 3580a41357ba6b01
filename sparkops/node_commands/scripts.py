"""Node scripts as commands; `sparkops/node/*.sh` describes what they do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sparkops.core.facts.containers import KEY_IN_CONTAINER
from sparkops.core.plan import Command, Script, Secret, Word

STOP_SECONDS = 30
"""Seconds that Docker gives a container to end, as in `container.sh`."""


def container(
    verb: Literal["remove", "drop", "stop", "start", "aside", "back", "again"],
    name: str,
    deployment: str,
    state_dir: str,
    drain: int = 0,
) -> Command:
    """A stopped or removed engine may take `drain` seconds longer than usual, to finish the requests that run."""
    longer = (str(STOP_SECONDS + drain),) if drain else ()
    return Command((Script("container"), verb, name, deployment, state_dir, *longer), timeout=120.0 + drain)


def write(path: str, mode: str, content: str | Secret) -> Command:
    return Command((Script("file"), "write", path, mode), stdin=content)


def remove_file(path: str) -> Command:
    return Command((Script("file"), "remove", path))


def remove_folder(path: str) -> Command:
    return Command((Script("file"), "remove-folder", path))


def directories(*paths: str) -> Command:
    return Command((Script("file"), "dirs", *paths))


def drop_caches(model_dir: str | None) -> Command:
    return Command((Script("cache"), "drop", *([model_dir] if model_dir else [])), timeout=120.0)


def watch_caches(name: str, below_kib: int, seconds: int, health_url: str, model_dir: str | None) -> Command:
    """A background job, so that it also runs without a connection."""
    watch = ("watch", name, str(below_kib), str(seconds), health_url, *([model_dir] if model_dir else []))
    return Command((Script("job"), "start", f"cache-{name}", str(seconds), Script("cache"), *watch))


def cancel_job(job: str) -> Command:
    return Command((Script("job"), "cancel", job))


def record(kind: str, what: str) -> Command:
    """Add an entry to the node's manifest, the list for `cleanup`."""
    return Command((Script("manifest"), "add", kind, what))


def forget(kind: str, what: str) -> Command:
    return Command((Script("manifest"), "forget", kind, what))


def clean(keep: Sequence[str] = ()) -> Command:
    """`keep` are kinds of entries that stay listed."""
    return Command((Script("manifest"), "clean", *(["--keep", *keep] if keep else [])), timeout=300.0)


def memory(need_kib: int) -> Command:
    """Wait until that much memory is available, or no more is freed."""
    return Command((Script("memory"), str(need_kib)), reads=True, timeout=150.0)


def probe(name: str, health_url: str, restarts: int = 0, says: str = "") -> Command:
    seen = ("--restarts", str(restarts)) if restarts else ()
    said = ("--says", says) if says else ()
    return Command((Script("probe"), name, "--api", health_url, *seen, *said), reads=True, timeout=40.0)


COUNTED = {"ray": "--ray", "mp": "--ranks"}
"""The option of `serving.sh` by which each executor's nodes are counted."""


@dataclass(frozen=True)
class Question:
    """What to ask an API on its own node; the fields are the options of `serving.sh`.

    `health` is a path, `key` a file on the node. The wait ends when the engine of `container` ends. At the head of a
    cluster, `joined` nodes must be there as its `executor` counts them: nodes and GPUs of Ray, or vLLM's own ranks.
    """

    api: str
    health: str
    model: str
    kind: str
    key: str
    container: str
    restarts: int = 0
    executor: str | None = None
    joined: int = 0


def serving(question: Question, seconds: int) -> Command:
    """Ask what a client would ask; `seconds` bounds the short request, the whole ends within three times that."""
    words: tuple[Word, ...] = (Script("serving"), "--api", question.api, "--health", question.health)
    words += ("--model", question.model, "--kind", question.kind, "--key", question.key)
    words += ("--container", question.container, "--restarts", str(question.restarts))
    if question.executor in COUNTED:
        words += (COUNTED[question.executor], str(question.joined))
    return Command((*words, "--seconds", str(seconds)), reads=True, timeout=3.0 * seconds + 15)


def peers(
    hear: Iterable[str], among: Iterable[str], pings: Iterable[tuple[str, str, int]], image: str | None, *, sudo: bool
) -> Command:
    """Ask who is at an interface; ping (interface, address, payload); run nvidia-smi in a container of the image.

    `among` are the link-local addresses that are looked for.
    """
    words: list[Word] = [Script("peers"), *(["--sudo"] if sudo else [])]
    if hear := tuple(hear):
        words += ["--among", " ".join(among)]
    for interface in hear:
        words += ["--hear", interface]
    for interface, address, size in pings:
        words += ["--ping", interface, address, str(size)]
    words += ["--gpu", image] if image else []
    return Command(tuple(words), reads=True, timeout=90.0)


def read_usage(path: str) -> Command:
    """What people used at an endpoint, as its program wrote it; nothing if it did not yet."""
    return Command((Script("file"), "read", path), reads=True)


def read_key(path: str) -> Command:
    return Command((Script("key"), path), reads=True)


def given_key(container: str) -> Command:
    """Read the key inside a running container, wherever its file is on the node."""
    show = f'cat "${{SPARKOPS_ROOT:-}}{KEY_IN_CONTAINER}"'
    return Command(("docker", "exec", container, "sh", "-c", show), reads=True)


def logs(name: str, tail: int) -> Command:
    return Command(("docker", "logs", "--timestamps", "--tail", str(tail), name), reads=True)


def follow(name: str, tail: int, since: str = "") -> Command:
    """`since` is the time of the last line seen before the connection was lost."""
    again = ("all", since) if since else (str(tail),)
    return Command((Script("follow"), name, *again), reads=True)


def state(name: str) -> Command:
    return Command(("docker", "inspect", "--format", "{{.State.Status}}", name), reads=True)


def newest_kept_log(state_dir: str, deployment: str | None, tail: int) -> Command:
    return Command((Script("keptlog"), f"{state_dir}/logs", deployment or "", str(tail)), reads=True)
