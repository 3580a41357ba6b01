"""A real lab for the whole session, and eyes of our own: what the nodes say is asked without sparkops.

Every test brings the nodes into the state that it needs, so each can run alone; their order only saves model loads.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sparkops.testing import warm
from support.paths import ROOT
from support.person import Ran, as_expected

HERE = Path(__file__).parent
NODES = ("node1", "node2")
SPARE = "node3"
"""Up, and in the lab's own inventory, but not in the one that `lab` uses."""
MODEL = "openai/gpt-oss-120b"
PATIENCE = 1500.0
LONGEST_TEST = 2700
"""Seconds; the first test builds the images where the cache is empty."""
LOCK = "/run/lock/sparkops.lock"
STATES = "/home/*/.local/state/sparkops"
KNOB, DROPPED = "/proc/sys/vm/drop_caches", "/run/lab/dropped"
FIRST = ("test_docker_forms", "test_build", "test_single_node", "test_two_nodes", "test_real_engines")
LONG = ("test_benchmarks", "test_images", "test_playbooks")
LAST = ("test_nothing_left",)


@dataclass(frozen=True)
class Timed(Ran):
    """A command line that ended, and how long it took."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    """What `curl` got, on a node."""

    code: int
    body: str

    @property
    def tokens(self) -> int:
        return int(json.loads(self.body)["usage"]["completion_tokens"]) if self.code == 200 else 0


@dataclass
class Lab:
    """`sparkops` as a person uses it, and `on` a node what root sees there."""

    directory: Path
    state: Path
    inventory: str = "lab"
    more: dict[str, str] = field(default_factory=dict)
    _going: list[subprocess.Popen[str]] = field(default_factory=list, repr=False)
    _booted: dict[str, tuple[str, str]] = field(default_factory=dict, repr=False)

    # The person's side.

    @property
    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK", "XDG_STATE"))}
        path = os.pathsep.join(filter(None, (self._code, kept.get("PYTHONPATH"))))
        own = {"SPARKOPS_LAB_DIR": str(self.directory), "XDG_STATE_HOME": str(self.state), "PYTHONPATH": path}
        return kept | own | self.more

    @property
    def _code(self) -> str:
        return str(ROOT) if (ROOT / "sparkops").is_dir() else ""

    def start(self, *words: object) -> subprocess.Popen[str]:
        """The tool as a process that goes on."""
        process = subprocess.Popen(
            [sys.executable, "-m", "sparkops", *map(str, words)],
            env=self.environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._going.append(process)
        return process

    def end(self) -> None:
        """Nothing that a failed test started goes on."""
        for process in self._going:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self._going.clear()

    def killed(self, process: subprocess.Popen[str]) -> None:
        """The tool dies where it is; the next run finds its locks free once the nodes have noticed."""
        process.kill()
        process.communicate()
        for node in NODES:
            self.on(node, "sh", "-c", f"[ ! -e {LOCK} ] || flock -w 120 9 9<{LOCK}")

    def begin(self, *words: object) -> subprocess.Popen[str]:
        """The tool with this lab's inventory, as a process that goes on."""
        return self.start("-i", self.inventory, *words)

    def cli(self, *words: object, code: int | None = 0) -> Timed:
        """The tool with this lab's inventory, until it ends; `code` is the exit code that it must have."""
        line, since = ["-i", self.inventory, *map(str, words)], time.monotonic()
        try:
            ended = warm.run(line, env=self.environment, cwd=Path("/"), seconds=PATIENCE)
        except subprocess.TimeoutExpired as late:
            pytest.fail(f"no end after {PATIENCE:.0f} s: {line}\n{late.output}{late.stderr}")
        ran = Timed(ended.code, ended.out, ended.err, time.monotonic() - since)
        as_expected(ran, line, code)
        return ran

    def ended(self, process: subprocess.Popen[str], code: int | None = 0) -> Timed:
        since = time.monotonic()
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"no end after {PATIENCE:.0f} s: {process.args}\n{''.join(process.communicate())}")
        ran = Timed(process.returncode, out, err, time.monotonic() - since)
        as_expected(ran, process.args, code)
        return ran

    def json(self, *words: object, code: int | None = 0) -> dict[str, Any]:
        return self.cli(*words, "--json", code=code).document

    def deploy(self, *words: object, code: int = 0) -> dict[str, Any]:
        return self.json("deploy", "--topology", *words, code=code)

    def shown(self) -> tuple[dict[str, Any], Timed]:
        """What `status` says of the one deployment that is not stopped."""
        ran = self.cli("status", "--json", code=None)
        going = [one for one in ran.document["deployments"] if one["state"] != "stopped"]
        assert len(going) == 1, ran.out
        return going[0], ran

    def serving(self) -> bool:
        """Whether `status` says so; a node that stood still for a moment is asked again."""
        shown, ran = self.shown()
        return (shown["state"], ran.code) == ("serving", 0)

    def fault(self, node: str, kind: str, *, off: bool = False) -> None:
        self.cli("lab", "fault", node, kind, *(["--off"] if off else []))

    @contextlib.contextmanager
    def trouble(self, node: str, kind: str) -> Iterator[None]:
        self.fault(node, kind)
        try:
            yield
        finally:
            self.fault(node, kind, off=True)

    # The nodes' side.

    @property
    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.directory / "lab.json").read_text())
        return found

    def ran_on(self, node: str, *words: str, user: str = "root", stdin: str = "") -> subprocess.CompletedProcess[str]:
        """A program on a node, past sparkops, sshd and the lab's engine, which takes fifty times as long for it."""
        inside = ["nsenter", "-t", self._pid(node), "-a", "-w"]
        line = [*inside, "setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--reset-env", *words]
        return subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=False, input=stdin)

    def _pid(self, node: str) -> str:
        """The node's first process, on this machine; another one after each boot."""
        record = self.record
        container = f"sparkops-lab-{record['id'][:8]}-{node}"
        pid, identity = self._booted.get(node, ("0", "never"))
        with contextlib.suppress(OSError):
            if identity in Path(f"/proc/{pid}/cgroup").read_text():
                return pid
        line = ["docker", "-H", record["engine"]["host"], "inspect", "-f", "{{.State.Pid}} {{.Id}}", container]
        pid, identity = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
        self._booted[node] = pid, identity
        return pid

    def on(self, node: str, *words: str, user: str = "root") -> str:
        """What a program prints that must succeed."""
        done = self.ran_on(node, *words, user=user)
        assert done.returncode == 0, f"{node}: {words}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def containers(self, node: str, *, running: bool = True) -> dict[str, str]:
        """Name and ID."""
        rows = self.on(
            node, "docker", "ps", *([] if running else ["-a"]), "--no-trunc", "--format", "{{.Names}} {{.ID}}"
        )
        return dict(row.split() for row in rows.splitlines())

    def everywhere(self, *, running: bool = True) -> dict[str, dict[str, str]]:
        return {node: self.containers(node, running=running) for node in NODES}

    def roles(self) -> list[tuple[str, str]]:
        """(node, role) of what runs; our names are `sparkops-DEPLOYMENT-ROLE-HASH`."""
        return sorted((node, name.rsplit("-", 2)[1]) for node in NODES for name in self.containers(node))

    def one(self, node: str, role: str) -> str:
        """The name of the only running container of a role."""
        (found,) = [name for name in self.containers(node) if name.rsplit("-", 2)[1] == role]
        return found

    def argv(self, node: str, role: str) -> list[str]:
        """The last command line that the engine's front recorded, without the program."""
        last = self.on(node, "docker", "exec", self.one(node, role), "tail", "-n1", "/var/log/vllm-front.jsonl")
        return list(json.loads(last)["argv"])

    def loads(self, node: str, role: str) -> int:
        """How often the engine was started in this container."""
        return int(
            self.on(node, "docker", "exec", self.one(node, role), "sh", "-c", "wc -l </var/log/vllm-front.jsonl")
        )

    def restarts(self, node: str, role: str) -> int:
        return int(self.on(node, "docker", "inspect", "--format", "{{.RestartCount}}", self.one(node, role)))

    def ray_nodes(self) -> int:
        said = self.ran_on(
            "node1", "docker", "exec", self.one("node1", "head"), "timeout", "120", "ray", "status"
        ).stdout
        active = said.partition("Active:")[2].partition("Pending:")[0]
        return sum(line.startswith(" 1 node_") for line in active.splitlines())

    def address(self, node: str) -> str:
        return f"{self.record['subnet']}.{10 + int(node.removeprefix('node'))}"

    def key(self, node: str = "node1", user: str = "spark") -> str:
        return self.on(node, "cat", f"/home/{user}/.local/state/sparkops/key")

    def ask(
        self, node: str = "node1", *, port: int = 8000, key: str | None = None, tokens: int = 4, seconds: int = 240
    ) -> Answer:
        """One completion by the node's own curl at its address, as a client on that network would ask."""
        body = json.dumps({"model": MODEL, "prompt": "Hello", "max_tokens": tokens, "ignore_eos": True})
        words = ["curl", "-sS", "--noproxy", "*", "-m", str(seconds), "-w", "\n%{http_code}", "-d", body, "-K", "-"]
        words += ["-H", "Content-Type: application/json", f"http://{self.address(node)}:{port}/v1/completions"]
        bearer = self.key() if key is None else key
        said = self.ran_on(node, *words, stdin=f'header = "Authorization: Bearer {bearer}"\n').stdout
        text, _, code = said.rpartition("\n")
        return Answer(int(code or 0), text)

    def serves(self, node: str = "node1", port: int = 8000) -> bool:
        return self.ask(node, port=port, seconds=20).tokens > 0

    def spare_the_caches(self, *nodes: str) -> None:
        """Drops are only written down: nodes share one kernel, and a load without its page cache reads all again."""
        self.drop_for_real(*nodes)
        for node in nodes or NODES:
            self.on(node, "sh", "-c", f"install -m 200 /dev/null {DROPPED} && mount --bind {DROPPED} {KNOB}")

    def drop_for_real(self, *nodes: str) -> None:
        for node in nodes or NODES:
            self.on(node, "sh", "-c", f"while umount {KNOB} 2>/dev/null; do :; done")

    def faults(self) -> dict[str, list[str]]:
        return {row["name"]: row["faults"] for row in self.json("lab", "status")["nodes"]}

    def state_of_nodes(self) -> str:
        """What a failed test leaves behind: containers with their last lines, and the tool's last run."""
        told = []
        for node in NODES:
            rows = "docker ps -a --format '{{.Names}}: {{.Status}}'"
            logs = 'docker ps -aq | while read -r one; do echo "-- $one"; docker logs --tail 12 "$one" 2>&1; done'
            told.append(f"{node}:\n{self.ran_on(node, 'sh', '-c', f'{rows}; {logs}').stdout}")
        runs = sorted(self.state.glob("sparkops/runs/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        told += [f"{path.name}:\n" + "".join(path.read_text().splitlines(True)[-15:]) for path in runs[-1:]]
        return "\n".join(told)

    def clear(self, *nodes: str) -> None:
        """No container of anybody, no state of ours: not by the tool, so that its tests do not lean on it.

        Twice, as what watched the caches for a container that is gone now may write its last word in between.
        """
        for node in nodes or NODES:
            self.on(node, "sh", "-c", f"docker ps -aq | xargs -r docker rm -f; rm -rf {STATES} || rm -rf {STATES}")


@dataclass(frozen=True)
class Leftovers:
    """What a lab would leave on the machine, told by its record."""

    directory: Path
    record: dict[str, Any]

    def found(self) -> list[str]:
        short = self.record["id"][:8]
        links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
        spaces = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
        mounts = Path("/proc/self/mounts").read_text()
        places = {"interface": links, "network namespace": spaces, "mount": mounts, "loop device": self._loops()}
        found = [f"{what}: {line}" for what, text in places.items() for line in text.splitlines() if self._ours(line)]
        found += [f"process: {line}" for line in self._processes()]
        groups = [os.path.join(folder, name) for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names]
        found += [f"control group: {path}" for path in groups if short in os.path.basename(path)]
        return found + ([f"directory: {self.directory}"] if self.directory.exists() else [])

    def stays(self) -> list[str]:
        """What is found also when the kernel had the time to take down what nobody uses any more."""
        _eventually(lambda: not self.found(), 30)
        return self.found()

    def _loops(self) -> str:
        """The files behind loop devices, of which another lab's may go at any time."""
        lines = []
        for path in Path("/sys/block").glob("loop*/loop/backing_file"):
            with contextlib.suppress(OSError):
                lines.append(path.read_text())
        return "".join(lines)

    def _ours(self, line: str) -> bool:
        return any(mark in line for mark in (self.record["id"][:8], str(self.directory)))

    def _processes(self) -> Iterator[str]:
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                with contextlib.suppress(OSError):
                    words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    environment = (folder / "environ").read_bytes().decode(errors="replace")
                    if self._ours(words) or f"SPARKLAB_LAB={self.record['id']}" in environment:
                        yield words


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mine = [item for item in items if HERE in item.path.parents]
    for item in mine:
        item.add_marker(pytest.mark.timeout(LONGEST_TEST))
    mine.sort(key=lambda item: _turn(item.path.stem))
    others = [item for item in items if HERE not in item.path.parents]
    items[:] = [*others, *mine]


def _turn(module: str) -> int:
    """Those that follow one another without a new load, the longest so that both workers end together, the others."""
    order = (*FIRST, *LONG, "", *LAST)
    return order.index(module if module in order else "")


def _eventually(holds: Callable[[], object], seconds: float = 600.0) -> bool:
    """The last look begins when the time is over: one that took long is no reason to give up."""
    until = time.monotonic() + seconds
    while True:
        last = time.monotonic() > until
        if holds():
            return True
        if last:
            return False
        time.sleep(2)


@pytest.fixture(scope="session")
def eventually() -> Callable[..., bool]:
    """Wait for what nodes do by themselves; a bound, not a measure."""
    return _eventually


@pytest.fixture(scope="session")
def new_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Lab]]:
    """Makes places for labs, on a path that is short enough for a socket; whatever is up at the end is taken down."""
    if os.geteuid() != 0:
        pytest.skip("the docker lab needs root")
    made: list[Lab] = []

    def make() -> Lab:
        made.append(Lab(Path(tempfile.mkdtemp(prefix="lab-", dir="/tmp")) / "lab", tmp_path_factory.mktemp("state")))
        return made[-1]

    yield make
    for one in made:
        one.cli("lab", "down")
        shutil.rmtree(one.directory.parent)


@pytest.fixture(scope="session")
def leftovers() -> type[Leftovers]:
    return Leftovers


@pytest.fixture(scope="session")
def shared(new_lab: Callable[[], Lab], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Three nodes for all tests, by two of which `lab` goes; those of SPARKOPS_TEST_LAB, which stay up."""
    given = os.environ.get("SPARKOPS_TEST_LAB")
    lab = Lab(Path(given), tmp_path_factory.mktemp("state")) if given else new_lab()
    lab.cli("lab", "up", "--backend", "docker", "--nodes", len((*NODES, SPARE)))
    lab.spare_the_caches(*NODES, SPARE)
    left = Leftovers(lab.directory, lab.record)
    yield dataclasses.replace(lab, inventory=str(_pair(lab, tmp_path_factory.mktemp("inventory"))))
    if given:
        lab.drop_for_real(*NODES, SPARE)
    else:
        lab.cli("lab", "down")
        assert left.stays() == []


def _pair(lab: Lab, folder: Path) -> Path:
    """The lab's inventory without its spare node."""
    own = lab.directory / "inventory.yml"
    inventory = folder / "pair.yml"
    inventory.write_text("".join(line for line in own.read_text().splitlines(True) if SPARE not in line))
    Path(f"{inventory}.known_hosts").write_text(Path(f"{own}.known_hosts").read_text())
    return inventory


@pytest.fixture
def lab(shared: Lab) -> Iterator[Lab]:
    """Two nodes; faults that a failed test left are switched off."""
    yield shared
    shared.end()
    for node, kinds in shared.faults().items():
        for kind in kinds:
            shared.fault(node, kind, off=True)


@pytest.fixture
def trio(lab: Lab) -> Lab:
    """The same lab with its spare node."""
    return dataclasses.replace(lab, inventory="lab")
