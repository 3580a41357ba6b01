"""The nodes of deployments on demand, asked over SSH with a key that may look, start and stop there, and no more."""

from __future__ import annotations

import asyncio
import glob
import os
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import dataclass
from typing import Any

from sparkops.node.gatewayfiles import load
from sparkops.node.gatewayscheduler import NodeRoom, OnDemandSpec

ROOT = os.environ.get("SPARKOPS_ROOT", "")
FOLDER = f"{ROOT}/etc/sparkops/ondemand"
"""The private key is `key` there, and `known` has the nodes' host keys, each under the name of its node."""

BORROWED = f"{ROOT}/opt/node/usr"
"""The node's own programs, of which one is needed: images have no SSH client."""

LONGEST_COMMAND = 150.0
"""Seconds: a stop may take 30, the drop of a page cache a minute."""


LONGEST_LOOK = 20.0
"""Seconds."""


class NodeTrouble(Exception):
    """A node did not do what it was asked.

    `hopeless`: it was not reached, or refuses. `busy`: a run of sparkops changes it.
    """

    def __init__(self, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.hopeless = code in (255, 77)
        self.busy = code == 75


@dataclass(frozen=True)
class SshNode:
    """Where a node listens, as whom to log in, and from which own address, if that is not the kernel's choice."""

    name: str
    user: str
    address: str
    port: int
    bind: str | None


@dataclass(frozen=True)
class Sleeper:
    """A deployment on demand: its containers, each with its node, and the addresses where its servers tell health.

    `requests` is the memory in KiB that must be available on each node when it starts.
    """

    spec: OnDemandSpec
    requests: dict[str, int]
    containers: tuple[tuple[SshNode, str], ...]
    health: tuple[str, ...]

    @property
    def nodes(self) -> tuple[SshNode, ...]:
        return tuple({node.name: node for node, _ in self.containers}.values())


@dataclass(frozen=True)
class Sleepers:
    """All deployments on demand of the fleet, by name, and the rooms of their nodes."""

    deployments: dict[str, Sleeper]
    rooms: dict[str, NodeRoom]


NOBODY = Sleepers({}, {})


def sleepers(path: str) -> Sleepers:
    """The content of `on-demand.json`; raises where it is not what sparkops wrote."""
    written: dict[str, Any] = load(path)
    nodes, rooms = {}, {}
    for name, one in written["nodes"].items():
        nodes[name] = SshNode(name, one["user"], one["address"], int(one["port"]), one["bind"])
        rooms[name] = NodeRoom(int(one["kib"]), bool(one["owned"]))
    found = {}
    for name, one in written["deployments"].items():
        needs = {node: int(kib) for node, kib in one["needs"].items()}
        about = (bool(one["alongside"]), float(one["idle"]), int(one["priority"]), float(one["stay"]))
        requests = {node: int(kib) for node, kib in one["requests"].items()}
        containers = tuple((nodes[node], container) for node, container in one["containers"])
        found[name] = Sleeper(OnDemandSpec(name, needs, *about), requests, containers, tuple(one["health"]))
    return Sleepers(found, rooms)


@dataclass(frozen=True)
class NodeLook:
    """What a node has: the KiB of memory that are available, and of each container its state and its restarts.

    `busy`: a run of sparkops changes it.
    """

    memory: int
    containers: dict[str, tuple[str, int]]
    busy: bool


async def look(node: SshNode) -> NodeLook:
    """Raises NodeTrouble."""
    answer, memory, found = await ask(node, "look", seconds=LONGEST_LOOK), 0, {}
    try:
        for name, state, *more in map(str.split, answer.splitlines()):
            if name == "memory":
                memory = int(state)
            elif name != "busy":
                found[name] = state, int(more[0])
    except (ValueError, IndexError):
        raise NodeTrouble(f"{node.name}: its answer cannot be read") from None
    return NodeLook(memory, found, "busy yes" in answer.splitlines())


async def ask(node: SshNode, *words: str, seconds: float = LONGEST_COMMAND) -> str:
    """What the node answers to one of the three commands; raises NodeTrouble."""
    try:
        process = await asyncio.create_subprocess_exec(
            *_client(node), " ".join(words), stdin=DEVNULL, stdout=PIPE, stderr=PIPE, cwd=FOLDER
        )
    except OSError as error:
        raise NodeTrouble(f"{node.name}: SSH cannot be used: {error}") from None
    try:
        async with asyncio.timeout(seconds):
            out, said = await process.communicate()
    except TimeoutError:
        raise NodeTrouble(f"{node.name}: no answer to `{words[0]}` within {seconds:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        last = said.decode(errors="replace").strip().rpartition("\n")[2] or f"exit code {process.returncode}"
        raise NodeTrouble(f"{node.name}: {last[:300]}", process.returncode)
    return out.decode(errors="replace")


def _client(node: SshNode) -> list[str]:
    options = {
        "BatchMode": "yes", "IdentitiesOnly": "yes", "ControlPath": "none", "LogLevel": "ERROR", "ConnectTimeout": 10,
        "StrictHostKeyChecking": "yes", "UpdateHostKeys": "no", "HostKeyAlias": node.name,
        "UserKnownHostsFile": "known", "GlobalKnownHostsFile": "/dev/null",
        "ServerAliveInterval": 5, "ServerAliveCountMax": 3,
    }  # fmt: skip
    given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    to = ["-p", str(node.port), "-l", node.user, *(["-b", node.bind] if node.bind else []), node.address]
    return [*_program(), "-F", "none", "-T", "-i", "key", *given, *to]


def _program() -> list[str]:
    """SSH's client of the node, run by the node's own loader with its own libraries, whatever the image has."""
    for loader in glob.glob(f"{BORROWED}/lib/*/ld-linux-*.so.*"):
        return [loader, "--library-path", os.path.dirname(loader), f"{BORROWED}/bin/ssh"]
    return ["ssh"]
