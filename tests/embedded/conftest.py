"""Embedded labs to run the whole tool against, and what their nodes say about it.

The tool runs as a process of its own, `start` as a person starts it and `cli` with its modules in memory already; what
it did is asked of the nodes' own `docker` and of their SSH logs, not of the tool.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sparkops
from sparkops.lab import api
from sparkops.lab.docker import cli as docker
from sparkops.lab.layout import Node
from sparkops.lab.tools.answer import answer
from sparkops.remote.frame import script_text
from sparkops.testing import warm
from support.models import home, hub  # noqa: F401  fixtures of the models' tests
from support.paths import ROOT
from support.person import Person, Ran, as_expected

SCRIPTS = Path(sparkops.__file__).parent / "node"
MODEL = "openai/gpt-oss-120b"
PATIENCE = 300.0
SPEED = 20.0

pytest.importorskip("asyncssh", reason="the lab needs asyncssh (pip install 'sparkops[lab]')")
if not sys.platform.startswith("linux"):
    pytest.skip("the embedded lab needs Linux", allow_module_level=True)


@dataclass(frozen=True)
class Received:
    """One command as the node's sshd got it. `run` is `-` for one that only reads; `shown` is how a plan prints it."""

    node: str
    run: str
    shown: str

    @property
    def changes(self) -> bool:
        return self.run not in ("-", "lock")

    @property
    def is_frame(self) -> bool:
        """Lock and facts, the key and the boot log that are read: what surrounds a plan."""
        reads = self.shown.split()[0] in ("@facts", "@key") or self.shown.startswith("docker logs ")
        return self.run == "lock" or (self.run == "-" and reads)


class Lab(Person):
    """A lab of its own, a person with an empty home, and the nodes' side of what happens."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.directory = base / "the lab"
        self.home = base / "home of a person"
        self.work = base / "work"
        self.names: list[str] = []
        self._marks: dict[str, int] = {}
        self._started: list[subprocess.Popen[str]] = []

    def up(self, nodes: int = 2, ray: str = "emulated", speed: float = SPEED) -> None:
        self.home.mkdir(exist_ok=True)
        self.work.mkdir(exist_ok=True)
        self.names = [f"node{number}" for number in range(1, nodes + 1)]
        self.cli("lab", "up", "--nodes", nodes, "--ray", ray, "--speed", speed, lab=False, code=0)

    def down(self) -> None:
        """Nothing is left, neither files nor processes."""
        if not self.directory.exists():
            return
        self.end()
        mark = self._lab_mark()
        self.cli("lab", "down", lab=False, code=0)
        assert not self.directory.exists()
        assert _living(mark) == []

    # The person's side.

    def environment(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK", "XDG_", "OPENAI"))}
        places = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("STATE", "CONFIG", "CACHE", "DATA")}
        python = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH"))))
        own = {"HOME": str(self.home), "SPARKOPS_LAB_DIR": str(self.directory), "PYTHONPATH": python}
        return kept | places | own | {"PYTHONWARNINGS": "ignore"} | more

    def start(self, *words: object, lab: bool = True, **env: str) -> subprocess.Popen[str]:
        """The tool as a process that goes on."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            self.line(*words, lab=lab),
            env=self.environment(**env),
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        self._started.append(process)
        return process

    def line(self, *words: object, lab: bool = True) -> list[str]:
        """The tool's command line, as a program that starts whole."""
        return [sys.executable, "-m", "sparkops", *self._line(words, lab)]

    def end(self) -> None:
        """No tool goes on that a failed test had started."""
        while self._started:
            with self._started.pop() as process:
                process.kill()

    def killed(self, process: subprocess.Popen[str]) -> None:
        """Kill the tool, and wait until the nodes have ended what it did there and freed its lock."""
        process.kill()
        process.communicate()
        assert _until(lambda: not self._frames()), f"outlives the tool: {self._frames()}"

    def _frames(self) -> list[str]:
        """What a tool holds on the nodes, each by the name of its frame: a lock, or a command that is under way."""
        mine = f"SPARKLAB_LAB={json.loads((self.directory / 'lab.json').read_text())['id']}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if words[:2] == [b"sh", b"-c"] and words[3:4] in ([b"lock"], [b"run"]):
                    found += [words[3].decode()] if mine in (entry / "environ").read_bytes().split(b"\0") else []
        return found

    def cli(self, *words: object, lab: bool = True, code: int | None = None, **env: str) -> Ran:
        """The tool, until it ends."""
        line = self._line(words, lab)
        try:
            ended = warm.run(line, env=self.environment(**env), cwd=self.work, seconds=PATIENCE)
        except subprocess.TimeoutExpired as late:
            pytest.fail(f"no end after {PATIENCE:.0f} s: {line}\n{late.output}{late.stderr}")
        return as_expected(Ran(ended.code, ended.out, ended.err), line, code)

    def ended(self, process: subprocess.Popen[str], code: int | None = None) -> Ran:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"no end after {PATIENCE:.0f} s: {process.args}\n{''.join(process.communicate())}")
        return as_expected(Ran(process.returncode, out, err), process.args, code)

    @staticmethod
    def _line(words: Sequence[object], lab: bool) -> list[str]:
        return [*(("-i", "lab") if lab else ()), *map(str, words)]

    # The client's side.

    def ask(self, url: str, key: str, model: str = MODEL, seconds: float = 30) -> tuple[int, dict[str, Any]]:
        """One completion; the HTTP code and what came back."""
        body = json.dumps({"model": model, "prompt": "Hello", "max_tokens": 4}).encode()
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(urllib.request.Request(f"{url}/completions", body, headers), timeout=seconds) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, {}
        except OSError as error:
            return 0, {"error": str(error)}

    def serves(self, name: str = "node1", port: int = 8000, model: str = MODEL) -> bool:
        """Whether the API of a node answers whoever has the node's key; quicker to ask than `status`."""
        key = self.node(name, "home", ".local", "state", "sparkops", "key").read_text().strip()
        return self.ask(f"http://{self.address(name)}:{port}/v1", key, model)[0] == 200

    # The nodes' side.

    def node(self, name: str, *parts: str) -> Path:
        return self.directory.joinpath("nodes", name, *parts)

    def address(self, name: str) -> str:
        found: str = json.loads(self.node(name, "node.json").read_text())["address"]
        return found

    def on(self, name: str, *words: str) -> str:
        """What a program of the node prints to its user; what its `docker` reads is read without a process."""
        node, asked = Node(self.node(name)), list(words[1:])
        if words[0] == "docker" and docker.at_once(node, asked):
            told = answer(node, "docker", asked)
            assert told.code == 0, told.on(2)
            return told.on(1)
        record = json.loads(self.node(name, "node.json").read_text())
        environment = {
            "PATH": f"{self.node(name, 'bin')}:/usr/bin:/bin",
            "HOME": str(self.node(name, "home")),
            "SPARKOPS_ROOT": str(self.node(name, "root")),
            "SPARKLAB_NODE": str(self.node(name)),
            "SPARKLAB_LAB": record["lab"],
        }
        return subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout

    def containers(self, running: bool = False) -> set[tuple[str, str]]:
        """(node, container) of all, or of those that run, as the nodes' Docker tells it."""
        return {
            (node, name)
            for node in self.names
            for name in self.on(node, "docker", "ps", *(() if running else ("-a",)), "--format", "{{.Names}}").split()
        }

    def running(self) -> set[tuple[str, str]]:
        return self.containers(running=True)

    def starts(self) -> dict[tuple[str, str], str]:
        """When each container was started that runs."""
        return {
            (node, name): self.on(node, "docker", "inspect", "--format", "{{.State.StartedAt}}", name)
            for node, name in self.running()
        }

    def processes(self, outside: bool = False) -> list[str]:
        """Command lines of all that lives inside containers of this lab, or of all but the lab itself."""
        daemon = json.loads((self.directory / "lab.json").read_text())["daemon"][0]
        found = _living(self._lab_mark(), *(() if outside else (b"SPARKLAB_CONTAINER=",)))
        return [line for number, line in found if number != daemon]

    def _lab_mark(self) -> bytes:
        """What stands in the environment of every process of this lab."""
        return f"SPARKLAB_LAB={json.loads((self.directory / 'lab.json').read_text())['id']}".encode()

    def clear(self) -> None:
        """Nothing of anybody is left on the nodes; not by the tool, so that its tests do not lean on it."""
        for node in self.names:
            if names := self.on(node, "docker", "ps", "-aq").split():
                self.on(node, "docker", "rm", "-f", *names)
            shutil.rmtree(self.node(node, "home", ".local", "state", "sparkops"), ignore_errors=True)

    def mark(self) -> None:
        """Begin to listen to what the nodes receive."""
        self._marks = {name: self._size(name) for name in self.names}

    def _size(self, name: str) -> int:
        log = self.node(name, "ssh.jsonl")
        return log.stat().st_size if log.exists() else 0

    def events(self, name: str) -> list[dict[str, Any]]:
        """The node's SSH log since the mark."""
        log = self.node(name, "ssh.jsonl")
        if not log.exists():
            return []
        with log.open("rb") as stream:
            stream.seek(self._marks.get(name, 0))
            *whole, _ = stream.read().split(b"\n")  # the last one may be written just now
            return [json.loads(line) for line in whole]

    def received(self) -> list[Received]:
        """Every command since the mark, in each node's order."""
        return [
            _received(name, event["line"])
            for name in self.names
            for event in self.events(name)
            if event["event"] == "exec"
        ]

    def changed(self) -> list[Received]:
        return [one for one in self.received() if one.changes]

    def connections(self) -> dict[str, int]:
        return {name: sum(event["event"] == "connect" for event in self.events(name)) for name in self.names}

    def fault(self, name: str, kind: str, off: bool = False, after: int = 0) -> None:
        api.fault(name, kind, off, after=after, directory=self.directory)

    @contextlib.contextmanager
    def trouble(self, name: str, kind: str, after: int = 0) -> Iterator[None]:
        self.fault(name, kind, after=after)
        try:
            yield
        finally:
            self.fault(name, kind, off=True)

    def kill_after(self, process: subprocess.Popen[str], commands: int, number: int = signal.SIGKILL) -> bool:
        """Signal the tool once the nodes got so many commands in all; whether it came to send that many."""
        while not (sent := self._commands() >= commands) and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(number)
        return sent or self._commands() >= commands

    def brings(self, process: subprocess.Popen[str], holds: Callable[[], object]) -> None:
        """Wait until something holds that the running tool brings about."""
        if not _until(lambda: holds() or process.poll() is not None) or process.poll() is not None:
            process.kill()
            pytest.fail(f"{process.args} ended too early, or did not come so far:\n{''.join(process.communicate())}")

    def _commands(self) -> int:
        return sum(self._lines(name) for name in self.names)

    def _lines(self, name: str) -> int:
        log = self.node(name, "ssh.jsonl")
        if not log.exists():
            return 0
        with log.open("rb") as stream:
            stream.seek(self._marks.get(name, 0))
            return stream.read().count(b'"event": "exec"')


def _living(*marks: bytes) -> list[tuple[int, str]]:
    """Number and command line of all processes with these marks in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            environment = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if all(any(item.startswith(mark) for item in environment) for mark in marks):
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
    return found


def _received(node: str, line: str) -> Received:
    """The words inside the frame of `run.sh`, our scripts as `@name`."""
    words = _named(shlex.split(line))
    if words[0] == "sudo":
        words = words[words.index("@run") :]
    if words[0] == "@lock":
        return Received(node, "lock", "@lock")
    assert words[0] == "@run", f"a command without its frame: {line[:200]}"
    return Received(node, words[3], " ".join(word if word.startswith("@") else shlex.quote(word) for word in words[4:]))


def _named(words: Sequence[str]) -> list[str]:
    """`sh -c TEXT name` with the text of our script becomes `@name`."""
    rest, out = list(words), []
    while rest:
        if rest[:2] == ["sh", "-c"] and len(rest) > 3 and rest[2] == _text(rest[3]):
            out.append(f"@{rest[3]}")
            del rest[:4]
        else:
            out.append(rest.pop(0))
    return out


def _text(name: str) -> str | None:
    return script_text(name) if name.isalnum() and (SCRIPTS / f"{name}.sh").is_file() else None


def _until(holds: Callable[[], object], seconds: float = PATIENCE) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.1)
    return False


@pytest.fixture(scope="session")
def until() -> Callable[..., bool]:
    """Wait until something holds; a bound, not a measure."""
    return _until


@pytest.fixture(scope="module")
def lab_with(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Lab]]:
    """Makes labs; all of them are taken down at the end of the module."""
    made: list[Lab] = []

    def make(**wishes: Any) -> Lab:
        one = Lab(tmp_path_factory.mktemp("a place"))
        made.append(one)
        one.up(**wishes)
        return one

    make.made = made  # for `support.state`
    yield make
    for one in made:
        one.down()


@pytest.fixture(scope="module")
def shared(lab_with: Callable[..., Lab]) -> Lab:
    """Two nodes for all tests of a module; each test brings them into the state that it needs."""
    return lab_with()


@pytest.fixture
def lab(shared: Lab) -> Iterator[Lab]:
    """The module's lab, listening from here on; faults are switched off afterwards."""
    shared.mark()
    yield shared
    shared.end()
    for name in shared.names:
        for fault in sorted(os.listdir(shared.node(name, "faults"))):
            shared.fault(name, fault, off=True)


@pytest.fixture
def empty(lab: Lab) -> Lab:
    """The same with nothing on the nodes."""
    lab.clear()
    lab.mark()
    return lab
