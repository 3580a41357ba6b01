"""Why a node could not be reached, in words that say what to do; the only place that knows Paramiko's exceptions."""

import errno
import socket
from typing import Literal

import paramiko

from sparkops.core.plan import NodeLost

Kind = Literal["refused", "route", "timeout", "auth", "key", "unknown-key", "changed-key", "config", "ended"]

HEALS: frozenset[Kind] = frozenset(("refused", "timeout", "ended"))
"""What may be gone a moment later; never authentication or a host key."""

COMES_BACK: frozenset[Kind] = HEALS | {"route"}
"""What a laptop that slept or a switch that restarts may bring back while a wait goes on."""

_NO_ROUTE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}


class Unreached(NodeLost):
    """A node that no command was sent to, with what a person can do about it."""

    def __init__(self, node: str, kind: Kind, reason: str, hint: str | None = None) -> None:
        super().__init__(node, reason, sent=False, heals=kind in COMES_BACK)
        self.kind = kind
        self.hint = hint


def unreached(node: str, address: str, port: int, error: Exception) -> Unreached:
    """The reason behind an exception that was raised while connecting."""
    where = f"{address} port {port}"
    if isinstance(error, Unreached):
        return error
    if isinstance(error, ConnectionRefusedError):
        return Unreached(node, "refused", f"connection refused by {where}", "check that sshd runs there on that port")
    if isinstance(error, socket.gaierror):
        return Unreached(node, "config", f"{address} is not an address: {error.strerror}")
    if isinstance(error, TimeoutError) or getattr(error, "errno", None) == errno.ETIMEDOUT:
        return Unreached(
            node, "timeout", f"no answer from {where}", "check that the node is on and the address is right"
        )
    if isinstance(error, OSError) and error.errno in _NO_ROUTE:
        return Unreached(node, "route", f"no route to {where}", "check that this machine is on the node's network")
    if isinstance(error, paramiko.SSHException | EOFError | OSError):
        return Unreached(node, "ended", f"{where} ended the SSH handshake: {str(error) or type(error).__name__}")
    raise error
