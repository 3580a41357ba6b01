"""One node's connection: opened on first use, and again if it broke between commands."""

import contextlib
import socket
import threading
from collections.abc import Callable

import paramiko

from sparkops.core.plan import NodeLost, Result
from sparkops.remote import Cancel
from sparkops.remote.channel import BROKEN, Exchange, Sink
from sparkops.remote.frame import Frame
from sparkops.remote.ssh import Connector, SshTarget

CHANNELS = 3
"""Commands at once on a connection; the lock has a channel of its own. sshd allows ten (MaxSessions)."""
_OPENING = 30.0


class Connection:
    """Thread-safe. `connections` counts how often it was opened; `reopened` is called each time but the first."""

    def __init__(self, connector: Connector, target: SshTarget, reopened: "Callable[[Connection], None]") -> None:
        self.target = target
        self.connections = 0
        self._connector = connector
        self._reopened = reopened
        self._transport: paramiko.Transport | None = None
        self._opening = threading.Lock()
        self._slots = threading.BoundedSemaphore(CHANNELS)

    @property
    def alive(self) -> bool:
        return self._transport is not None and self._transport.is_active()

    def connect(self) -> paramiko.Transport:
        """The open connection, opened again if it broke; raises Unreached."""
        with self._opening:
            if self._transport is not None and self._transport.is_active():
                return self._transport
            self.close()
            self._transport = self._connector.open(self.target)
            self.connections += 1
            again = self.connections > 1
            transport = self._transport
        if again:
            self._reopened(self)
        return transport

    def channel(self) -> paramiko.Channel:
        """A new session. If the connection turns out to be broken, open it once more: nothing was sent on it."""
        transport = self.connect()
        try:
            return transport.open_session(timeout=_OPENING)
        except BROKEN as error:
            if isinstance(error, paramiko.SSHException) and transport.is_active():
                raise NodeLost(self.target.name, f"the node refuses a new SSH session: {error}", sent=False) from error
            transport.close()  # its reader may not have noticed yet
        try:
            return self.connect().open_session(timeout=_OPENING)
        except BROKEN as error:
            raise NodeLost(self.target.name, f"the connection ended: {error}", sent=False) from error

    def run(
        self, frame: Frame, timeout: float, stop: Cancel | None, sink: Sink | None = None, hear: Sink | None = None
    ) -> Result:
        with self._slots:
            channel = self.channel()
            try:
                return Exchange(self.target.name, channel, sink, hear).run(frame, timeout, stop)
            finally:
                with contextlib.suppress(*BROKEN):
                    channel.close()

    def close(self) -> None:
        """Close it and the connection to its jump host, also if the other side is gone."""
        if self._transport is None:
            return
        through = self._transport.sock
        with contextlib.suppress(*BROKEN):
            through.shutdown(socket.SHUT_RDWR)  # else its reader sleeps up to 0.1 s before it notices
        self._transport.close()
        if isinstance(through, paramiko.Channel):
            through.get_transport().close()
