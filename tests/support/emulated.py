"""The emulated nodes as files: their programs, engines and proxies answer in this process, and no lab is up."""

import asyncio
import contextlib
import io
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from sparklab import embedded, files, processes
from sparklab.daemon.host import Host
from sparklab.daemon.trouble import Trouble
from sparklab.engine import http, vllm
from sparklab.engine.api import Engine, handler
from sparklab.engine.boot import Boot
from sparklab.engine.flags import parse
from sparklab.engine.ranks import Ranks
from sparklab.engine.settings import Settings
from sparklab.fake_docker import rootfs, store
from sparklab.layout import Node
from sparklab.tools.answer import Answer, answer
from sparklab.tree import build, memory
from support import serving

SPEED = 1000.0


class Nodes:
    """Two nodes that only their files describe."""

    def __init__(self, place: Path, octet: int) -> None:
        self.place = place
        record = {"id": "a lab", "octet": octet, "speed": SPEED, "ray": "emulated", "count": 2, "short": str(place)}
        files.write_json(place / "lab.json", record)
        (place / "at").mkdir()
        build.programs(place)
        for number in (1, 2):
            build.node(place, record, number, "ssh-ed25519 AAAA")
        self.one, self.two = (Node(place / "nodes" / name) for name in ("node1", "node2"))

    def clean(self) -> None:
        """No faults and no containers."""
        for node in (self.one, self.two):
            for kind in os.listdir(node.path("faults")):
                self.fault(kind, off=True, node=node)
            for container in store.containers(node):
                files.clear(container.directory)
            memory.reset(node)

    def says(self, program: str, *words: str, node: Node | None = None) -> Answer:
        return answer(node or self.one, program, list(words))

    def docker(self, *words: str, node: Node | None = None) -> Answer:
        return self.says("docker", *words, node=node)

    def fault(self, kind: str, off: bool = False, node: Node | None = None) -> None:
        """Switch a fault as the lab's daemon does."""
        asyncio.run(self._switch(kind, off, node or self.one))

    async def _switch(self, kind: str, off: bool, node: Node) -> None:
        host = Host(node, str(self.place / "processes.jsonl"), "")
        await Trouble(host, {node.name: host}).switch(kind, off, 0)
        host.close()

    # Containers without a process: this one stands for their shim, so none of them may be stopped.

    def container(self, name: str, *options: str, words: tuple[str, ...] = ("true",), node: Node | None = None) -> Any:
        made = self.docker("create", "--name", name, *options, "--entrypoint=", serving.STOCK, *words, node=node)
        assert made.code == 0, made.on(2)
        return store.Container(node or self.one, made.on(1).strip())

    def runs(self, name: str, *options: str, **more: Any) -> Any:
        made = self.container(name, *options, **more)
        here = [os.getpid(), processes.start_of(os.getpid())]
        made.save(status="running", shim=here, started=store.now())
        return made

    def ended(self, name: str, code: int, *options: str, log: Sequence[tuple[int, str]] = ()) -> Any:
        """`log` has the stream and the text of each line, one second apart."""
        made = self.container(name, *options)
        made.save(status="exited", exit_code=code, started=store.now(), finished=store.now())
        for second, (stream, text) in enumerate(log):
            row = {"log": f"{text}\n", "stream": ("", "stdout", "stderr")[stream]}
            files.append(made.log, row | {"time": f"2026-11-23T10:00:{second:02d}.000000000Z"})
        return made

    # Engines, each with the environment that its container would have.

    @contextlib.contextmanager
    def inside(
        self, image: str, env: dict[str, str] | None = None, node: Node | None = None, models: bool = True
    ) -> Iterator[None]:
        """The environment of a container with its GPU and mostly the node's models; its memory is given back."""
        node = node or self.one
        given = {"HF_HUB_OFFLINE": "1"} | (serving.TIKTOKEN if env is None else env)
        pairs = [word for key, value in given.items() for word in ("-e", f"{key}={value}")]
        cache = ("-v", f"{node.home}/.cache/huggingface:/root/.cache/huggingface") if models else ()
        made = self.docker("create", "--gpus", "all", *cache, *pairs, "--entrypoint=", image, "vllm", node=node)
        assert made.code == 0, made.on(2)
        container = store.Container(node, made.on(1).strip())
        try:
            with patch.dict(os.environ, rootfs.environment(container)):
                yield
        finally:
            memory.change(node, used={container.id: 0})

    def vllm(self, image: str, *words: str, env: dict[str, str] | None = None) -> tuple[int, str]:
        """Exit code and log of a `vllm serve` that does not come to serve."""
        log, before = io.StringIO(), signal.getsignal(signal.SIGTERM)
        try:
            with self.inside(image, env=env), contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
                return vllm.main("vllm", ["serve", *words]), log.getvalue()
        finally:
            signal.signal(signal.SIGTERM, before)

    @contextlib.contextmanager
    def serves(
        self, image: str, *words: str, env: dict[str, str] | None = None, node: Node | None = None
    ) -> Iterator[None]:
        """Boot a `vllm serve`, its other ranks taken to be there, and serve on the node's address; `log` is its log."""
        node, self.log = node or self.one, io.StringIO()
        with self.inside(image, env=env, node=node), contextlib.redirect_stdout(self.log):
            settings = Settings(parse(list(words), os.environ["SPARKLAB_KIND"]))
            boot = Boot(settings, Ranks(settings))
            boot.run()
            engine = Engine(settings, boot.ranks, boot.version)
            with opened(http.listen(node, node.address, settings.port, handler(engine))):
                yield


@contextlib.contextmanager
def opened(servers: list[http.Server]) -> Iterator[None]:
    """Serve from threads of this process."""
    threads = [threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}) for one in servers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for server in servers:
            server.shutdown()
        http.close(servers)


@pytest.fixture(scope="session")
def octet() -> Iterator[int]:
    """A loopback network that no lab of this machine uses meanwhile."""
    with embedded.claimed_octet() as claimed:
        yield claimed


@pytest.fixture(scope="session")
def standing(tmp_path_factory: pytest.TempPathFactory, octet: int) -> Nodes:
    return Nodes(tmp_path_factory.mktemp("lab"), octet)


@pytest.fixture
def nodes(standing: Nodes) -> Iterator[Nodes]:
    """Two nodes as they are after `lab up`."""
    yield standing
    standing.clean()
