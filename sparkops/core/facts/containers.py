"""Docker and the containers on a node: ours with all that their labels say, strangers by name and state."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from sparkops.core.facts.raw import Probe, Unread, parts
from sparkops.core.facts.reading import document, documents, lines, mapping, number, texts

State = Literal["created", "running", "restarting", "removing", "exited", "paused", "dead", "unknown"]
GAVE_UP = "sparkops: gave up after"
NEVER = "0001-01-01T00:00:00Z"
LABEL = "sparkops."
ASIDE = ".aside"
"""Ends the name of a container that made way for a new one of the same revision (`node/container.sh`)."""
KEY_IN_CONTAINER = "/run/sparkops/key"
CONFIG_IN_CONTAINER = "/etc/sparkops"
"""The folder with the configuration of a fleet's endpoint."""


@dataclass(frozen=True)
class DockerVersion:
    client: str
    server: str


@dataclass(frozen=True)
class DockerInfo:
    """`runtimes` lacks `nvidia` on a stock node, although `--gpus all` works there."""

    root: str
    storage: str
    runtimes: tuple[str, ...]
    cdi_folders: tuple[str, ...]
    cgroup: str
    rootless: bool
    architecture: str


@dataclass(frozen=True)
class Container:
    """One container. `image_id`, `restarts` and times (ISO 8601, or empty) are known only for sparkops containers.

    `key_file` is the node's file with the container's API key, `config_folder` its folder with the configuration of a
    fleet's endpoint. `watches_graphs`: whether its entry script was told that
    CUDA graphs run across nodes.
    """

    id: str
    name: str
    state: State
    image: str
    labels: Mapping[str, str] = field(default_factory=dict)
    image_id: str | None = None
    restarts: int | None = None
    exit_code: int | None = None
    oom_killed: bool = False
    created_at: str = ""
    started_at: str = ""
    finished_at: str = ""
    gpu: bool | None = None
    log_tail: tuple[str, ...] = ()
    key_file: str | None = None
    config_folder: str | None = None
    watches_graphs: bool = False

    @property
    def ours(self) -> bool:
        return f"{LABEL}schema" in self.labels

    @property
    def runs(self) -> bool:
        """Whether it is up, or Docker will start it again."""
        return self.state in ("running", "restarting", "paused")

    @property
    def aside(self) -> bool:
        """Whether a run was killed while it replaced this container; it must not be started again."""
        return self.name.endswith(ASIDE)

    @property
    def kept(self) -> bool:
        """Whether it ran and was stopped, so it can be started again; a container that never ran cannot."""
        return self.state == "exited" and not self.aside

    @property
    def gave_up(self) -> bool:
        """Whether the entry script gave up after too many failed starts and nothing was logged since."""
        return self.runs and GAVE_UP in "".join(self.log_tail[-1:])

    @property
    def schema(self) -> int | None:
        return number(self.labels.get(f"{LABEL}schema", ""))

    @property
    def deployment(self) -> str | None:
        return self.labels.get(f"{LABEL}deployment")

    @property
    def hash(self) -> str | None:
        return self.labels.get(f"{LABEL}hash")

    @property
    def role(self) -> str | None:
        return self.labels.get(f"{LABEL}role")

    @property
    def spec(self) -> int | None:
        return number(self.labels.get(f"{LABEL}spec", ""))

    @property
    def replaced(self) -> tuple[str, ...]:
        """Hashes of what its deploy replaced, for going back to all of it."""
        return tuple(filter(None, self.labels.get(f"{LABEL}replaces", "").split(",")))

    @property
    def fleet(self) -> str:
        """The fleet of which an `apply` started it; empty for all others."""
        return self.labels.get(f"{LABEL}fleet", "")

    @property
    def revision(self) -> Mapping[str, Any] | None:
        """The revision that the label holds, None when it is missing or no JSON object."""
        try:
            found = json.loads(self.labels.get(f"{LABEL}revision", "null"))
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, Mapping) else None


def version(text: str) -> DockerVersion:
    found = mapping(document(text))
    server = mapping(found.get("Server"))
    if not server.get("Version"):
        raise ValueError("the Docker daemon does not answer")
    return DockerVersion(str(mapping(found.get("Client")).get("Version", "")), str(server["Version"]))


def info(text: str) -> DockerInfo:
    found = mapping(document(text))
    if "DockerRootDir" not in found:
        raise ValueError(next(iter(texts(found.get("ServerErrors"))), "the Docker daemon does not answer"))
    return DockerInfo(
        root=str(found["DockerRootDir"]),
        storage=str(found.get("Driver", "")),
        runtimes=tuple(sorted(mapping(found.get("Runtimes")))),
        cdi_folders=texts(found.get("CDISpecDirs")),
        cgroup=str(found.get("CgroupVersion", "")),
        rootless=any("rootless" in option for option in texts(found.get("SecurityOptions"))),
        architecture=str(found.get("Architecture", "")),
    )


def listed(text: str) -> tuple[Container, ...]:
    """`docker ps -a --no-trunc --format {{json .}}`."""
    return tuple(_row(row) for row in documents(text) if row.get("ID"))


def ours(probe: Probe) -> tuple[Container, ...] | Unread:
    """`docker inspect` of our containers. One that went away meanwhile makes it exit 1; the others still count."""
    try:
        items = document(probe.text)
        found = tuple(_inspected(item) for item in items if isinstance(item, Mapping) and item.get("Id"))
    except ValueError:
        return probe.unread
    return found if found or probe.ok else probe.unread


def gpu_requests(probe: Probe) -> Mapping[str, bool]:
    """Map container ID → whether it requests a GPU, by a device request or by NVIDIA's runtime after it."""
    rows = (line.split(maxsplit=1) for line in lines(probe.text))
    return {row[0]: _asked_for(row[1]) for row in rows if len(row) == 2 and row[1][:1] in ("[", "n")}


def _asked_for(text: str) -> bool:
    requests, end = json.JSONDecoder().raw_decode(text)
    return _wants_gpu(requests) or text[end:].strip() == "nvidia"


def tails(text: str) -> Mapping[str, tuple[str, ...]]:
    """The last log lines by container name."""
    return {part.name: tuple(lines(part.text)) for part in parts(text)}


def merge(
    rows: Iterable[Container],
    detailed: Iterable[Container],
    tails: Mapping[str, tuple[str, ...]],
    gpu: Mapping[str, bool],
) -> tuple[Container, ...]:
    """All listed containers, with details of those in `detailed`, last log lines and GPU requests."""
    details = {container.id: container for container in detailed}
    found = []
    for row in rows:
        base = details.get(row.id, row)
        asked = base.gpu if base.gpu is not None else gpu.get(row.id)
        found.append(replace(base, image=row.image or base.image, log_tail=tails.get(base.name, ()), gpu=asked))
    return tuple(found)


def _row(row: Mapping[str, Any]) -> Container:
    status = str(row.get("Status", ""))
    code = re.match(r"Exited \((\d+)\)", status)
    return Container(
        id=str(row["ID"]),
        name=str(row.get("Names", "")).partition(",")[0],
        state=state_named(str(row.get("State") or _status_word(status))),
        image=str(row.get("Image", "")),
        labels=_labels(str(row.get("Labels", ""))),
        exit_code=int(code[1]) if code else None,
    )


def _inspected(item: Mapping[str, Any]) -> Container:
    state, config = mapping(item.get("State")), mapping(item.get("Config"))
    status = state_named(str(state.get("Status", "")))
    return Container(
        id=str(item["Id"]),
        name=str(item.get("Name", "")).removeprefix("/"),
        state=status,
        image=str(config.get("Image", "")),
        labels={str(key): str(value) for key, value in mapping(config.get("Labels")).items()},
        image_id=str(item["Image"]) if item.get("Image") else None,
        restarts=number(str(item.get("RestartCount"))),
        exit_code=number(str(state.get("ExitCode"))) if status in ("exited", "dead", "restarting") else None,
        oom_killed=state.get("OOMKilled") is True,
        created_at=_time(item.get("Created")),
        started_at=_time(state.get("StartedAt")),
        finished_at=_time(state.get("FinishedAt")),
        gpu=_wants_gpu(mapping(item.get("HostConfig")).get("DeviceRequests")),
        key_file=_source(item.get("Mounts"), KEY_IN_CONTAINER),
        config_folder=_source(item.get("Mounts"), CONFIG_IN_CONTAINER),
        watches_graphs="--graphs" in texts(config.get("Cmd")),
    )


def _source(mounts: object, target: str) -> str | None:
    found = [mapping(mount) for mount in mounts] if isinstance(mounts, list) else []
    return next((str(one.get("Source")) for one in found if one.get("Destination") == target), None)


def _labels(text: str) -> dict[str, str]:
    """`k=v,k=v` as docker ps prints it; a comma separates labels only if `NAME=` follows."""
    found = (part.partition("=") for part in re.split(r",(?=[A-Za-z0-9_./-]+=)", text) if "=" in part)
    return {key: value for key, _, value in found}


def _wants_gpu(requests: object) -> bool:
    if not isinstance(requests, list):
        return False
    return any("gpu" in json.dumps(item).lower() or "nvidia" in json.dumps(item).lower() for item in requests)


def state_named(word: str) -> State:
    return next((state for state in get_args(State) if state == word), "unknown")


def _status_word(status: str) -> str:
    first = status.partition(" ")[0].lower()
    return {"up": "paused" if "(Paused)" in status else "running", "removal": "removing"}.get(first, first)


def _time(value: object) -> str:
    return "" if value in (None, NEVER) else str(value)
