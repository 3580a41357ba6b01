"""A node's lock: taken and held over a connection of ours, with a heartbeat; refused with the run that holds it."""

import contextlib
import getpass
import json
import os
import platform
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import paramiko

from sparkops.core.facts.reading import grouped
from sparkops.core.notes import COMMAND, WORD, Note
from sparkops.core.plan import NodeLost, Script
from sparkops.core.printable import printable_line
from sparkops.errors import Locked, Unreachable
from sparkops.remote.channel import BROKEN, begin
from sparkops.remote.connect_errors import Unreached
from sparkops.remote.connection import Connection
from sparkops.remote.frame import shell_line

QUIET = 90
"""Seconds without a heartbeat after which the node frees the lock."""
BEAT = 20.0
_ANSWER = 30.0


@dataclass(frozen=True)
class Owner:
    """Who holds a lock, for the message that a second run gets."""

    run: str
    user: str
    machine: str
    pid: int
    since: str
    verb: str = ""
    command: str = ""

    def begin(self, deployment: str) -> Note:
        """The first note that this run leaves on the nodes that it locks."""
        who = f"{self.user}@{self.machine}"
        return Note("begin", self.run, self.since, who, self.verb, self.command, deployment)


def owner_here(run: str, since: str, verb: str = "", command: str = "") -> Owner:
    return Owner(run, getpass.getuser(), platform.node(), os.getpid(), since, verb, command)


class Held(Exception):
    """Another run has the lock of this node; `owner` is what it wrote there, fit for a terminal."""

    def __init__(self, node: str, owner: Mapping[str, Any]) -> None:
        super().__init__(node)
        self.node = node
        self.owner = {
            printable_line(str(key), WORD): printable_line(value, COMMAND) if isinstance(value, str) else value
            for key, value in owner.items()
            if isinstance(value, str | int)
        }

    @property
    def holder(self) -> str:
        """The run in words."""
        found = {"user": "somebody", "machine": "somewhere", "since": "?", "run": "?", "pid": "?"} | self.owner
        command = f': "{found["command"]}"' if found.get("command") else ""
        since = re.sub(r"^([\d-]+)T([\d:]+)\+00:00$", r"\1 \2 UTC", str(found["since"]))
        return f"{found['user']}@{found['machine']} since {since} (run {found['run']}, pid {found['pid']}){command}"


def refusal(refused: Mapping[str, Held | NodeLost]) -> Locked | Unreachable:
    """The error of a run that did not get all locks; another run that holds one comes before lost nodes."""
    held = sorted((error for error in refused.values() if isinstance(error, Held)), key=lambda one: one.node)
    if held:
        by_holder = grouped((one.holder, one.node) for one in held)
        told = (
            f"{', '.join(nodes)} {'is' if len(nodes) == 1 else 'are'} locked by {holder}"
            for holder, nodes in by_holder.items()
        )
        hint = "add --wait to wait until that run ends"
        return Locked("; ".join(told), holder=held[0].owner, node=held[0].node, hint=hint)
    name, error = next(iter(refused.items()))
    return Unreachable(f"{name}: {error}", node=name, hint=error.hint if isinstance(error, Unreached) else None)


class Hold:
    """One node's lock; the node releases it when the channel ends."""

    def __init__(self, link: Connection, owner: Owner) -> None:
        self.link = link
        self._owner = owner
        self._channel: paramiko.Channel | None = None

    def take(self, again: bool = False) -> None:
        """Raises Held or NodeLost. `waiting` is fine too: an earlier connection of this run still holds the lock.

        `again`: this run had it before, so it is also Held if another run has had it since then.
        """
        node = self.link.target.name
        channel = self.link.channel()
        about = json.dumps(asdict(self._owner), separators=(",", ":"))
        try:
            more = ("again",) if again else ()
            begin(channel, shell_line((Script("lock"), self._owner.run, str(QUIET), about, *more)))
            answer = _first_line(channel)
        except BROKEN as error:
            channel.close()
            raise NodeLost(node, f"the connection ended while sparkops took the lock: {error}", sent=True) from error
        if answer not in ("held", "waiting"):
            self._refused(node, answer, channel)
        self._channel = channel

    @property
    def ended(self) -> bool:
        """Whether the node released it, for example after QUIET seconds without a heartbeat."""
        return self._channel is not None and (self._channel.closed or self._channel.exit_status_ready())

    def beat(self) -> None:
        self._tell(b".")

    def note(self, line: str) -> None:
        """Add a line to the node's history, in the order of the calls, without waiting for it."""
        self._tell(f"{line}\n".encode())

    def release(self) -> None:
        """Release it and wait until it is free, so that the next run can take it."""
        if self._channel is None:
            return
        with contextlib.suppress(*BROKEN):
            self._channel.shutdown_write()
            self._channel.status_event.wait(2.0)
            self._channel.close()
        self._channel = None

    def _tell(self, data: bytes) -> None:
        if self._channel is not None:
            with contextlib.suppress(*BROKEN):
                self._channel.sendall(data)

    def _refused(self, node: str, answer: str, channel: paramiko.Channel) -> None:
        told = channel.recv_stderr(4096).decode(errors="replace").strip() if channel.recv_stderr_ready() else ""
        channel.close()
        try:
            owner = json.loads(answer)
        except ValueError:
            raise NodeLost(node, f"cannot lock this node: {told or answer or 'no answer'}", sent=False) from None
        raise Held(node, owner if isinstance(owner, dict) else {})


def _first_line(channel: paramiko.Channel) -> str:
    channel.settimeout(_ANSWER)
    end = time.monotonic() + _ANSWER
    line = b""
    while b"\n" not in line and time.monotonic() < end:
        data = channel.recv(4096)
        if not data:
            break
        line += data
    return line.decode(errors="replace").split("\n")[0]
