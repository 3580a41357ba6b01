"""A node's lock: taken and held over a connection of ours, with a heartbeat; refused with the run that holds it."""

import contextlib
import getpass
import json
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import paramiko

from sparkops.core.plan import NodeLost, Script
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


def owner_here(run: str) -> Owner:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return Owner(run, getpass.getuser(), platform.node(), os.getpid(), since)


class Held(Exception):
    """Another run has the lock of this node."""

    def __init__(self, node: str, owner: Mapping[str, Any]) -> None:
        super().__init__(node)
        self.node = node
        self.owner = owner

    def __str__(self) -> str:
        who = f"{self.owner.get('user', 'somebody')}@{self.owner.get('machine', 'somewhere')}"
        details = f"run {self.owner.get('run', '?')}, pid {self.owner.get('pid', '?')}"
        return f"{self.node} is locked by {who} since {self.owner.get('since', '?')} ({details})"


def refusal(refused: Mapping[str, Held | NodeLost]) -> Locked | Unreachable:
    """The error of a run that did not get all locks; another run that holds one comes before lost nodes."""
    held = [error for error in refused.values() if isinstance(error, Held)]
    if held:
        hint = "wait until that run ends, or ask the user who started it; a killed run releases its lock by itself"
        return Locked("; ".join(map(str, held)), node=held[0].node, hint=hint)
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
        if self._channel is not None:
            with contextlib.suppress(*BROKEN):
                self._channel.send(b".")

    def release(self) -> None:
        """Release it and wait until it is free, so that the next run can take it."""
        if self._channel is None:
            return
        with contextlib.suppress(*BROKEN):
            self._channel.shutdown_write()
            self._channel.status_event.wait(2.0)
            self._channel.close()
        self._channel = None

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
