"""A real lab for the whole session, and eyes of our own: what the nodes say is asked without sparkops.

Every test brings the nodes into the state that it needs, so each can run alone; their order only saves model loads.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support import models
from support.person import Ran
from support.processes import living
from support.tool import Tool, inventory_as

HERE = Path(__file__).parent
NODES = ("node1", "node2")
SPARE = "node3"
"""Up, and in the lab's own inventory, but not in the one that `lab` uses."""
MODEL = "openai/gpt-oss-120b"
LONGEST_TEST = 2700
"""Seconds; the first test builds the images where the cache is empty."""
LOCK = "/run/lock/sparkops.lock"
STATES = "/home/*/.local/state/sparkops"
KNOB, DROPPED = "/proc/sys/vm/drop_caches", "/run/lab/dropped"
ORDER = (
    "test_real_engines",
    "test_fleet",
    "test_fabrics",
    "test_build",
    "test_two_nodes",
    "test_single_node",
    "test_images",
    "test_caches",
)
"""The longest first, and what is short last, so that both workers end together."""
LAST = ("test_nothing_left",)


@dataclass(frozen=True)
class Answer:
    """What `curl` got, on a node."""

    code: int
    body: str

    @property
    def tokens(self) -> int:
        return int(json.loads(self.body)["usage"]["completion_tokens"]) if self.code == 200 else 0


@dataclass
class Lab(Tool):
    """`sparkops` as a person uses it, and `on` a node what root sees there."""

    directory: Path
    state_home: Path
    inventory: str = "lab"
    more: dict[str, str] = field(default_factory=dict)
    patience: float = 1500.0
    work: Path = Path("/")
    nodes: tuple[str, ...] = NODES
    _going: list[subprocess.Popen[str]] = field(default_factory=list, repr=False)
    _booted: dict[str, tuple[str, str]] = field(default_factory=dict, repr=False)

    # The person's side.

    @property
    def own(self) -> dict[str, str]:
        return {"XDG_STATE_HOME": str(self.state_home)} | self.more

    def cli(self, *words: object, lab: bool = True, code: int | None = 0, **env: str) -> Ran:
        """As everywhere; but it must succeed where nothing else is said."""
        return super().cli(*words, lab=lab, code=code, **env)

    def ended(self, process: subprocess.Popen[str], code: int | None = 0) -> Ran:
        return super().ended(process, code)

    def killed(self, process: subprocess.Popen[str]) -> None:
        """The tool dies where it is; the next run finds its locks free once the nodes have noticed."""
        process.kill()
        process.communicate()
        for node in self.nodes:
            self.on(node, "sh", "-c", f"[ ! -e {LOCK} ] || flock -w 120 9 9<{LOCK}")

    def going(self) -> tuple[dict[str, Any], Ran]:
        """What `status` says of the one deployment that is not stopped."""
        ran = self.cli("status", "--json", code=None)
        found = [one for one in ran.document["deployments"] if one["state"] != "stopped"]
        assert len(found) == 1, ran.out
        return found[0], ran

    def serving(self) -> bool:
        """Whether `status` says so; a node that stood still for a moment is asked again."""
        shown, ran = self.going()
        return (shown["state"], ran.code) == ("serving", 0)

    def fault(self, name: str, kind: str, off: bool = False, after: int = 0) -> None:
        self.cli("lab", "fault", name, kind, *(["--off"] if off else []))

    def as_user(self, place: Path, user: str = "spark", become: str = "", **more: str) -> "Lab":
        """The same lab for a person who logs in as somebody else, or becomes root."""
        own = self.directory / "inventory.yml" if self.inventory == "lab" else Path(self.inventory)
        inventory = inventory_as(own, place / f"as {user} {become}.yml", user=user, become=become)
        state_home = self.state_home if user == "spark" else place / user
        return dataclasses.replace(self, inventory=str(inventory), state_home=state_home, more=more)

    # The nodes' side.

    @property
    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.directory / "lab.json").read_text())
        return found

    def ran_on(self, node: str, *words: str, user: str = "root", stdin: str = "") -> subprocess.CompletedProcess[str]:
        """A program on a node, past sparkops, sshd and the lab's engine, which takes fifty times as long for it."""
        inside = ["nsenter", "-t", self._pid(node), "-a", "-w"]
        line = [*inside, "setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--reset-env", *words]
        return subprocess.run(line, capture_output=True, text=True, timeout=self.patience, check=False, input=stdin)

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
        shape = ("--no-trunc", "--format", "{{.Names}} {{.ID}}")
        rows = self.on(node, "docker", "ps", *([] if running else ["-a"]), *shape)
        return dict(row.split() for row in rows.splitlines())

    def everywhere(self, *, running: bool = True) -> dict[str, dict[str, str]]:
        return {node: self.containers(node, running=running) for node in self.nodes}

    def roles(self) -> list[tuple[str, str]]:
        """(node, role) of what runs; our names are `sparkops-DEPLOYMENT-ROLE-HASH`."""
        return sorted((node, name.rsplit("-", 2)[1]) for node in self.nodes for name in self.containers(node))

    def one(self, node: str, role: str) -> str:
        """The name of the only running container of a role."""
        (found,) = [name for name in self.containers(node) if name.rsplit("-", 2)[1] == role]
        return found

    def is_real(self, node: str, role: str) -> bool:
        """Whether real vLLM was started, and not the stand-in."""
        return "vllm-front: runs" in self.on(node, "docker", "logs", self.one(node, role))

    def variable(self, node: str, role: str, name: str) -> str:
        """A variable of the container's first process."""
        return self.on(node, "docker", "exec", self.one(node, role), "printenv", name)

    def argv(self, node: str, role: str) -> list[str]:
        """The last command line that the engine's front recorded, without the program."""
        last = self.on(node, "docker", "exec", self.one(node, role), "tail", "-n1", "/var/log/vllm-front.jsonl")
        return list(json.loads(last)["argv"])

    def loads(self, node: str, role: str) -> int:
        """How often the engine was started in this container."""
        count = ("sh", "-c", "wc -l </var/log/vllm-front.jsonl")
        return int(self.on(node, "docker", "exec", self.one(node, role), *count))

    def restarts(self, node: str, role: str) -> int:
        return int(self.on(node, "docker", "inspect", "--format", "{{.RestartCount}}", self.one(node, role)))

    def ray_nodes(self) -> int:
        status = ("docker", "exec", self.one("node1", "head"), "timeout", "120", "ray", "status")
        active = self.ran_on("node1", *status).stdout.partition("Active:")[2].partition("Pending:")[0]
        return sum(line.startswith(" 1 node_") for line in active.splitlines())

    def ranks(self) -> int:
        """How many ranks of executor mp have met, as rank 0 knows it."""
        asked = ("docker", "exec", self.one("node1", "head"), "cat", "/run/sparkops/ranks")
        return len(self.ran_on("node1", *asked).stdout.split())

    def address(self, node: str) -> str:
        return f"{self.record['subnet']}.{10 + int(node.removeprefix('node'))}"

    def key(self, node: str = "node1", user: str = "spark") -> str:
        return self.on(node, "cat", f"/home/{user}/.local/state/sparkops/key")

    def ask(
        self,
        node: str = "node1",
        *,
        port: int = 8000,
        key: str | None = None,
        tokens: int = 4,
        seconds: int = 240,
        model: str = MODEL,
    ) -> Answer:
        """One completion by the node's own curl at its address, as a client on that network would ask."""
        body = json.dumps({"model": model, "prompt": "Hello", "max_tokens": tokens, "ignore_eos": True})
        words = ["curl", "-sS", "--noproxy", "*", "-m", str(seconds), "-w", "\n%{http_code}", "-d", body, "-K", "-"]
        words += ["-H", "Content-Type: application/json", f"http://{self.address(node)}:{port}/v1/completions"]
        bearer = self.key() if key is None else key
        said = self.ran_on(node, *words, stdin=f'header = "Authorization: Bearer {bearer}"\n').stdout
        text, _, code = said.rpartition("\n")
        return Answer(int(code or 0), text)

    def fetch_tiny_model(self) -> list[dict[str, Any]]:
        """Get the lab's own model from a hub that has it; what `model fetch` says of each node."""
        names = ("config.json", "tokenizer.json", "tokenizer_config.json")
        cat = ("docker", "run", "--rm", "--entrypoint", "cat", "vllm-node-mxfp4")
        own = {name: self.on("node1", *cat, f"/opt/lab/model/{name}").encode() for name in names}
        with models.serving(models.sharded(1) | own, "0.0.0.0", f"{self.record['subnet']}.1") as hub:
            person = dataclasses.replace(self, more={"HF_ENDPOINT": hub.endpoint})
            found: list[dict[str, Any]] = person.json("model", "fetch", models.MODEL)["nodes"]
        return found

    def serves(self, node: str = "node1") -> bool:
        """Whether the node's own engine answers."""
        return self.ask(node, port=self.engine_port(node), seconds=20).tokens > 0

    def engine_port(self, node: str) -> int:
        """Where the node's engine listens: behind a proxy one above the endpoint's port."""
        return 8001 if any("-proxy-" in name for one in self.nodes for name in self.containers(one)) else 8000

    def spare_the_caches(self, *nodes: str) -> None:
        """Drops are only written down: nodes share one kernel, and a load without its page cache reads all again."""
        self.drop_for_real(*nodes)
        for node in nodes or self.nodes:
            self.on(node, "sh", "-c", f"install -m 200 /dev/null {DROPPED} && mount --bind {DROPPED} {KNOB}")

    def drop_for_real(self, *nodes: str) -> None:
        for node in nodes or self.nodes:
            self.on(node, "sh", "-c", f"while umount {KNOB} 2>/dev/null; do :; done")

    def faults(self) -> dict[str, list[str]]:
        return {row["name"]: row["faults"] for row in self.json("lab", "status")["nodes"]}

    def state_of_nodes(self) -> str:
        """What a failed test leaves behind: containers with their last lines, and the tool's last run."""
        told = []
        for node in self.nodes:
            rows = "docker ps -a --format '{{.Names}}: {{.Status}}'"
            logs = 'docker ps -aq | while read -r one; do echo "-- $one"; docker logs --tail 12 "$one" 2>&1; done'
            told.append(f"{node}:\n{self.ran_on(node, 'sh', '-c', f'{rows}; {logs}').stdout}")
        runs = sorted(self.state_home.glob("sparkops/runs/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        told += [f"{path.name}:\n" + "".join(path.read_text().splitlines(True)[-15:]) for path in runs[-1:]]
        return "\n".join(told)

    def clear(self, *nodes: str) -> None:
        """No container of anybody, no state of ours: not by the tool, so that its tests do not lean on it.

        Twice, as what watched the caches for a container that is gone now may write its last word in between.
        """
        for node in nodes or self.nodes:
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
        for one in living():
            if one.pid != os.getpid() and (self._ours(one.line) or one.has(f"SPARKLAB_LAB={self.record['id']}")):
                yield one.line


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mine = [item for item in items if HERE in item.path.parents]
    for item in mine:
        item.add_marker(pytest.mark.timeout(LONGEST_TEST))
    mine.sort(key=lambda item: _turn(item.path.stem))
    others = [item for item in items if HERE not in item.path.parents]
    items[:] = [*others, *mine]


def _turn(module: str) -> int:
    order = (*ORDER, "", *LAST)
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
        time.sleep(0.5)


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
    pair = inventory_as(lab.directory / "inventory.yml", folder / "pair.yml")
    pair.write_text("".join(line for line in pair.read_text().splitlines(True) if SPARE not in line))
    return pair


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
