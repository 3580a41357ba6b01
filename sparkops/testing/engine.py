"""A small Docker engine: images, containers and their states, with Docker's messages."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sparkops.core.images import Software
from sparkops.testing.boot import BootRule, EngineBoot
from sparkops.testing.store import DockerRefused, Store

State = Literal["created", "running", "exited", "restarting"]
GIVES_UP = 5
"""Failed starts, as in `node/entry.sh`."""
KEY = "/run/sparkops/key"
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
NEVER = "0001-01-01T00:00:00Z"


@dataclass
class SimulatedContainer:
    """`words` are the entry script's arguments; `looks` counts probes since the start.

    `key` is the content of its mounted key file at its last start.
    """

    id: str
    name: str
    image: str
    labels: dict[str, str]
    env: dict[str, str]
    mounts: tuple[str, ...]
    words: tuple[str, ...]
    policy: str
    boot: EngineBoot
    gpus: bool = False
    state: State = "running"
    restarts: int = 0
    exit_code: int = 0
    looks: int = 0
    created: float = 0.0
    started: float = 0.0
    finished: float | None = None
    log: list[str] = field(default_factory=list)
    key: str | None = None
    silent: Literal["", "health", "answer"] = ""
    """What gets no answer: `health` (a frozen engine), or an `answer` while health is good."""

    @property
    def running(self) -> bool:
        return self.state == "running"

    @property
    def gave_up(self) -> bool:
        return "gave up" in "".join(self.log[-1:])

    @property
    def key_file(self) -> str | None:
        """The file on the node that is mounted as its key."""
        sources = (mount.split(":") for mount in self.mounts)
        return next((source for source, target, *_ in sources if target == KEY), None)

    @property
    def up(self) -> bool:
        """Whether it answers, as far as it depends on this container alone."""
        boot = self.boot
        return self.running and not self.gave_up and not boot.crashes and not boot.never and self.looks >= boot.looks

    def timed(self) -> list[tuple[str, str]]:
        """The log as (time, line), a second apart."""
        return [(stamp(self.started + second), line) for second, line in enumerate(self.log)]

    def look(self) -> None:
        """Probe it once; its time advances by probes."""
        if self.state == "restarting":
            self._again()
            return
        if not self.running or self.gave_up:
            return
        self.looks += 1
        if self.restarts < self.boot.falls:
            self.state, self.exit_code, self.restarts = "restarting", 1, self.restarts + 1
            return
        told = self.boot.log[: self.looks] if self.looks < self.boot.looks else self.boot.log
        self.log.extend(told[len(self.log) :])
        if self.boot.crashes and self.looks >= self.boot.looks:
            self.state, self.exit_code, self.restarts = "restarting", 1, self.restarts + 1

    def _again(self) -> None:
        """Restart it; after GIVES_UP failures the entry script gives up."""
        if not self.boot.crashes:
            self.state = "running"
        elif self.restarts < GIVES_UP:
            self.restarts += 1
        else:
            self.state = "running"
            self.log.append(f"sparkops: gave up after {GIVES_UP} failed starts")

    def inspected(self) -> dict[str, Any]:
        """The fields of `docker inspect` that sparkops reads."""
        return {
            "Id": self.id,
            "Name": f"/{self.name}",
            "Image": self.image,
            "Created": stamp(self.created),
            "RestartCount": self.restarts,
            "State": {
                "Status": self.state,
                "Running": self.state in ("running", "restarting"),
                "Restarting": self.state == "restarting",
                "ExitCode": self.exit_code,
                "OOMKilled": False,
                "StartedAt": stamp(self.started),
                "FinishedAt": NEVER if self.finished is None else stamp(self.finished),
            },
            "Config": {
                "Image": self.image,
                "Labels": dict(self.labels),
                "Env": [f"{key}={value}" for key, value in self.env.items()],
                "Cmd": list(self.words),
            },
            "Mounts": [
                {"Type": "bind", "Source": source, "Destination": target}
                for source, target, *_ in (mount.split(":") for mount in self.mounts)
            ],
            "HostConfig": {
                "RestartPolicy": {"Name": self.policy, "MaximumRetryCount": 0},
                "NetworkMode": "host",
                "DeviceRequests": [{"Count": -1, "Capabilities": [["gpu"]]}] if self.gpus else None,
            },
        }


class Engine:
    """One node's engine. The first of `boots` that matches a new container applies, else `EngineBoot()`.

    `files` are the node's, for what is mounted.
    """

    def __init__(self, node: str, files: Mapping[str, str] | None = None) -> None:
        self._files = {} if files is None else files
        self.store = Store(lambda image: any(one.image == image for one in self.containers.values()))
        self.containers: dict[str, SimulatedContainer] = {}
        self.boots: list[BootRule] = []
        self.software: dict[str, Software] = {}
        """What images contain, by ID."""
        self.denied = False
        """Whether the user may not talk to it."""
        self._node = node
        self._made = 0

    def add_image(
        self,
        reference: str,
        *,
        labels: dict[str, str] | None = None,
        seed: str = "",
        software: Software | None = None,
    ) -> str:
        """Add an image; returns its ID. Without `software`, nothing in it can be run to read that."""
        image = self.store.add(reference, labels or {}, seed)
        if software:
            self.software[image] = software
        return image

    def find(self, reference: str) -> SimulatedContainer:
        for one in self.containers.values():
            if reference == one.name or (reference and one.id.startswith(reference)):
                return one
        raise DockerRefused(f"Error response from daemon: No such container: {reference}")

    def run(self, wanted: SimulatedContainer, now: float) -> SimulatedContainer:
        """Create and start a container; `wanted` has no ID and state yet."""
        self._free(wanted.name)
        try:
            image = self.store.find(wanted.image)
        except DockerRefused:
            raise DockerRefused(f"Unable to find image '{wanted.image}' locally", 125) from None
        wanted.image = image["Id"]
        self._made += 1
        wanted.id = hashlib.sha256(f"{self._node}{self._made}".encode()).hexdigest()
        wanted.boot = self._boot(image["Id"], wanted.words)
        wanted.created = wanted.started = now
        wanted.key = self._files.get(wanted.key_file or "")
        self.containers[wanted.name] = wanted
        return wanted

    def start(self, reference: str, now: float) -> None:
        one = self.find(reference)
        if one.state in ("exited", "created"):
            one.state, one.looks, one.started, one.restarts, one.log = "running", 0, now, 0, []
            one.silent = ""  # another process
            one.key = self._files.get(one.key_file or "")
            one.boot = self._boot(one.image, one.words)

    def stop(self, reference: str, now: float) -> None:
        one = self.find(reference)
        if one.state not in ("exited", "created"):
            one.state, one.exit_code, one.finished = "exited", 143, now

    def rename(self, reference: str, name: str) -> None:
        one = self.find(reference)
        self._free(name)
        del self.containers[one.name]
        one.name = name
        self.containers[name] = one

    def remove(self, reference: str, *, force: bool) -> None:
        one = self.find(reference)
        if one.state not in ("exited", "created") and not force:
            raise DockerRefused(
                f'Error response from daemon: cannot remove container "/{one.name}": container is running: stop the '
                "container before removing or force remove"
            )
        del self.containers[one.name]

    def kill(self, reference: str) -> None:
        """The engine's process dies; the restart policy starts it again."""
        one = self.find(reference)
        one.restarts, one.looks, one.exit_code, one.log = one.restarts + 1, 0, 137, []
        one.boot = self._boot(one.image, one.words)
        if one.policy == "no":
            one.state = "exited"

    def reboot(self, now: float) -> None:
        """Containers that ran with a restart policy start again, stopped ones stay stopped."""
        for one in self.containers.values():
            if one.state in ("exited", "created"):
                continue
            if one.policy == "no":
                one.state, one.finished = "exited", now
            else:
                one.state, one.looks, one.restarts, one.log, one.started = "running", 0, 0, [], now

    def listed(self, filters: Sequence[str] = ()) -> Iterator[SimulatedContainer]:
        """Containers, newest first, as in `docker ps`."""
        for one in reversed(self.containers.values()):
            if all(_matches(one, wanted) for wanted in filters):
                yield one

    def _free(self, name: str) -> None:
        if (other := self.containers.get(name)) is not None:
            raise DockerRefused(
                f'docker: Error response from daemon: Conflict. The container name "/{name}" is already in use by '
                f'container "{other.id}". You have to remove (or rename) that container to be able to reuse that name.',
                125,
            )

    def _boot(self, image: str, words: tuple[str, ...]) -> EngineBoot:
        return next((rule.boot for rule in self.boots if rule.matches(image, words)), EngineBoot())


def stamp(seconds: float) -> str:
    """A time as Docker prints it, from virtual seconds."""
    return (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="microseconds").replace("+00:00", "000Z")


def _matches(one: SimulatedContainer, wanted: str) -> bool:
    kind, _, value = wanted.partition("=")
    if kind == "name":
        return one.name == value.removeprefix("^/?").removeprefix("^").removesuffix("$")
    if kind == "label":
        key, equals, label = value.partition("=")
        return key in one.labels and (not equals or one.labels[key] == label)
    raise DockerRefused(f"Error response from daemon: invalid filter '{kind}'")
