"""Our node scripts in real shells, with small honest programs on PATH where a node has Docker, Ray or an engine."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sparkops.remote.frame import script_text

SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]
HURRIED_PYTHON = """if [ "$1" = -IS ]; then
    code=$3
    shift 3
    set -- -IS -c "import time; nap = time.sleep; time.sleep = lambda seconds: nap(seconds / 100)
$code" "$@"
fi
exec {} "$@\""""

ENDS_WHAT_SAID_IT_ALL = """shift 3
"$@" &
until [ -e "$HOME/said" ]; do sleep 0.02; done
kill $!
wait
exit 124"""
"""A `timeout -k 5 LIMIT WORDS` whose limit passes when the command has made `~/said`, however busy the machine is."""


@dataclass
class NodeShell:
    """Runs our scripts as a node would, below a root of its own and with its own tools first on PATH."""

    shell: str
    home: Path
    root: Path
    tools: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        paths = {"HOME": str(self.home), "SPARKOPS_ROOT": str(self.root), "PATH": f"{self.tools}:{os.environ['PATH']}"}
        return {**os.environ, **paths, **self.extra}

    def words(self, script: str, *args: str) -> list[str]:
        return [self.shell, "-c", script_text(script), script, *args]

    def run(self, script: str, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """To its end; `stdin` ends with its text."""
        words = self.words(script, *args)
        return subprocess.run(
            words, input=stdin, env=self.env, capture_output=True, text=True, timeout=240, check=False
        )

    def start(self, script: str, *args: str) -> subprocess.Popen[str]:
        """In the background, stderr with stdout."""
        return subprocess.Popen(
            self.words(script, *args), env=self.env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip

    def tool(self, name: str, text: str) -> None:
        """A program of this node."""
        path = self.tools / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def hurry(self) -> None:
        """On this node every sleep of a script takes no more than a moment.

        One of ten seconds is the time between two signals, which a busy shell would take for one.
        """
        real = shutil.which("sleep")
        self.tool("sleep", f"case $1 in 10) exec {real} 1 ;; *) exec {real} 0.01 ;; esac")
        self.tool("python3", HURRIED_PYTHON.format(shutil.which("python3")))


def fresh(shell: str, base: Path) -> NodeShell:
    """A node with a home that has a space in its name."""
    made = NodeShell(shell, base / "a home", base / "root", base / "tools")
    for place in (made.home, made.root / "proc", made.tools):
        place.mkdir(parents=True)
    return made


@pytest.fixture
def nodes(tmp_path: Path) -> list[NodeShell]:
    """A fresh node for each shell that is `sh` somewhere."""
    return [fresh(shell, tmp_path / shell) for shell in SHELLS]


@pytest.fixture(params=SHELLS)
def node(request: pytest.FixtureRequest, tmp_path: Path) -> NodeShell:
    """One of them after the other."""
    return fresh(request.param, tmp_path / request.param)


class Held:
    """A script with its stdin held open, as a living client does."""

    def __init__(self, words: Sequence[str], given: bytes = b"", env: Mapping[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=env, start_new_session=True)
        self.give(given)

    def give(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self) -> str:
        return self.process.stdout.readline().decode().strip()

    def end(self) -> tuple[int, bytes, bytes]:
        """Its result while stdin stays open; reading to the end proves that nothing holds its output."""
        out, errors = self.process.stdout.read(), self.process.stderr.read()
        return self.close(), out, errors

    def close(self) -> int:
        """Wait for its end and that of whatever is still in its session, such as a watchdog that was just killed."""
        code = self.process.wait(60)
        assert until(lambda: not _in_session(self.process.pid))
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        return code

    def hang_up(self) -> int:
        self.process.stdin.close()
        return self.close()


def _in_session(session: int) -> bool:
    found = subprocess.run(["ps", "-o", "stat=", "-s", str(session)], capture_output=True, text=True, check=False)
    return any(not line.startswith("Z") for line in found.stdout.splitlines())


def until(holds: Callable[[], object]) -> bool:
    """Wait until something holds; a bound, not a measure."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


def alive(word: str) -> bool:
    """Whether a process with this word among its arguments runs."""
    return subprocess.run(["pgrep", "-f", "--", word], capture_output=True, check=False).returncode == 0
