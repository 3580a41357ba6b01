"""How fast sparkops reaches many nodes, beside other clients on the same work: `python bench/fleet.py --nodes 16`.

Two kinds of work: one command a node, and ten a node, each a command of its own with its output collected. The nodes
are those of an inventory (`-i FILE`, key and pinned host keys as sparkops uses them), or embedded lab nodes, whose
servers then run on this machine and stand in every wall time. Clients that are not installed are left out.
Wall and client CPU seconds, the median of some runs, each run a process of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

COMMANDS = (
    "true",
    "uname -r",
    "uptime",
    "id -un",
    "cat /proc/loadavg",
    "df -P /",
    "date +%s",
    "hostname",
    "nproc",
    "pwd",
)
THREADS = 64


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("-i", dest="inventory", help="an inventory; without it a lab is started")
    parser.add_argument("--nodes", type=int, default=16, help="how many lab nodes")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--as", dest="client", choices=CLIENTS, help=argparse.SUPPRESS)
    parser.add_argument("--commands", type=int, default=1, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.client:
        CLIENTS[asked.client](asked.inventory, COMMANDS[: asked.commands])
        return 0
    with inventory(asked.inventory, asked.nodes) as path:
        compare(path, asked.runs)
    return 0


def compare(path: str, runs: int) -> None:
    print(f"{'client':<34}{'1 command: wall/CPU s':>24}{'10 commands: wall/CPU s':>26}")
    for name in CLIENTS:
        if not there(name):
            print(f"{name:<34}{'not installed':>24}")
            continue
        cells = []
        for count in (1, len(COMMANDS)):
            taken = [once(name, path, count) for _ in range(runs)]
            cells.append(" / ".join(f"{statistics.median(column):.2f}" for column in zip(*taken, strict=True)))
        print(f"{name:<34}{cells[0]:>24}{cells[1]:>26}", flush=True)


def once(client: str, path: str, commands: int) -> tuple[float, float]:
    """Wall and CPU seconds of one run, the client's own children included."""
    words = [sys.executable, __file__, "--as", client, "--commands", str(commands), "-i", path]
    begun, before = time.perf_counter(), os.times()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - begun, os.times()
    return wall, (after.children_user + after.children_system) - (before.children_user + before.children_system)


@contextmanager
def inventory(named: str | None, nodes: int) -> Iterator[str]:
    if named:
        yield named
        return
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["SPARKOPS_LAB_DIR"] = str(Path(scratch) / "lab")
        run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
        run([sys.executable, "-m", "sparkops", "lab", "up", "--nodes", str(nodes)])
        try:
            yield str(Path(scratch) / "lab" / "inventory.yml")
        finally:
            run([sys.executable, "-m", "sparkops", "lab", "down"])


def sparkops(path: str, commands: tuple[str, ...]) -> None:
    """The fleet as every verb uses it: one connection a node, each command in its run script."""
    from sparkops import load
    from sparkops.core.plan import Command
    from sparkops.remote.fleet import Fleet
    from sparkops.remote.gather import gather
    from sparkops.workflows.session import login

    nodes = load.inventory(path).nodes
    with Fleet(nodes, login(path, None, {})) as fleet:
        lost = fleet.connect()
        assert not lost, lost
        for command in commands:
            reads = Command(tuple(command.split()), reads=True)
            answers = gather(fleet, {node.name: reads for node in nodes})
            assert all(getattr(answer, "ok", False) for answer in answers.values())


def paramiko(path: str, commands: tuple[str, ...]) -> None:
    """SSHClient as its documentation shows it, in threads."""
    from paramiko import SSHClient

    def one(node: Node) -> None:
        client = SSHClient()
        client.load_host_keys(known_hosts(path))
        client.connect(node.address, node.port, node.user, key_filename=node.key)
        for command in commands:
            _, out, _ = client.exec_command(command)
            out.read()
            assert out.channel.recv_exit_status() == 0
        client.close()

    each(path, one)


def fabric(path: str, commands: tuple[str, ...]) -> None:
    """A ThreadingGroup."""
    from fabric import Connection, ThreadingGroup

    def connection(node: Node) -> Connection:
        made = Connection(node.address, node.user, node.port, connect_kwargs={"key_filename": node.key})
        made.client.load_host_keys(known_hosts(path))
        return made

    group = ThreadingGroup.from_connections([connection(node) for node in nodes_of(path)])
    for command in commands:
        group.run(command, hide=True)
    group.close()


def openssh(path: str, commands: tuple[str, ...], *, shared: bool = False) -> None:
    """The `ssh` program, a process a command; `shared` keeps one connection a node."""
    with tempfile.TemporaryDirectory() as scratch:
        control = ["-o", "ControlMaster=auto", "-o", f"ControlPath={scratch}/%C", "-o", "ControlPersist=20"]

        def one(node: Node) -> None:
            words = [
                *("ssh", "-F", "none", "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={known_hosts(path)}"),
                *("-o", "StrictHostKeyChecking=yes", "-i", node.key, "-p", str(node.port), "-l", node.user),
                *(control if shared else ()),
                node.address,
            ]
            for command in commands:
                subprocess.run([*words, command], check=True, capture_output=True)
            if shared:
                subprocess.run([*words[:-1], "-O", "exit", node.address], check=False, capture_output=True)

        each(path, one)


def ansible(path: str, commands: tuple[str, ...]) -> None:
    """The raw module with 64 forks, pipelining and a kept connection."""
    args = f"-o UserKnownHostsFile={known_hosts(path)} -o StrictHostKeyChecking=yes -o ControlMaster=auto"
    environ = {**os.environ, "ANSIBLE_PIPELINING": "1", "ANSIBLE_SSH_ARGS": f"{args} -o ControlPersist=20"}
    with listed(path, "{address} ansible_port={port} ansible_user={user} ansible_ssh_private_key_file={key}") as hosts:
        for command in commands:
            words = ["ansible", "all", "-i", hosts, "-f", str(THREADS), "-m", "raw", "-a", command]
            subprocess.run(words, check=True, env=environ, capture_output=True)


def pyinfra(path: str, commands: tuple[str, ...]) -> None:
    """`pyinfra exec`, a run a command, as it has no other way without a deploy file."""
    line = "    ('{address}', {{'ssh_port': {port}, 'ssh_user': '{user}', 'ssh_key': '{key}',"
    line += f" 'ssh_known_hosts_file': {known_hosts(path)!r}}}}}),"
    with listed(path, line, "hosts = [", "]", ".py") as hosts:
        for command in commands:
            subprocess.run(["pyinfra", "-y", hosts, "exec", "--", command], check=True, capture_output=True)


CLIENTS: dict[str, Callable[[str, tuple[str, ...]], None]] = {
    "sparkops": sparkops,
    "paramiko, as documented": paramiko,
    "fabric, ThreadingGroup": fabric,
    "ssh, parallel": openssh,
    "ssh, parallel, ControlMaster": partial(openssh, shared=True),
    "ansible raw, 64 forks": ansible,
    "pyinfra exec": pyinfra,
}


def there(client: str) -> bool:
    name = client.split(",", maxsplit=1)[0].split(maxsplit=1)[0]
    return importlib.util.find_spec(name) is not None or shutil.which(name) is not None


class Node:
    """What any client needs to log in."""

    def __init__(self, address: str, port: int, user: str, key: str) -> None:
        self.address, self.port, self.user, self.key = address, port, user, key


def nodes_of(path: str) -> list[Node]:
    from sparkops import load

    return [Node(n.address, n.port, n.user or "", str(n.key_file or "")) for n in load.inventory(path).nodes]


def known_hosts(path: str) -> str:
    return f"{path}.known_hosts"


def each(path: str, one: Callable[[Node], None]) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(one, nodes_of(path)))


@contextmanager
def listed(path: str, line: str, first: str = "", last: str = "", suffix: str = ".ini") -> Iterator[str]:
    """An inventory as another tool wants it."""
    rows = [line.format(address=n.address, port=n.port, user=n.user, key=n.key) for n in nodes_of(path)]
    with tempfile.NamedTemporaryFile("w", suffix=suffix, encoding="utf-8") as file:
        file.write("\n".join([first, *rows, last, ""]))
        file.flush()
        yield file.name


if __name__ == "__main__":
    sys.exit(main())
