"""One exec request as OpenSSH's sshd serves it: a process that outlives its channel and then reads end of file."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable

import asyncssh
from asyncssh.packet import Boolean, String, UInt32

CHUNK = 65536
BACKLOG = 1 << 20


class Remote(asyncssh.SSHServerSession[bytes]):
    """`/bin/sh -c LINE` in its own session; three pipes; exit status when it ends, close when its output ends."""

    def __init__(self, accept: "Callable[[str, Remote], None]") -> None:
        self._accept = accept
        self._loop = asyncio.get_running_loop()
        self._process: subprocess.Popen[bytes] | None = None
        self._input = bytearray()
        self._eof = False
        self._outputs: dict[int, int | None] = {}
        self.open = True
        self._exited = False
        self._held = False

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan

    def exec_requested(self, command: str) -> bool:
        self._accept(command, self)
        return True

    def shell_requested(self) -> bool:
        return self.exec_requested("exec /bin/sh")

    def start(self, line: str, environment: dict[str, str]) -> int:
        """Run it; the channel may already be gone, as when a connection drops right after the request."""
        process = subprocess.Popen(
            ["/bin/sh", "-c", line],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=environment["HOME"],
            start_new_session=True,
            bufsize=0,
        )
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for stream, kind in ((process.stdout, None), (process.stderr, asyncssh.EXTENDED_DATA_STDERR)):
            os.set_blocking(stream.fileno(), False)
            self._outputs[stream.fileno()] = kind
        os.set_blocking(process.stdin.fileno(), False)
        self._listen(True)
        handle = os.pidfd_open(process.pid)
        self._loop.add_reader(handle, self._ended, handle)
        self._feed()
        if not self.open:
            self._drop()
        return process.pid

    def data_received(self, data: bytes, datatype: int | None) -> None:
        self._input += data
        self._feed()

    def eof_received(self) -> bool:
        self._eof = True
        self._feed()
        return True

    def pause_writing(self) -> None:
        self._held = True
        self._listen(False)

    def resume_writing(self) -> None:
        self._held = False
        self._listen(True)

    def connection_lost(self, exc: Exception | None) -> None:
        """sshd closes its pipes and leaves the process alone."""
        self.open = False
        self._eof = True
        if self._process is not None:
            self._drop()

    def _drop(self) -> None:
        self._listen(False)
        assert self._process is not None
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
        self._outputs.clear()
        self._feed()

    def _listen(self, on: bool) -> None:
        for handle in self._outputs:
            if on and self.open and not self._held:
                self._loop.add_reader(handle, self._output, handle)
            else:
                self._loop.remove_reader(handle)

    def _output(self, handle: int) -> None:
        try:
            data = os.read(handle, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._channel.write(data, self._outputs[handle])
            return
        self._loop.remove_reader(handle)
        del self._outputs[handle]
        self._close_when_done()

    def _feed(self) -> None:
        """Write what the process takes now; the rest when its pipe has room."""
        if self._process is None or self._process.stdin is None or self._process.stdin.closed:
            return
        handle = self._process.stdin.fileno()
        try:
            while self._input:
                del self._input[: os.write(handle, self._input[:CHUNK])]
        except BlockingIOError:
            pass
        except OSError:
            self._input.clear()
            self._eof = True
        if self._input:
            self._loop.add_writer(handle, self._feed)
        else:
            self._loop.remove_writer(handle)
            if self._eof:
                self._process.stdin.close()
        self._limit()

    def _limit(self) -> None:
        if not self.open:
            return
        if len(self._input) > BACKLOG:
            self._channel.pause_reading()
        else:
            self._channel.resume_reading()

    def _ended(self, handle: int) -> None:
        self._loop.remove_reader(handle)
        os.close(handle)
        assert self._process is not None
        code = self._process.wait()
        self._exited = True
        self._input.clear()
        self._eof = True
        self._feed()
        if self.open:
            self._report(code)
            self._close_when_done()

    def _report(self, code: int) -> None:
        """The status at once, as sshd does; `exit()` of the library would also close and cut off late output."""
        if code >= 0:
            self._channel._send_request(b"exit-status", UInt32(code))
            return
        name = signal.Signals(-code).name.removeprefix("SIG").encode()
        self._channel._send_request(b"exit-signal", String(name) + Boolean(False) + String(b"") + String(b""))

    def _close_when_done(self) -> None:
        if self._exited and not self._outputs and self.open:
            self.open = False
            self._channel.write_eof()
            self._channel.close()
