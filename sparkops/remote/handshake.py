"""A tuned socket with an SSH handshake on it, before authentication."""

import logging
import socket
import threading
from collections.abc import Sequence

import paramiko

logging.getLogger("paramiko").addHandler(logging.NullHandler())  # else Python prints its tracebacks to stderr

_KEX = ("curve25519-sha256", "curve25519-sha256@libssh.org")
_CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr")
_SILENCE_MS = 30_000
"""A peer that acknowledges nothing for this long is gone (a laptop that slept, a node that lost power)."""

_LATER = 5.0
"""Seconds added to Paramiko's own limits, so that ours end first: their error names the silent node."""


def dial(address: str, port: int, timeout: float) -> socket.socket:
    """TCP with small packets sent at once, and a silent peer noticed."""
    sock = socket.create_connection((address, port), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENCE_MS)
    return sock


def resolve(name: str) -> str:
    """The address of a name, IPv4 if it has one."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    best = min(found, key=lambda one: one[0] != socket.AF_INET)
    return str(best[4][0])


class SilentServer(TimeoutError):
    """The connection is open, but the SSH server says nothing in time."""


def handshake(
    address: str,
    port: int,
    timeout: float,
    *,
    algorithms: Sequence[str] = (),
    through: paramiko.Channel | None = None,
) -> paramiko.Transport:
    """Agree on keys; the caller judges the host key. `algorithms` are the host key kinds to ask for first."""
    sock = through or dial(address, port, timeout)
    transport = paramiko.Transport(sock)
    transport.daemon = True
    transport.banner_timeout = transport.handshake_timeout = timeout + _LATER
    transport.auth_timeout = timeout
    options = transport.get_security_options()
    options.kex = _first(_KEX, options.kex)
    options.ciphers = _first(_CIPHERS, options.ciphers)
    options.key_types = _first(algorithms, options.key_types)
    done = threading.Event()
    transport.start_client(event=done)
    if not done.wait(timeout):
        transport.close()
        raise SilentServer
    if not transport.is_active():
        error = transport.get_exception() or EOFError("connection closed")
        transport.close()
        raise error
    return transport


def _first(wanted: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The wanted that exist here, then the rest; no algorithm is lost, so an older server still agrees."""
    liked = [name for name in wanted if name in known]
    return (*liked, *(name for name in known if name not in liked))
