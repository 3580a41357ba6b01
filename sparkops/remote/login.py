"""Authentication: try one key or password after the other on one connection, requesting the service only once.

Paramiko's `Transport` requests the service before every try, and strict servers then close the connection. Its
`AuthOnlyHandler` does not, but listens for the answer only after it has sent the request.
"""

import threading
from collections.abc import Callable

import paramiko
from paramiko.auth_handler import AuthOnlyHandler
from paramiko.common import cMSG_USERAUTH_REQUEST

Proof = paramiko.PKey | str
INTERACTIVE = "keyboard-interactive"


def offer(transport: paramiko.Transport, user: str, proof: Proof, *, first: bool) -> bool:
    """Whether the server accepts the key or password. Raises Paramiko's exceptions if the connection breaks."""
    try:
        left = _first(transport, user, proof) if first else _next(transport, user, proof)
    except paramiko.AuthenticationException:
        if transport.is_active():
            return False
        raise
    return not left


def _first(transport: paramiko.Transport, user: str, proof: Proof) -> list[str]:
    if isinstance(proof, str):
        return transport.auth_password(user, proof)
    return transport.auth_publickey(user, proof)


def _next(transport: paramiko.Transport, user: str, proof: Proof) -> list[str]:
    handler = _Again(transport)
    transport.auth_handler = handler
    if not isinstance(proof, str):
        return handler.auth_publickey(user, proof)
    try:
        return handler.auth_password(user, proof)
    except paramiko.BadAuthenticationType as wrong:
        if INTERACTIVE not in wrong.allowed_types:
            raise
        return handler.auth_interactive(user, lambda _title, _text, fields: [proof] * len(fields))


class _Again(AuthOnlyHandler):
    def send_auth_request(
        self, username: str, method: str, finish_message: Callable[[paramiko.Message], None] | None = None
    ) -> list[str]:
        self.auth_method, self.username = method, username
        self.auth_event = threading.Event()
        message = paramiko.Message()
        message.add_byte(cMSG_USERAUTH_REQUEST)
        for text in (username, "ssh-connection", method):
            message.add_string(text)
        if finish_message is not None:
            finish_message(message)
        self.transport._send_message(message)  # type: ignore[attr-defined]
        return self.wait_for_response(self.auth_event)
