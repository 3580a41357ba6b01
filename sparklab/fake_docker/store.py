"""Containers as files: `config.json` never changes, the shim writes `state.json`, the log has Docker's format."""

import os
import signal
import time
from typing import Any

from sparklab import files, processes
from sparklab.fake_docker.errors import daemon_says
from sparklab.layout import Node

LIVES = ("running", "restarting")
KILLED = 137
SIGTERM_BIT = 1 << (signal.SIGTERM - 1)


def now() -> str:
    """Return the time as Docker's timestamp, with nanoseconds."""
    moment = time.time_ns()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment // 10**9)) + f".{moment % 10**9:09d}Z"


def seconds(stamp: str) -> float:
    """Return epoch seconds of a timestamp; without an offset it is UTC."""
    from datetime import UTC, datetime

    moment = datetime.fromisoformat(stamp)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def send(pid: int, number: int, start: int | None = None) -> None:
    """Signal a process, if it lives and (with `start`) is still the one that began then."""
    process = processes.look(pid)
    if process and start in (None, process.start):
        processes.send([process], number)


class Container:
    """One container of one node."""

    def __init__(self, node: Node, identity: str) -> None:
        self.node = node
        self.id = identity
        self.directory = node.path("docker", "containers", identity)
        self.config: dict[str, Any] = files.read_json(self.path("config.json")) or {}
        self.name: str = self.config.get("name", "")

    def path(self, *parts: str) -> str:
        return os.path.join(self.directory, *parts)

    @property
    def log(self) -> str:
        return self.path(f"{self.id}-json.log")

    @property
    def runs(self) -> bool:
        return self.state()["status"] in LIVES

    @property
    def markers(self) -> list[str]:
        return [f"SPARKLAB_CONTAINER={self.id}"]

    def state(self) -> dict[str, Any]:
        """Return what the shim wrote last, or `exited` if the shim is gone.

        The file is read twice, because the shim may have written the end just before it went.
        """
        found: dict[str, Any] = {}
        for _ in range(2):
            found = files.read_json(self.path("state.json")) or {"status": "created"}
            if found["status"] not in LIVES or processes.alive(*found["shim"]):
                return found
        return found | {"status": "exited", "exit_code": KILLED, "pid": 0}

    def save(self, **changes: Any) -> None:
        state = files.read_json(self.path("state.json")) or {"status": "created", "restarts": 0}
        files.write_json(self.path("state.json"), state | changes)

    @property
    def stopped_by_hand(self) -> bool:
        return os.path.exists(self.path("stopped"))

    def processes(self) -> list[processes.Process]:
        """Return all processes of the container, detached ones included."""
        state = files.read_json(self.path("state.json")) or {}
        roots = [(state["pid"], state["start"])] if state.get("pid") else []
        return processes.family(self.markers, roots)

    def stop(self, patience: float) -> None:
        """Send TERM to a first process that handles it, as the kernel does for pid 1; kill after `patience` seconds."""
        files.write(self.path("stopped"), "")
        state = self.state()
        if state["status"] not in LIVES:
            return
        send(state["shim"][0], signal.SIGUSR1)
        if state.get("pid") and handles_term(state["pid"]):
            self.signal(signal.SIGTERM)
        if not self.wait(patience):
            self.kill()

    def signal(self, number: int) -> None:
        state = self.state()
        if state.get("pid"):
            send(state["pid"], number, state["start"])

    def kill(self) -> None:
        """Send SIGKILL to all processes until the shim has recorded the end."""
        files.write(self.path("stopped"), "")
        until = time.monotonic() + 120
        while (state := self.state())["status"] in LIVES and time.monotonic() < until:
            # the first process first, because it would outlive its children for a moment
            processes.send(sorted(self.processes(), key=lambda one: one.pid != state.get("pid")), signal.SIGKILL)
            send(state["shim"][0], signal.SIGUSR1)
            self.wait(0.5)

    def wait(self, patience: float) -> bool:
        until = time.monotonic() + patience
        while self.runs:
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    def remove(self) -> None:
        files.clear(self.directory)


def handles_term(pid: int) -> bool:
    for line in files.read(f"/proc/{pid}/status").splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) & SIGTERM_BIT)
    return False


def containers(node: Node) -> list[Container]:
    """Return all containers, newest first."""
    try:
        names = os.listdir(node.path("docker", "containers"))
    except FileNotFoundError:
        return []
    found = [Container(node, name) for name in names]
    return sorted((c for c in found if c.config), key=lambda c: str(c.config["created"]), reverse=True)


def find(node: Node, word: str) -> Container:
    """Return the container with this name, ID or unambiguous prefix of an ID."""
    every = containers(node)
    if exact := [one for one in every if word.removeprefix("/") == one.name or word == one.id]:
        return exact[0]
    starting = [one for one in every if word and one.id.startswith(word)]
    if len(starting) > 1:
        raise daemon_says(f"multiple IDs found with provided prefix: {word}")
    if not starting:
        raise daemon_says(f"No such container: {word}")
    return starting[0]


def claim_name(node: Node, name: str) -> None:
    """Refuse a name that is taken; call with the engine's lock held."""
    if other := next((one for one in containers(node) if one.name == name), None):
        raise daemon_says(
            f'Conflict. The container name "/{name}" is already in use by container "{other.id}". '
            "You have to remove (or rename) that container to be able to reuse that name."
        )
