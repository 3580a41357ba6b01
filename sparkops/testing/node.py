"""One simulated node: files, an engine, jobs, a lock; commands are looked up by the first word."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from sparkops.core.plan import Command, Result, Script, Word
from sparkops.core.revision import GATEWAY, PAGE
from sparkops.core.topology import WITHOUT_MODEL
from sparkops.testing.engine import Engine, SimulatedContainer
from sparkops.testing.hub import SimulatedHub, commit_of

BOOTING = 45.0
"""Seconds without an answer when a node reboots."""

EPOCH = 1_767_225_600.0
"""When a simulated world begins, in seconds since 1970."""

TOTAL_KIB = 127_533_568
"""MemTotal of a GB10 with its 128 GB."""


Handler = Callable[["SimulatedNode", tuple[Word, ...], str], Result]
"""Answers a script or a program; takes the node, the words and stdin."""


def said(text: str = "", code: int = 0, errors: str = "") -> Result:
    return Result("exited", code, text, errors)


class Work(Protocol):
    """The work of a job."""

    def look(self, now: float, log: list[str]) -> int | None:
        """Advance to `now`; the exit code once it has ended."""

    def stop(self, killed: bool) -> None:
        """End it; if it is killed, it does not clean up."""


@dataclass
class SimulatedJob:
    """Detached work; without `work` it runs until it is cancelled or its deadline passes."""

    words: tuple[Word, ...]
    ends: float
    code: int | None = None
    started: float = 0.0
    work: Work | None = None
    log: list[str] = field(default_factory=list)

    def look(self, now: float) -> int | None:
        """Advance to `now`; the exit code once it has ended."""
        if self.code is None and self.work is not None:
            self.code = self.work.look(now, self.log)
        if self.ends <= now:
            self.end(124)
        return self.code

    def end(self, code: int) -> None:
        """End it, unless it has ended; 137 is a kill or a reboot."""
        if self.code is None:
            self.code = code
            if self.work is not None:
                self.work.stop(killed=code == 137)


@dataclass
class SimulatedNode:
    """`handlers` answers scripts by name, `commands` other first words; `neighbours` are all nodes by address.

    `probes` (exit code and text by name) stand in the place of a healthy node's; `damaged` has files of models
    (`org/name/file`) that are not what they were. `link`: the CX7 link is up. At `leaves` it reboots, and it answers
    again from `back` on.
    """

    name: str
    address: str
    fabric_address: str
    handlers: Mapping[str, Handler]
    commands: Mapping[str, Handler]
    neighbours: "Mapping[str, SimulatedNode]"
    home: str = "/home/nvidia"
    now: float = 0.0
    total_kib: int = TOTAL_KIB
    free_kib: int = 2_844_000_000
    cached_kib: int = 10 * 1024 * 1024
    link: bool = True
    lock: str | None = None
    owner: dict[str, object] = field(default_factory=dict)
    """The owner that the run with the lock gave."""
    lingers: bool = True
    boot_id: int = 0
    booted: float = -86400.0
    leaves: float | None = None
    back: float = 0.0
    files: dict[str, str] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    jobs: dict[str, SimulatedJob] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    hub: SimulatedHub = field(default_factory=SimulatedHub)
    probes: dict[str, tuple[int, str]] = field(default_factory=dict)
    engine: Engine = field(init=False)

    def __post_init__(self) -> None:
        self.engine = Engine(self.name, self.files)

    @property
    def boot(self) -> str:
        """The kernel's boot id."""
        return f"{hashlib.sha256(self.name.encode()).hexdigest()[:8]}-{self.boot_id:04d}"

    @property
    def state_dir(self) -> str:
        return f"{self.home}/.local/state/sparkops"

    def add_model(self, model: str, config: str = "") -> None:
        """Add a complete model to the Hugging Face cache; `config` is the text of its `config.json`."""
        self.models[model], self.configs[model] = commit_of(model), config

    def run(self, command: Command, stdin: str, now: float) -> Result:
        self.now = now
        for job in self.jobs.values():
            job.look(now)
        first = command.words[0]
        if isinstance(first, Script):
            name, handler, words = f"@{first.name}", self.handlers.get(first.name), command.words[1:]
        else:
            name, handler, words = first, self.commands.get(first), command.words
        if handler is None:
            return said(code=127, errors=f"sh: {name}: not found\n")
        return handler(self, words, stdin)

    def away(self, now: float) -> bool:
        """Whether it is booting; starts a reboot that is due."""
        if self.leaves is not None and self.leaves <= now:
            self.now, self.back, self.leaves = self.leaves, self.leaves + BOOTING, None
            self.reboot()
        return now < self.back

    def reboot(self) -> None:
        """Kill jobs, release the lock, restart containers by their policies."""
        self.boot_id, self.booted = self.boot_id + 1, self.now
        self.lock = None
        for job in self.jobs.values():
            job.end(137)
        self.engine.reboot(self.now)

    def listening(self, port: int) -> SimulatedContainer | None:
        """The newest running container that listens on this port: LiteLLM, or an engine."""
        running = (one for one in self.engine.listed() if one.running and one.labels.get("sparkops.role") != "worker")
        return next((one for one in running if _listens(one, port)), None)

    @property
    def shared_ports(self) -> list[int]:
        """The ports on which endpoints and pages of fleets listen."""
        proxies = (one for one in self.engine.listed() if one.labels.get("sparkops.role") in WITHOUT_MODEL)
        revisions = (_revision(one) for one in proxies if one.running)
        return [member["port"] for it in revisions if it.get("kind") in (GATEWAY, PAGE) for member in it["members"]]

    def answers(self, url: str) -> bool:
        """Whether a health request from here to this address would be answered with 200."""
        parts = urlsplit(url)
        there = self.neighbours.get(parts.hostname or "")
        return there is not None and there.serves(parts.port or 80)

    def serves(self, port: int) -> bool:
        """Whether a health request to this port would be answered with 200."""
        one = self.listening(port)
        if one is None or not one.up:
            return False
        if _revision(one).get("kind") in (GATEWAY, PAGE):
            return True
        if one.labels.get("sparkops.role") == "proxy":
            return any(self._routes(one, member) for member in _revision(one)["members"] if member["role"] != "proxy")
        return self._complete(one)

    def routes(self, url: str, model: str) -> bool:
        """Whether the endpoint of a fleet would answer there to a request for a model; else, or for no model, True."""
        parts = urlsplit(url)
        there = self.neighbours.get(parts.hostname or "")
        front = there.listening(parts.port or 80) if there else None
        if there is None or front is None or _revision(front).get("kind") != GATEWAY or not model:
            return True
        folder = f"{there.state_dir}/gateways/{front.labels['sparkops.deployment']}-{front.labels['sparkops.hash'][:8]}"
        servers = json.loads(there.files[f"{folder}/routes.json"])["routes"].get(model, {}).get("servers", ())
        return any(self.answers(one["url"]) for one in servers)

    def _routes(self, proxy: SimulatedContainer, member: Mapping[str, Any]) -> bool:
        """Whether a server at this address of the proxy's list has its model, whatever revision it is of."""
        there, port = self.neighbours.get(member["address"]), int(member.get("port") or 0)
        server = there.listening(port) if there else None
        if there is None or server is None or not there.serves(port):
            return False
        return bool(_revision(server)["served"] == _revision(proxy)["served"])

    def _complete(self, head: SimulatedContainer) -> bool:
        """Whether as many members of the cluster run as its head expects."""
        wanted = _after(head.words, "--nodes") or _after(head.words, "--nnodes") or "1"
        return head.labels.get("sparkops.role") == "server" or len(self._joined(head)) >= int(wanted)

    def met(self, head: SimulatedContainer) -> list[int]:
        """The numbers of the ranks of executor mp that have met."""
        return sorted(int(_after(one.words, "--node-rank") or 0) for one in self._joined(head))

    def _joined(self, head: SimulatedContainer) -> list[SimulatedContainer]:
        """The members of this head's copy that run and join it."""
        return [
            one
            for node in self.neighbours.values()
            for one in node.engine.containers.values()
            if _same(one, head) and one.labels.get("sparkops.role") in ("head", "worker")
            if _meets_at(one) == _meets_at(head)
            if one.running and not (one.boot.crashes or one.boot.never)
        ]


def _listens(one: SimulatedContainer, port: int) -> bool:
    """Whether it listens on this port; a Ray head's words also have Ray's port, and those of a page none."""
    revision = _revision(one)
    if revision.get("kind") == PAGE:
        return bool(revision["members"][0]["port"] == port)
    return any(pair == ("--port", str(port)) for pair in zip(one.words, one.words[1:], strict=False))


def _revision(one: SimulatedContainer) -> dict[str, Any]:
    return dict(json.loads(one.labels.get("sparkops.revision", "{}")))


def _same(one: SimulatedContainer, other: SimulatedContainer) -> bool:
    keys = ("sparkops.deployment", "sparkops.hash")
    return all(one.labels.get(key) == other.labels.get(key) for key in keys)


def _meets_at(one: SimulatedContainer) -> str | None:
    """The address at which the ranks of its copy meet."""
    return _after(one.words, "--master-addr") or _after(one.words, "--head") or _after(one.words, "--fabric")


def _after(words: tuple[str, ...], flag: str) -> str | None:
    return words[words.index(flag) + 1] if flag in words[:-1] else None
