"""Many real OpenSSH servers on loopback: an address, a host key and a log each; one client key opens all of them.

Run by root or by an ordinary user, who then logs in as himself, but into an empty home: a start file of his shell
would stand in every time. Needs the `sshd` of openssh-server and Linux, where all
of 127.0.0.0/8 is this machine.
"""

import getpass
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PORT = 2222
PATIENCE = 60.0
CONFIG = """
ListenAddress {address}:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {base}/client.pub
PidFile none
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
PermitUserRC no
SetEnv HOME={folder}/home
MaxSessions 20
LogLevel VERBOSE
"""


@dataclass(frozen=True)
class Server:
    name: str
    address: str
    folder: Path

    def connections(self) -> int:
        """How many were opened so far."""
        return (self.folder / "log").read_text(errors="replace").count("Connection from ")


@dataclass(frozen=True)
class Servers:
    """`inventory` is what sparkops reads, with the pinned host keys beside it."""

    base: Path
    all: tuple[Server, ...]

    @property
    def inventory(self) -> Path:
        return self.base / "inventory.yml"

    def connections(self) -> int:
        return sum(server.connections() for server in self.all)


@contextmanager
def running(base: Path, count: int) -> Iterator[Servers]:
    """`count` servers until the end of the block."""
    program = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise SystemExit("no sshd here: apt install openssh-server (it need not be started)")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    _key(base / "client")
    servers = Servers(base, tuple(_server(base, number) for number in range(1, count + 1)))
    _write(servers)
    processes = [
        subprocess.Popen([program, "-D", "-f", str(one.folder / "config"), "-E", str(one.folder / "log")])
        for one in servers.all
    ]
    try:
        for server in servers.all:
            _until_it_listens(server)
        while servers.connections() < count:
            time.sleep(0.05)
        yield servers
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def _server(base: Path, number: int) -> Server:
    """The second octet by our process, so that two benchmarks do not meet."""
    folder = base / f"node{number}"
    (folder / "home").mkdir(parents=True)
    address = f"127.{20 + os.getpid() % 200}.{number // 250}.{1 + number % 250}"
    _key(folder / "host_key")
    (folder / "log").touch()
    (folder / "config").write_text(CONFIG.format(address=address, port=PORT, folder=folder, base=base))
    return Server(folder.name, address, folder)


def _key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", str(path)], check=True)


def _write(servers: Servers) -> None:
    hosts = "".join(f"    {one.name}: {{address: {one.address}}}\n" for one in servers.all)
    common = f"user: {getpass.getuser()}, port: {PORT}, key_file: {json.dumps(str(servers.base / 'client'))}"
    servers.inventory.write_text(f"all:\n  vars: {{{common}}}\n  hosts:\n{hosts}")
    keys = (f"[{s.address}]:{PORT} {(s.folder / 'host_key.pub').read_text().rsplit(' ', 1)[0]}\n" for s in servers.all)
    Path(f"{servers.inventory}.known_hosts").write_text("".join(keys))


def _until_it_listens(server: Server) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection((server.address, PORT), 5).close()
            return
        except OSError as error:
            if time.monotonic() > until:
                said = (server.folder / "log").read_text()
                raise SystemExit(f"the sshd of {server.name} does not answer: {error}\n{said}") from error
            time.sleep(0.05)
