"""One node's SSH server: logins, counters, and the faults of connections."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import asyncssh

from sparklab import files, processes
from sparklab.daemon import modelhub
from sparklab.daemon.frames import reads
from sparklab.daemon.remote import Remote
from sparklab.errors import LabError
from sparklab.layout import PASSWORD, PATH, SSH_PORT, USER, Node

MAX_SESSIONS = 10
LATENCY = 0.3
API_PORT = 8000
TRY_SECONDS = "20"
"""How long `fabric setup` tries a network configuration here, so that a test need not wait a minute."""

GARBAGE = "head -c 4096 /dev/urandom; exit 3"


class Host:
    """The sshd of one node."""

    def __init__(self, node: Node, records: str, answers: str) -> None:
        self.node = node
        self.records = records
        self.answers = answers
        self.connections = 0
        self.commands = 0
        self.down = False
        self.open: set[asyncssh.SSHServerConnection] = set()
        self._acceptor: asyncssh.SSHAcceptor | asyncio.Server | None = None
        self._squatter: asyncio.Server | None = None

    async def refresh(self) -> None:
        """Listen or not, by the faults that are on now."""
        self.close()
        cut_off = self.node.fault("netplan-cuts-off") and self.node.applied
        if cut_off:
            self.drop()
        if self.down or self.node.fault("unreachable") or cut_off:
            return
        ports = self.node.ports
        link = [address for port in self.node.links if port in ports for address in ports[port]["addresses"]]
        if self.node.fault("node-hangs"):
            self._acceptor = await asyncio.start_server(_silent, [self.node.address, *link], SSH_PORT)
            return
        key = "host_key_other" if self.node.fault("bad-host-key") else "host_key"
        self._acceptor = await asyncssh.listen(
            [self.node.address, *link],
            SSH_PORT,
            server_host_keys=[self.node.path(key)],
            server_factory=lambda: Login(self),
            server_version="OpenSSH_9.6p1",
            encoding=None,
            line_editor=False,
            allow_pty=False,
            agent_forwarding=False,
            gss_host=None,
            login_timeout=30,
            config=[],
        )

    def close(self) -> None:
        if self._acceptor is not None:
            self._acceptor.close()
            self._acceptor = None

    async def squat(self, off: bool) -> None:
        """Listen on the API's port, or stop, as another program would."""
        if self._squatter is not None:
            self._squatter.close()
            self._squatter = None
        if not off:
            try:
                self._squatter = await asyncio.start_server(_silent, self.node.address, API_PORT)
            except OSError as error:
                stop = f"sparkops -i lab stop --limit {self.node.name}"
                hint = f"stop what listens there, such as a deployment: `{stop}`"
                raise LabError(f"port {API_PORT} of {self.node.name} is in use", hint) from error

    def drop(self, *addresses: str) -> None:
        """Cut every connection, or those to these addresses of the node, without a goodbye."""
        for connection in list(self.open):
            if not addresses or connection.get_extra_info("sockname")[0] in addresses:
                connection.abort()

    def log(self, event: str, **more: Any) -> None:
        files.append(self.node.path("ssh.jsonl"), {"time": time.time(), "event": event, **more})

    def environment(self) -> dict[str, str]:
        hub = modelhub.url(int(self.node.address.split(".")[1]))
        return {
            "HOME": self.node.home,
            "USER": USER,
            "LOGNAME": USER,
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "PATH": f"{self.node.path('bin')}:{PATH}",
            "SPARKOPS_ROOT": self.node.root(),
            "HF_ENDPOINT": hub,
            "SPARKOPS_TRY_SECONDS": TRY_SECONDS,
            "SPARKOPS_ENCODINGS": f"{hub}/encodings",
            "SPARKLAB_HUB": hub,
            "SPARKLAB_LAB": self.node.lab,
            "SPARKLAB_NODE": self.node.directory,
            "SPARKLAB_ANSWERS": self.answers,
        }

    def accept(self, login: "Login", asked: str, remote: Remote) -> None:
        """An exec request: count it, write it down, run it, and drop the connection if a fault is on.

        A forced command runs in the place of what is asked, which it finds in its environment, as from sshd.
        """
        self.commands += 1
        line = login.forced or asked
        self.log("forced" if login.forced else "exec", connection=login.number, line=line)
        delay = LATENCY if self.node.fault("slow") else 0.0
        asyncio.get_running_loop().call_later(delay, self._start, login, line, asked, remote)

    def _start(self, login: "Login", line: str, asked: str, remote: Remote) -> None:
        environment = self.environment() | ({"SSH_ORIGINAL_COMMAND": asked} if login.forced else {})
        pid = remote.start(GARBAGE if self.node.fault("garbage") else line, environment)
        files.append(self.records, [pid, processes.start_of(pid)])
        if self._loses(line) and login.connection is not None:
            self.log("lost", connection=login.number, line=line)
            login.connection.abort()

    def _loses(self, line: str) -> bool:
        """`lost-after-send` strikes once; its file may say how many changing commands pass before."""
        path = self.node.path("faults", "lost-after-send")
        if not os.path.exists(path) or reads(line):
            return False
        left = int(files.read(path) or 0)
        if left > 0:
            files.write(path, str(left - 1))
            return False
        Path(path).unlink(missing_ok=True)
        return True


async def _silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Accept, and send nothing."""
    await reader.read()
    writer.close()


def owner(address: str, port: int) -> int:
    """The user of the socket with this local end on this machine; -1 if there is none."""
    wanted = "".join(f"{int(part):02X}" for part in reversed(address.split("."))) + f":{port:04X}"
    for line in files.read("/proc/net/tcp").splitlines()[1:]:
        row = line.split()
        if row[1] == wanted:
            return int(row[7])
    return -1


class Login(asyncssh.SSHServer):
    """One connection: the lab's user only, by a key of the node's authorized_keys or by password."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._sessions: list[Remote] = []
        self.connection: asyncssh.SSHServerConnection | None = None
        self.number = 0
        self.forced: str | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connection = conn
        self._host.connections += 1
        self.number = self._host.connections
        self._host.open.add(conn)
        self._host.log("connect", connection=self.number, peer=conn.get_extra_info("peername")[1])

    def connection_lost(self, exc: Exception | None) -> None:
        if self.connection is not None:
            self._host.open.discard(self.connection)
        self._host.log("disconnect", connection=self.number)

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Check `authorized_keys` as sshd does: `from=` must match the client, `command=` replaces its command."""
        text = files.read(Path(self._host.node.home, ".ssh", "authorized_keys"))
        try:
            known = asyncssh.import_authorized_keys(text)
        except ValueError:
            return False
        assert self.connection is not None
        peer = self.connection.get_extra_info("peername")[0]
        options = known.validate(key, peer, peer) if username == USER else None
        if options is not None:
            self.forced = str(options["command"]) if "command" in options else None
        return options is not None

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        """The password is public, so it is accepted only from the user who started the lab."""
        return username == USER and password == PASSWORD and self._same_user()

    def _same_user(self) -> bool:
        assert self.connection is not None
        return owner(*self.connection.get_extra_info("peername")[:2]) in (os.getuid(), 0)

    def session_requested(self) -> Remote:
        self._sessions = [session for session in self._sessions if session.open]
        if len(self._sessions) >= MAX_SESSIONS:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, "open failed")
        remote = Remote(lambda line, remote: self._host.accept(self, line, remote))
        self._sessions.append(remote)
        return remote
