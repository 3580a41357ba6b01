"""Simulated nodes, a person who types whole command lines before them, and what the nodes say about it.

The surface is that of the embedded lab in `tests/embedded/conftest.py`, so a test reads the same in both tiers.
"""

import contextlib
import copy
import gc
import io
import json
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sparkops.cli.main import main
from sparkops.core.plan import Command, shown
from sparkops.remote.network import network
from sparkops.session import llama_benchy
from sparkops.testing import Crash, SimulatedWorld, Trouble
from sparkops.testing.benchy import SimulatedBenchy
from sparkops.testing.faults import strike
from sparkops.testing.network import SimulatedNetwork
from sparkops.testing.node import SimulatedNode
from sparkops.testing.sparks import IMAGES, sparks
from support.person import Person, Ran, as_expected

MODEL = "openai/gpt-oss-120b"
KEPT = ("PATH", "LANG", "LC_ALL", "TZ")


@dataclass(frozen=True)
class Received:
    """One command as the node got it, shown as a plan prints it."""

    node: str
    command: Command

    @property
    def changes(self) -> bool:
        return not self.command.reads

    @property
    def shown(self) -> str:
        return shown(self.command.words)


class Lab(Person):
    """A world, an inventory of it in a home of its own, and the tool in this process."""

    def __init__(self, home: Path, nodes: int = 2, world: SimulatedWorld | None = None) -> None:
        self.world = world or sparks(nodes, prefix="node")
        self.names = list(self.world.nodes)
        self.home = home
        self.work = home / "project"
        self.work.mkdir(parents=True, exist_ok=True)
        self.network = SimulatedNetwork(self.world)
        self.benchy = SimulatedBenchy(self.network)
        self.inventory = home / "inventory.yml"
        self.write_inventory()
        self._mark = 0

    def write_inventory(self, **common: object) -> None:
        hosts = {name: {"address": node.address, **common} for name, node in self.world.nodes.items()}
        self.inventory.write_text(json.dumps({"all": {"hosts": hosts}}))

    # The person's side.

    def cli(self, *words: object, lab: bool = True, code: int | None = None, **env: str) -> Ran:
        """Run the tool to its end."""
        line = [*(("-i", str(self.inventory)) if lab else ()), *map(str, words)]
        out, err = io.StringIO(), io.StringIO()
        with self._person(env), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            ended = main(line)
        return as_expected(Ran(ended, out.getvalue(), err.getvalue()), line, code)

    @contextlib.contextmanager
    def _person(self, env: dict[str, str]) -> Iterator[None]:
        """The environment and the working directory of a person with this home."""
        kept = {key: value for key, value in os.environ.items() if key in KEPT}
        own = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("STATE", "CONFIG", "CACHE", "DATA")}
        whole = kept | own | {"HOME": str(self.home), "SPARKOPS_LAB_DIR": str(self.home / "lab")} | env
        with (
            patch.dict(os.environ, whole, clear=True),
            contextlib.chdir(self.work),
            network.replaced(self.network),
            llama_benchy.tool.replaced(self.benchy),
        ):
            yield

    def anew(self, **settings: Any) -> None:
        """The next command line comes from a new control process; `settings` are those of `survivors`."""
        self.world = self.network.world = self.world.survivors(**settings)
        self._mark = 0

    def killed(self, at: int, *words: object, kind: str = "crash-after", seed: int = 0) -> bool:
        """The tool is killed at its `at`-th send; whether it came to send that many."""
        self.anew(seed=seed, troubles=[Trouble(kind, at)])  # type: ignore[arg-type]
        with _files_are_left_to_the_system():
            try:
                self.cli(*words)
                return False
            except Crash:
                return True
            finally:
                self.anew()

    def beside(self) -> "Lab":
        """Another person before the same nodes, in a process of their own, while this one's goes on."""
        other = copy.copy(self)
        other.world, other._mark = self.world.beside(), 0
        other.network = SimulatedNetwork(other.world)
        return other

    def meets(self, at: int, does: "Callable[[Lab], object]") -> None:
        """At the `at`-th send of the next command line another person `does` something."""
        self.anew(troubles=[Trouble("meets", at, then=lambda: does(self.beside()))])

    # The nodes' side.

    def fault(self, name: str, kind: str) -> Callable[[], object]:
        """What `sparkops lab fault` does in a lab; returns what takes it away again."""
        return strike(self.world, name, kind)

    @contextlib.contextmanager
    def trouble(self, name: str, kind: str) -> Iterator[None]:
        off = self.fault(name, kind)
        try:
            yield
        finally:
            off()

    def node(self, name: str) -> SimulatedNode:
        return self.world.nodes[name]

    def address(self, name: str) -> str:
        return self.node(name).address

    def serves(self, name: str = "node1", port: int = 8000) -> bool:
        return self.node(name).serves(port)

    def starts(self) -> dict[tuple[str, str], float]:
        """When each container was started that runs."""
        nodes = self.world.nodes.items()
        return {(name, one.name): one.started for name, node in nodes for one in node.engine.listed() if one.running}

    def containers(self, running: bool = False) -> set[tuple[str, str]]:
        """(node, container) of all, or of those that run, as the nodes' Docker tells it."""
        return {
            (name, one.name)
            for name, node in self.world.nodes.items()
            for one in node.engine.listed()
            if one.running or not running
        }

    def running(self) -> set[tuple[str, str]]:
        return self.containers(running=True)

    def crowded(self) -> list[str]:
        """The nodes whose engines want more memory than there is."""
        found = []
        for name, node in self.world.nodes.items():
            here = [one for one in node.engine.listed() if one.running and one.labels.get("sparkops.role") != "proxy"]
            asked = [json.loads(one.labels["sparkops.revision"])["args"]["gpu-memory-utilization"] for one in here]
            found += [name] if sum(asked) > 1.001 else []
        return found

    def was_deployed(self, at: int) -> bool:
        """Whether the `at`-th send came when all served, and only reads what a deploy tells or keeps of that."""
        words = self.world.sent[at - 1].command.words
        return words[:2] == ("docker", "logs") or any(str(word).startswith("meminfo,gpu-processes") for word in words)

    def on(self, name: str, *words: str) -> str:
        """What a command of the node prints to its user."""
        result = self.node(name).run(Command(words), "", self.world.now())
        assert result.ok, result.stderr
        return result.stdout

    def stranger(self, name: str, *words: str) -> None:
        """Somebody else's container."""
        self.on(name, "docker", "run", "-d", "--name", *words, IMAGES[1], "sleep")

    def mark(self) -> None:
        """Begin to listen to what the nodes receive."""
        self._mark = len(self.world.sent)

    def received(self) -> list[Received]:
        """Every command since the mark."""
        return [Received(one.node, one.command) for one in self.world.sent[self._mark :]]

    def changed(self) -> list[Received]:
        return [one for one in self.received() if one.changes]

    def settle(self, looks: int = 8) -> None:
        """Time goes by on the nodes: their engines come up, or fall."""
        for node in self.world.nodes.values():
            for one in node.engine.listed():
                for _ in range(looks):
                    one.look()

    def until(self, holds: Callable[[], object], looks: int = 20) -> bool:
        """Whether something comes to hold while time goes by."""
        for _ in range(looks):
            if holds():
                return True
            self.settle(1)
        return False


@contextlib.contextmanager
def _files_are_left_to_the_system() -> Iterator[None]:
    """What a killed process had open is no file that we forgot to close."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.freeze()
        try:
            yield
        finally:
            gc.collect()
            gc.unfreeze()
