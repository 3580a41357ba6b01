"""Embedded labs to run the whole tool against, and what their nodes say about it.

What the tool did is asked of the nodes' own `docker` and of their SSH logs, not of the tool.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sparkops
from sparklab import api
from sparklab.fake_docker import cli as docker
from sparklab.layout import PASSWORD, Node
from sparklab.tools.answer import answer
from sparkops.remote.frame import script_text
from support import serving
from support.models import home, hub  # noqa: F401  fixtures of the models' tests
from support.person import Ran
from support.processes import Process, living
from support.tool import Tool, inventory_as

SCRIPTS = Path(sparkops.__file__).parent / "node"
MODEL = "openai/gpt-oss-120b"
SPEED = 20.0

pytest.importorskip("asyncssh", reason="the lab needs asyncssh (pip install 'sparkops[lab]')")
if not sys.platform.startswith("linux"):
    pytest.skip("the embedded lab needs Linux", allow_module_level=True)


FIRST = (
    "test_fleet",
    "test_remedies",
    "test_tutorial",
    "test_promises",
    "test_four_nodes",
    "test_faults",
    "test_images_in_small",
    "test_corpus_on_fabrics",
    "test_cabling",
    "test_models_in_the_lab",
    "test_fabric_setup",
    "test_signals",
    "test_on_demand",
)
"""The longest files, so that the workers, who take one file after the other, end together."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: FIRST.index(item.path.stem) if item.path.stem in FIRST else len(FIRST))


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


class Lab(Tool):
    """A lab of its own, a person with an empty home, and the nodes' side of what happens."""

    hidden = ("SPARK", "XDG_", "OPENAI")

    def __init__(self, base: Path) -> None:
        self.base = base
        self.directory = base / "the lab"
        self.home = base / "home of a person"
        self.work = base / "work"
        self.names: list[str] = []
        self._marks: dict[str, int] = {}
        self._going = []

    def up(
        self, nodes: int = 2, ray: str = "emulated", speed: float = SPEED, fabric: str = "switch", **env: str
    ) -> None:
        self.home.mkdir(exist_ok=True)
        self.work.mkdir(exist_ok=True)
        self.names = [f"node{number}" for number in range(1, nodes + 1)]
        words = ("--nodes", nodes, "--ray", ray, "--speed", speed, "--fabric", fabric)
        self.cli("lab", "up", *words, lab=False, code=0, **env)

    def down(self) -> None:
        """Nothing is left, neither files nor processes."""
        if not self.directory.exists():
            return
        self.end()
        mark = self._sign()
        self.cli("lab", "down", lab=False, code=0)
        assert not self.directory.exists()
        assert living(mark) == []

    # The person's side.

    @property
    def own(self) -> dict[str, str]:
        places = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("STATE", "CONFIG", "CACHE", "DATA")}
        return places | {"HOME": str(self.home), "PYTHONWARNINGS": "ignore"}

    def behind_sudo(self, *words: object, ask: bool = True, password: str = PASSWORD, code: int | None = 0) -> Ran:
        """The tool where nobody may use Docker but root, with the password or without."""
        inventory = inventory_as(self.directory / "inventory.yml", self.work / "behind sudo.yml", become="sudo")
        given = {"SPARKOPS_BECOME_PASSWORD": password} if ask else {}
        asked = ("--ask-become-pass",) if ask else ()
        return self.cli("-i", inventory, *words, *asked, lab=False, code=code, **given)

    def killed(self, process: subprocess.Popen[str]) -> None:
        """Kill the tool, and wait until the nodes have ended what it did there and freed its lock."""
        process.kill()
        process.communicate()
        assert _until(lambda: not self._frames()), f"outlives the tool: {self._frames()}"

    def _frames(self) -> list[str]:
        """What a tool holds on the nodes, each by the name of its frame: a lock, or a command that is under way."""
        return [
            one.words[3]
            for one in self._living()
            if one.words[:2] == ["sh", "-c"] and one.words[3:4] in (["lock"], ["run"])
        ]

    # The client's side.

    def ask(self, url: str, key: str, model: str = MODEL, seconds: float = 30) -> tuple[int, dict[str, Any]]:
        """One completion; the HTTP code and what came back."""
        body = {"model": model, "prompt": "Hello", "max_tokens": 4}
        code, text = serving.request(f"{url}/completions", body, key, seconds)
        return code, json.loads(text) if code == 200 else {}

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

    def typed(self, name: str, line: str) -> bool:
        """A command line that its user types at a terminal of the node, with the password; whether it succeeded."""
        node = Node(self.node(name))
        environment = {"SPARKLAB_NODE": node.directory, "SPARKLAB_LAB": node.record["lab"], "USER": "spark"}
        environment |= {"PATH": f"{node.path('bin')}:/usr/bin:/bin", "HOME": node.home, "SPARKOPS_ROOT": node.root()}
        words, password = ("sh", "-c", line.replace("sudo ", "sudo -S ")), f"{PASSWORD}\n" * line.count("sudo ")
        ran = subprocess.run(words, env=environment, input=password, capture_output=True, text=True, check=False)
        return ran.returncode == 0

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
        inside = (one for one in self._living() if outside or one.has("SPARKLAB_CONTAINER="))
        return [one.line for one in inside if one.pid != daemon]

    def _living(self) -> list[Process]:
        return living(self._sign())

    def _sign(self) -> str:
        """What stands in the environment of every process of this lab."""
        return f"SPARKLAB_LAB={json.loads((self.directory / 'lab.json').read_text())['id']}"

    def clear(self) -> None:
        """Nothing of anybody is left on the nodes; not by the tool, so that its tests do not lean on it."""
        for node in self.names:
            if names := self.on(node, "docker", "ps", "-aq").split():
                self.on(node, "docker", "rm", "-f", *names)
            shutil.rmtree(self.node(node, "home", ".local", "state", "sparkops"), ignore_errors=True)

    def mark(self) -> None:
        """Begin to listen to what the nodes receive."""
        logs = {name: self.node(name, "ssh.jsonl") for name in self.names}
        self._marks = {name: log.stat().st_size for name, log in logs.items() if log.exists()}

    def _log(self, name: str) -> bytes:
        """The node's SSH log since the mark."""
        path = self.node(name, "ssh.jsonl")
        if not path.exists():
            return b""
        with path.open("rb") as stream:
            stream.seek(self._marks.get(name, 0))
            return stream.read()

    def events(self, name: str) -> list[dict[str, Any]]:
        """Of the node's SSH log since the mark, but for a line that is written just now."""
        return [json.loads(line) for line in self._log(name).split(b"\n")[:-1]]

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
        """All lines of the logs since the mark, as this is asked every other millisecond."""
        return sum(self._log(name).count(b'"event": "exec"') for name in self.names)


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


def _until(holds: Callable[[], object], seconds: float = Lab.patience) -> bool:
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


@pytest.fixture(scope="session")
def lab_in() -> Callable[[Path], Lab]:
    """A lab in this directory, for who takes it up and down."""
    return Lab


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
