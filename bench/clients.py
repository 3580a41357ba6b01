"""The clients that `fleet.py` compares. Each is run as `python clients.py NAME INVENTORY WORK`, a process of its own.

WORK is `one` (one command a node), `ten` (ten commands a node, each its own exec) or `script` (the same ten as one
script); each client keeps one connection a node where it can. All of them check the pinned host keys.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

THREADS = 64
READS = {
    "clock": "date +%s.%N",
    "uname": "uname -a",
    "cmdline": "cat /proc/cmdline",
    "boot": "cat /proc/sys/kernel/random/boot_id /proc/uptime",
    "meminfo": "cat /proc/meminfo",
    "machine-id": "cat /etc/machine-id || true",
    "hostkeys": "cat /etc/ssh/ssh_host_*.pub 2>/dev/null | ssh-keygen -lf - || true",
    "avahi": "cat /proc/sys/kernel/hostname; cat /run/avahi-daemon/pid 2>/dev/null || true",
    "locale": "cat /etc/default/locale 2>/dev/null || true",
    "default-target": "readlink /etc/systemd/system/default.target || true",
}
"""The probes of sparkops' facts that CHECKS need, as anybody would type them."""

CHECKS = "clock-skew,kernel,uptime,memory-total,machines-differ,avahi-name,locale,desktop"


@dataclass(frozen=True)
class Node:
    """What any client needs to log in."""

    address: str
    port: int
    user: str
    key: str


@dataclass(frozen=True)
class Fleet:
    path: str
    nodes: tuple[Node, ...]

    @property
    def known_hosts(self) -> str:
        return f"{self.path}.known_hosts"

    def each(self, one: Callable[[Node], None]) -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(one, self.nodes))


def commands(work: str) -> list[str]:
    if work == "one":
        return ["true"]
    return list(READS.values()) if work == "ten" else ["; ".join(READS.values())]


def sparkops(fleet: Fleet, work: str) -> None:
    """The verb itself: what it reads comes back judged. On a machine that is no GB10 the verdict is a fail (exit 3)."""
    only = "clock-skew" if work == "one" else CHECKS
    words = ["-m", "sparkops", "-i", fleet.path, "preflight", "--json", "--only", only]
    os.execv(sys.executable, [sys.executable, *words])


def tuned(fleet: Fleet, work: str) -> None:
    """Paramiko as fast as we know it: see the reference's list of what makes the difference."""
    import socket

    import paramiko

    known = paramiko.HostKeys(fleet.known_hosts)
    keys = {path: paramiko.Ed25519Key.from_private_key_file(path) for path in {node.key for node in fleet.nodes}}

    def one(node: Node) -> None:
        sock = socket.create_connection((node.address, node.port), 10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport = paramiko.Transport(sock)
        options = transport.get_security_options()
        options.kex, options.ciphers = ("curve25519-sha256@libssh.org",), ("aes128-gcm@openssh.com",)
        options.key_types = ("ssh-ed25519",)
        transport.start_client(timeout=30)
        assert known.check(f"[{node.address}]:{node.port}", transport.get_remote_server_key())
        transport.auth_publickey(node.user, keys[node.key])
        for command in commands(work):
            channel = transport.open_session()
            channel.exec_command(command)
            while channel.recv(65536):
                pass
            assert channel.recv_exit_status() == 0
        transport.close()

    fleet.each(one)


def documented(fleet: Fleet, work: str) -> None:
    """Paramiko's SSHClient as its documentation shows it, in threads."""
    from paramiko import SSHClient

    def one(node: Node) -> None:
        client = SSHClient()
        client.load_host_keys(fleet.known_hosts)
        client.connect(node.address, node.port, node.user, key_filename=node.key)
        for command in commands(work):
            _, out, _ = client.exec_command(command)
            out.read()
            assert out.channel.recv_exit_status() == 0
        client.close()

    fleet.each(one)


def fabric(fleet: Fleet, work: str) -> None:
    """A ThreadingGroup."""
    from fabric import Connection, ThreadingGroup

    def connection(node: Node) -> Connection:
        made = Connection(node.address, node.user, node.port, connect_kwargs={"key_filename": node.key})
        made.client.load_host_keys(fleet.known_hosts)
        return made

    group = ThreadingGroup.from_connections([connection(node) for node in fleet.nodes])
    for command in commands(work):
        group.run(command, hide=True)
    group.close()


def openssh(fleet: Fleet, work: str, *, kex: str = "") -> None:
    """The `ssh` program, a process a command; over one connection a node where there are ten."""
    with tempfile.TemporaryDirectory() as scratch:
        several = work == "ten"
        control = ["-o", "ControlMaster=auto", "-o", f"ControlPath={scratch}/%C", "-o", "ControlPersist=20"]

        def one(node: Node) -> None:
            words = [
                *("ssh", "-F", "none", "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={fleet.known_hosts}"),
                *("-o", "StrictHostKeyChecking=yes", "-i", node.key, "-p", str(node.port), "-l", node.user),
                *(("-o", f"KexAlgorithms={kex}") if kex else ()),
                *(control if several else ()),
                node.address,
            ]
            for command in commands(work):
                subprocess.run([*words, command], check=True, capture_output=True)
            if several:
                subprocess.run([*words[:-1], "-O", "exit", node.address], check=False, capture_output=True)

        fleet.each(one)


def ansible(fleet: Fleet, work: str, *, module: str = "ansible.builtin.shell") -> None:
    """A playbook with a task a command: 64 forks, pipelining, a kept connection, no gathering of facts."""
    args = f"-o UserKnownHostsFile={fleet.known_hosts} -o StrictHostKeyChecking=yes -o ControlMaster=auto"
    with tempfile.TemporaryDirectory() as scratch:
        environ = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_SSH_ARGS": f"{args} -o ControlPersist=60s",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": f"{scratch}/cp",
            "ANSIBLE_FORKS": str(THREADS),
            "ANSIBLE_LOCAL_TEMP": f"{scratch}/tmp",
        }
        line = "{address} ansible_port={port} ansible_user={user} ansible_ssh_private_key_file={key}"
        line += " ansible_python_interpreter=/usr/bin/python3"
        hosts, play = Path(scratch, "hosts.ini"), Path(scratch, "play.yml")
        hosts.write_text("".join(line.format(**vars(node)) + "\n" for node in fleet.nodes))
        tasks = "".join(f"  - {{name: t{n}, {module}: {_quoted(c)}}}\n" for n, c in enumerate(commands(work)))
        play.write_text(f"- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}")
        subprocess.run(
            ["ansible-playbook", "-i", str(hosts), str(play)], check=True, env=environ, stdout=subprocess.DEVNULL
        )


def pyinfra(fleet: Fleet, work: str) -> None:
    """A deploy file with an operation a command."""
    with tempfile.TemporaryDirectory() as scratch:
        rows = (
            f"({n.address!r}, dict(ssh_port={n.port}, ssh_user={n.user!r}, ssh_key={n.key!r}, "
            f"ssh_known_hosts_file={fleet.known_hosts!r}, ssh_strict_host_key_checking='yes')),\n"
            for n in fleet.nodes
        )
        hosts, deploy = Path(scratch, "hosts.py"), Path(scratch, "deploy.py")
        hosts.write_text(f"hosts = [{''.join(rows)}]\n")
        steps = "".join(f"server.shell(name='t{n}', commands=[{c!r}])\n" for n, c in enumerate(commands(work)))
        deploy.write_text(f"from pyinfra.operations import server\n{steps}")
        program = Path(sys.executable).with_name("pyinfra")
        words = [str(program), "-y", "--parallel", str(THREADS), str(hosts), str(deploy)]
        subprocess.run(words, check=True, capture_output=True)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


CLIENTS: dict[str, tuple[str, Callable[[Fleet, str], None]]] = {
    "sparkops": ("sparkops", sparkops),
    "paramiko-tuned": ("paramiko", tuned),
    "paramiko": ("paramiko", documented),
    "fabric": ("fabric", fabric),
    "pyinfra": ("pyinfra", pyinfra),
    "ssh": ("", openssh),
    "ssh-curve25519": ("", partial(openssh, kex="curve25519-sha256")),
    "ansible": ("ansible", ansible),
    "ansible-raw": ("ansible", partial(ansible, module="ansible.builtin.raw")),
}
"""Name -> the package that it needs, and the client. `ansible` keeps its conveniences, `raw` gives them up."""


def nodes_of(path: str) -> Iterator[Node]:
    """The inventory as `sshds.py` writes it, or any with these four settings."""
    import yaml

    whole = yaml.safe_load(Path(path).read_text())["all"]
    for own in whole["hosts"].values():
        found = {"port": 22, **whole.get("vars", {}), **(own or {})}
        yield Node(found["address"], int(found["port"]), found["user"], os.path.expanduser(found["key_file"]))


if __name__ == "__main__":
    _, client, inventory, task = sys.argv
    with contextlib.suppress(BrokenPipeError):
        CLIENTS[client][1](Fleet(inventory, tuple(nodes_of(inventory))), task)
