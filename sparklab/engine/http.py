"""A small threaded HTTP server on several addresses at once, with server-sent events; for vllm, litellm and webui."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sparklab.engine import log
from sparklab.layout import Node


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def server_bind(self) -> None:
        """Without the reverse lookup that the base class makes."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[0], self.server_address[1]  # type: ignore[assignment]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class Handler(BaseHTTPRequestHandler):
    """JSON in, JSON or a stream of events out, with the log lines of uvicorn."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # a short answer goes out whole, or not at all where the engine ends

    def log_message(self, format: str, *args: Any) -> None:
        """Written by `begin` instead."""

    def handle_expect_100(self) -> bool:
        done = super().handle_expect_100()
        self.wfile.flush()
        return done

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def bearer(self) -> str:
        """The API key that was sent, or an empty string."""
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def body(self) -> dict[str, Any] | None:
        """The JSON object that was sent, or None where it is not one."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            found = json.loads(raw or b"{}")
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def begin(self, code: int, kind: str, **headers: str) -> None:
        client, reason = f"{self.client_address[0]}:{self.client_address[1]}", self.responses.get(code, ("", ""))[0]
        log.write(f'INFO:     {client} - "{self.command} {self.route} HTTP/1.1" {code} {reason}')
        self.send_response(code)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)

    def reply(self, code: int, value: Any, kind: str = "application/json", **headers: str) -> None:
        data = value.encode() if isinstance(value, str) else json.dumps(value, separators=(",", ":")).encode()
        self.begin(code, kind, **headers)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events: Iterable[bytes], **headers: str) -> None:
        """One chunk an event; the connection stays usable."""
        self.begin(200, "text/event-stream; charset=utf-8", **headers)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for event in events:
            self._chunk(event)
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def event(value: Any) -> bytes:
    """A server-sent event of one JSON value."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def listen(node: Node, host: str, port: int, handler: type[Handler]) -> list[Server]:
    """On an emulated node `0.0.0.0` means its own addresses, and its loopback is not this machine's."""
    if host in ("0.0.0.0", "::", ""):
        addresses = [node.address, *node.fabric, node.loopback]
    else:
        addresses = [node.loopback if host in ("127.0.0.1", "localhost") else host]
    servers: list[Server] = []
    try:
        servers.extend(Server((address, port), handler) for address in addresses)
    except OSError:
        close(servers)
        raise
    return servers


def serve(servers: list[Server]) -> None:
    for server in servers:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()


def close(servers: list[Server]) -> None:
    for server in servers:
        with contextlib.suppress(OSError):
            server.server_close()
