"""`watch` over emulated nodes: what one look shows, and the screen."""

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading

import pytest


def test_one_look_shows_every_node_over_one_connection_and_leaves_nothing(lab_with):
    lab = lab_with(nodes=3)
    lab.mark()
    document = lab.json("watch", "--once")
    assert [node["name"] for node in document["nodes"]] == lab.names
    assert all(node["memory"]["total_kib"] and node["bits_per_second"] for node in document["nodes"])
    assert document["alerts"] == []
    assert set(lab.connections().values()) == {1}
    assert {one.shown.split()[0] for one in lab.received()} == {"@facts", "@watch"}
    assert lab.processes() == []


class Screen:
    """A `watch` on a terminal of 80 x 24, and the bytes that it has drawn so far."""

    def __init__(self, lab, **env: str) -> None:
        self.drawn = b""
        self.terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            lab.line("watch"), env=lab.environment(TERM="xterm-256color", **env), cwd=lab.work,
            stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
        )  # fmt: skip
        os.close(inner)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other side was closed
            while data := os.read(self.terminal, 65536):
                self.drawn += data

    def press(self, keys: bytes) -> None:
        os.write(self.terminal, keys)


@pytest.mark.parametrize(
    ("ends", "code"), [(b"q", 0), (b"\x03", 0), (signal.SIGTERM, 130), (signal.SIGHUP, 130)], ids=str
)
def test_the_screen_shows_the_nodes_and_gives_the_terminal_back(empty, until, ends, code):
    screen = Screen(empty)
    assert until(lambda: b"3%" in screen.drawn)
    screen.press(b"2\r")
    assert until(lambda: b"processes and kernel" in screen.drawn)
    screen.press(ends) if isinstance(ends, bytes) else screen.process.send_signal(ends)
    assert screen.process.wait(30) == code
    assert until(lambda: b"\x1b[?1049l" in screen.drawn)
    assert until(lambda: empty.processes() == [])


def test_sigterm_ends_it(lab_with, until):
    lab = lab_with(nodes=2)
    process = lab.start("watch")
    assert until(lambda: any(one.shown.startswith("@watch") for one in lab.received()))
    process.terminate()
    lab.ended(process, code=130)
    assert until(lambda: lab.processes() == [])
