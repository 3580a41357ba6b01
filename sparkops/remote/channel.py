"""One command on one channel: read both streams as they come, keep stdin open as the sign that we are connected."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import paramiko

from sparkops.core.plan import NodeLost, Result
from sparkops.remote import Cancel
from sparkops.remote.frame import TIMED_OUT, Frame

GRACE = 30.0
"""Seconds beyond the deadline that the node enforces: for TERM, KILL, a sweep, and a slow network."""
CAP = 16 * 1024 * 1024
_GLANCE = 0.25
_LAST_WORDS = 2.0
_CHUNK = 64 * 1024

BROKEN = (paramiko.SSHException, EOFError, OSError)
"""What Paramiko raises when the connection is gone."""

Sink = Callable[[bytes], None]


def begin(channel: paramiko.Channel, line: str) -> None:
    """Start a shell line; raises one of BROKEN. Paramiko would wait without end for a node that hangs."""
    late = threading.Timer(GRACE, channel.close)
    late.daemon = True
    late.start()
    try:
        channel.exec_command(line.encode())
    finally:
        late.cancel()


class _Wake(threading.Event):
    """Set by two buffers. An empty buffer must not clear it while the other has data, so `clear` does nothing."""

    def clear(self) -> None:
        pass

    def reset(self) -> None:
        super().clear()


@dataclass
class KeptOutput:
    """A stream's first and last bytes, `cap` at most, so that a flood of output does not fill the memory."""

    cap: int = CAP
    head: bytearray = field(default_factory=bytearray)
    tail: deque[bytes] = field(default_factory=deque)
    tail_size: int = 0
    dropped: int = 0

    def add(self, data: bytes) -> None:
        room = self.cap // 2 - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        if not data:
            return
        self.tail.append(data)
        self.tail_size += len(data)
        while self.tail_size - len(self.tail[0]) >= self.cap // 2:
            gone = len(self.tail.popleft())
            self.tail_size -= gone
            self.dropped += gone

    def text(self) -> str:
        left_out = f"\n[{self.dropped} bytes left out]\n".encode() if self.dropped else b""
        return (bytes(self.head) + left_out + b"".join(self.tail)).decode(errors="replace")


class Exchange:
    """Send one frame and collect its output; call `run` once. `sink` gets stdout instead, `hear` stderr as well."""

    def __init__(
        self, node: str, channel: paramiko.Channel, sink: Sink | None = None, hear: Sink | None = None
    ) -> None:
        self._node = node
        self._channel = channel
        self._wake = _Wake()
        self._out, self._err = KeptOutput(), KeptOutput()
        self._sink = sink or self._out.add
        self._hear = hear

    def run(self, frame: Frame, timeout: float, stop: Cancel | None) -> Result:
        """`stop` drops the command; without it, wait for its end."""
        began = time.monotonic()
        with open(frame.upload or os.devnull, "rb") as self._rest:
            self._start(frame)
            try:
                ended = self._follow(memoryview(frame.stdin), began + timeout + GRACE, stop)
            except BROKEN as error:
                raise NodeLost(self._node, "the connection was lost before the command ended", sent=True) from error
        seconds = time.monotonic() - began
        if not ended:
            return Result("cancelled", -1, self._out.text(), self._err.text(), seconds)
        return self._result(self._channel.recv_exit_status(), seconds)

    def _start(self, frame: Frame) -> None:
        self._channel.settimeout(0.0)
        self._channel.in_buffer.set_event(self._wake)
        self._channel.in_stderr_buffer.set_event(self._wake)
        try:
            begin(self._channel, frame.line)
        except BROKEN as error:
            raise NodeLost(self._node, f"the connection ended while a command was sent: {error}", sent=True) from error

    def _follow(self, rest: memoryview, deadline: float, stop: Cancel | None) -> bool:
        """Wait until the command has ended; False if it was dropped."""
        exited = None
        while True:
            self._wake.reset()
            rest = self._feed(rest)
            self._drain()
            now = time.monotonic()
            if self._channel.exit_status_ready():
                exited = exited or now
                if self._silent() or now - exited > _LAST_WORDS:
                    return True
            if stop is not None and stop.is_set():
                return False
            if now > deadline:
                raise NodeLost(self._node, f"no answer within {GRACE:.0f} s after the command's time limit", sent=True)
            self._wake.wait(0.01 if rest else _GLANCE)

    def _feed(self, rest: memoryview) -> memoryview:
        while self._channel.send_ready() and (rest := rest or memoryview(self._rest.read(_CHUNK))):
            try:
                sent = self._channel.send(bytes(rest[:_CHUNK]))
            except OSError:  # the command ended without reading it all, or the window is full
                break
            rest = rest[sent:]
        return rest

    def _drain(self) -> None:
        while self._channel.recv_ready():
            self._sink(self._channel.recv(_CHUNK))
        while self._channel.recv_stderr_ready():
            said = self._channel.recv_stderr(_CHUNK)
            self._err.add(said)
            if self._hear:
                self._hear(said)

    def _silent(self) -> bool:
        ended = self._channel.eof_received or self._channel.closed
        return bool(ended) and not self._channel.recv_ready() and not self._channel.recv_stderr_ready()

    def _result(self, code: int, seconds: float) -> Result:
        if code < 0:
            raise NodeLost(self._node, "the connection was lost before the command ended", sent=True)
        errors = self._err.text()
        timed_out = code == 124 and errors.endswith(f"{TIMED_OUT}\n")
        errors = errors.removesuffix(f"{TIMED_OUT}\n") if timed_out else errors
        return Result("timeout" if timed_out else "exited", code, self._out.text(), errors, seconds)
