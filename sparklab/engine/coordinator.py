"""The lab's part of a Ray head: the list of members and news of those that leave. The emulated Ray head is only this;
beside the real one it carries what a real engine learns from its actors.

JSON lines over TCP at the head's fabric address and Ray port. A connection that joined is a member until it closes.
"""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

PATIENCE = 3.0
RAY_PORT = 6379
Message = dict[str, Any]


class Channel:
    """One JSON-lines connection."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._reader = link.makefile("r", encoding="utf-8")
        self._lock = threading.Lock()

    def send(self, message: Message) -> bool:
        try:
            with self._lock:
                self._link.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return False
        return True

    def messages(self) -> Iterator[Message]:
        """All messages until the other side closes, then `{"left": ...}`."""
        with contextlib.suppress(OSError, ValueError):
            for line in self._reader:
                yield json.loads(line)
        yield {"left": "head"}

    def ask(self, message: Message) -> Message | None:
        if not self.send(message):
            return None
        answer = next(self.messages())
        return None if "left" in answer else answer

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        self._link.close()


def connect(address: str, source: str = "") -> Channel | None:
    """To the coordinator beside the Ray head at HOST[:PORT]; None where nobody listens."""
    host, _, port = address.partition(":")
    own = (source, 0) if source else None
    try:
        link = socket.create_connection((host, int(port or RAY_PORT)), PATIENCE, source_address=own)
    except OSError:
        return None
    link.settimeout(None)
    return Channel(link)


class Coordinator:
    """The server; its own node is the first member."""

    def __init__(self, address: str, port: int, own: Message, real_port: int, resources: dict[str, float]) -> None:
        self.server = socket.create_server((address, port), backlog=64)
        self.members: list[tuple[Message, Channel | None]] = [(own, None)]
        self.watchers: list[Channel] = []
        self.reserved = 0.0
        self.real_port = real_port
        self.resources = resources
        self.lock = threading.Lock()

    def serve(self) -> None:
        while True:
            link, _ = self.server.accept()
            threading.Thread(target=self._client, args=(Channel(link),), daemon=True).start()

    def _client(self, channel: Channel) -> None:
        joined: Message | None = None
        watching = False
        for message in channel.messages():
            match message.get("do"):
                case "join":
                    joined = message["node"]
                    with self.lock:
                        self.members.append((message["node"], channel))
                    channel.send({"ok": True})
                case "list":
                    channel.send(self._listing())
                case "reserve":
                    watching = True
                    self._reserve(channel, message)
        self._left(channel, joined, watching)

    def _listing(self) -> Message:
        with self.lock:
            own = {"reserved": self.reserved, "real_port": self.real_port, "resources": self.resources}
            return {"nodes": [node for node, _ in self.members], **own}

    def _reserve(self, channel: Channel, message: Message) -> None:
        with self.lock:
            self.watchers.append(channel)
            self.reserved = float(message["gpus"])
            others = [member for _, member in self.members if member]
        for other in others:
            other.send({"hold": message["utilization"]})

    def _left(self, channel: Channel, joined: Message | None, watching: bool) -> None:
        with self.lock:
            self.members = [pair for pair in self.members if pair[1] is not channel]
            watchers = list(self.watchers) if joined else []
            others = [member for _, member in self.members if member] if watching else []
            if watching:
                self.watchers = [w for w in self.watchers if w is not channel]
                self.reserved = 0.0
        for watcher in watchers:
            watcher.send({"left": joined["ip"] if joined else ""})
        for other in others:
            other.send({"hold": 0})
