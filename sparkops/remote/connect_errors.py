"""Why a node could not be reached and what to do about it, from Paramiko's and the system's exceptions."""

import errno
import socket
from typing import Literal

import paramiko

from sparkops.core.plan import NodeLost
from sparkops.remote.handshake import SilentServer

Kind = Literal["refused", "route", "timeout", "auth", "key", "unknown-key", "changed-key", "config", "ended", "sudo"]

HEALS: frozenset[Kind] = frozenset(("refused", "timeout", "ended"))
"""Errors that may pass within seconds, so connecting is tried again; never authentication or a host key."""

COMES_BACK: frozenset[Kind] = HEALS | {"route"}
"""Errors that may pass during a wait: a laptop that slept, a switch that restarts."""

_NO_ROUTE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}


class Unreached(NodeLost):
    """A node that could not be connected to; no command was sent."""

    def __init__(self, node: str, kind: Kind, reason: str, hint: str | None = None) -> None:
        super().__init__(node, reason, sent=False, heals=kind in COMES_BACK)
        self.kind = kind
        self.hint = hint


def _silent(node: str, where: str, *, open_port: bool) -> Unreached:
    if open_port:
        hint = "the node may be out of memory; wait some minutes, or switch it off and on"
        return Unreached(node, "timeout", f"SSH on {where} accepts the connection and says nothing", hint)
    return Unreached(node, "timeout", f"no answer from {where}", "check that the node is on and the address is right")


def unreached(node: str, address: str, port: int, error: Exception) -> Unreached:
    """An exception raised while connecting, as Unreached; raises any other again."""
    where = f"{address} port {port}"
    if isinstance(error, Unreached):
        return error
    if isinstance(error, ConnectionRefusedError):
        return Unreached(node, "refused", f"connection refused by {where}", "check that sshd runs and uses that port")
    if isinstance(error, socket.gaierror):
        return Unreached(node, "config", f"{address} has no IP address: {error.strerror}")
    if isinstance(error, TimeoutError) or getattr(error, "errno", None) == errno.ETIMEDOUT:
        return _silent(node, where, open_port=isinstance(error, SilentServer))
    if isinstance(error, OSError) and error.errno in _NO_ROUTE:
        return Unreached(node, "route", f"no route to {where}", "check that this machine is on the node's network")
    if isinstance(error, paramiko.SSHException | EOFError | OSError):
        return Unreached(node, "ended", f"{where} ended the SSH handshake: {str(error) or type(error).__name__}")
    raise error
