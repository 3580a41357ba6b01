"""A lab of two nodes, reached as any SSH client reaches it; nothing here knows how the lab is made inside."""

import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paramiko
import pytest

from sparklab import api
from support.person import Ran

SPEED = 4.0


@dataclass
class Client:
    """One SSH connection to one node."""

    ssh: paramiko.SSHClient
    address: str

    def open(self, line: str) -> paramiko.Channel:
        transport = self.ssh.get_transport()
        assert transport
        channel = transport.open_session()
        channel.exec_command(line)
        return channel

    def run(self, line: str, stdin: str = "") -> Ran:
        """The line's end, both streams apart."""
        writer, out, err = self.ssh.exec_command(line, timeout=120)
        writer.write(stdin)
        writer.flush()
        writer.channel.shutdown_write()
        said, complained = out.read().decode(), err.read().decode()
        return Ran(out.channel.recv_exit_status(), said, complained)

    def docker(self, *words: str) -> Ran:
        return self.run(shlex.join(["docker", *words]))


@dataclass
class Lab:
    directory: Path
    clients: list[Client] = field(default_factory=list)

    @property
    def inventory(self) -> Path:
        return api.inventory_path(self.directory)

    def rows(self, reset: bool = False) -> list[dict[str, Any]]:
        return list(api.status(reset, directory=self.directory)["nodes"])

    def connect(self, number: int, **login: Any) -> Client:
        row = self.rows()[number - 1]
        ssh = paramiko.SSHClient()
        ssh.load_host_keys(f"{self.inventory}.known_hosts")
        ssh.set_missing_host_key_policy(paramiko.RejectPolicy())
        login = login or {"key_filename": str(self.directory / "keys" / "client")}
        options: dict[str, Any] = {"username": "spark", "look_for_keys": False, "allow_agent": False}
        patience = dict.fromkeys(("timeout", "banner_timeout", "auth_timeout"), 60)
        ssh.connect(row["address"], row["port"], **options | patience | login)
        client = Client(ssh, row["address"])
        self.clients.append(client)
        return client

    def fault(self, number: int, kind: str, off: bool = False, after: int = 0) -> None:
        api.fault(f"node{number}", kind, off, after=after, directory=self.directory)

    def log(self, number: int, event: str) -> list[dict[str, Any]]:
        lines = (self.directory / "nodes" / f"node{number}" / "ssh.jsonl").read_text().splitlines()
        return [entry for entry in map(json.loads, lines) if entry["event"] == event]

    def clean(self) -> None:
        """No faults, no containers, no connections."""
        for row in self.rows():
            for kind in row["faults"]:
                api.fault(row["name"], kind, True, directory=self.directory)
        for number in range(1, len(self.rows()) + 1):
            home = self.directory / "nodes" / f"node{number}"
            left = home / "home" / "left"
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
            if any((home / "docker" / "containers").iterdir()):
                self.connect(number).run("docker rm -f $(docker ps -aq)")
        for client in self.clients:
            client.ssh.close()
        self.clients.clear()


@pytest.fixture(scope="session")
def standing_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    directory = tmp_path_factory.mktemp("a lab") / "it self"
    api.up(2, directory=directory, ray="emulated", speed=SPEED)
    yield Lab(directory)
    api.down(directory=directory)


@pytest.fixture
def lab(standing_lab: Lab) -> Iterator[Lab]:
    """Two nodes as they are after `lab up`."""
    yield standing_lab
    standing_lab.clean()


@pytest.fixture
def node(lab: Lab) -> Client:
    return lab.connect(1)


@pytest.fixture
def eventually(until: Callable[..., bool]) -> Callable[[Callable[[], Any]], None]:
    """Ask until the answer is true; the test fails when it never is."""

    def ask(question: Callable[[], Any]) -> None:
        assert until(question), "it never came true"

    return ask
