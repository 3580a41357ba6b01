"""A real SSH server that executes in real shells, with the troubles that real ones have."""

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncssh
import pytest

from sparkops.core.inventory import Node
from sparkops.remote.ssh import Options
from sparkops.remote.trust import SeenHostKey, pin

FAKE_SUDO = """#!/bin/sh
# Asks like sudo: -n fails when a password is wanted, -S reads a line a try, nothing is read when none is wanted.
mode=$1
shift
[ "$mode" = -n ] || shift 2
shift
if [ -e "$HOME/sudo-password" ]; then
    [ "$mode" = -S ] || { echo 'sudo: a password is required' >&2; exit 1; }
    for try in 1 2 3 4; do
        [ "$try" != 4 ] || { echo 'sudo: 3 incorrect password attempts' >&2; exit 1; }
        read -r given
        [ "$given" != "$(cat "$HOME/sudo-password")" ] || break
        echo 'Sorry, try again.' >&2
    done
fi
WENT_THROUGH_SUDO=yes exec "$@"
"""


class SshServer:
    """One node: its own home and SPARKOPS_ROOT, one key pair for logins, one host key."""

    def __init__(self, directory: Path) -> None:
        self.home = directory
        self.commands: list[str] = []
        self.logins = 0
        self.accepted = 0
        self.password: str | None = None
        self.drop_after_start = False
        self._children: list[asyncio.subprocess.Process] = []
        self.host_key = asyncssh.generate_private_key("ssh-ed25519")
        login = asyncssh.generate_private_key("ssh-ed25519")
        login.write_private_key(directory / "id")
        login.write_public_key(directory / "authorized")
        (directory / "run" / "lock").mkdir(parents=True)
        (directory / "bin").mkdir()
        (directory / "bin" / "sudo").write_text(FAKE_SUDO)
        (directory / "bin" / "sudo").chmod(0o755)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self.port = 0
        self.up()

    @property
    def known_hosts(self) -> Path:
        return self.home / "known_hosts"

    def up(self) -> None:
        self._call(self._listen())

    def down(self) -> None:
        """Like a node without power: nothing is said, nobody listens."""
        self._call(self._unlisten())

    def stand_still(self, seconds: float) -> None:
        """From now on for a while it hears and says nothing, and closes nothing."""
        still = threading.Event()

        def stand() -> None:
            still.set()
            time.sleep(seconds)

        self._loop.call_soon_threadsafe(stand)
        still.wait()

    def close(self) -> None:
        self.down()
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def key_line(self) -> SeenHostKey:
        kind, key = self.host_key.export_public_key().decode().split()[:2]
        return SeenHostKey("127.0.0.1", self.port, kind, key, self.host_key.get_fingerprint())

    def _call(self, work: object) -> object:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)  # type: ignore[arg-type]

    async def _end(self) -> None:
        """All tasks to their end; a command that has detached itself may hold its pipes beyond its own death."""
        for _ in range(100):
            for child in self._children:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child._transport.close()  # type: ignore[attr-defined]
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            if not tasks:
                return
            await asyncio.wait(tasks, timeout=0.1)

    async def _listen(self) -> None:
        self._acceptor = await asyncssh.create_server(
            lambda: _Logins(self),
            "127.0.0.1",
            self.port,
            server_host_keys=[self.host_key],
            process_factory=self._process,
            encoding=None,
            authorized_client_keys=str(self.home / "authorized"),
        )
        self.port = self._acceptor.get_port()

    async def _unlisten(self) -> None:
        self._acceptor.close()
        for connection in tuple(self._connections):
            connection.abort()
        await asyncio.sleep(0.01)

    async def _process(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        line = process.command or ""
        self.commands.append(line)
        connection = process.get_extra_info("connection")
        environment = {
            "HOME": str(self.home),
            "SPARKOPS_ROOT": str(self.home),
            "PATH": f"{self.home}/bin:{os.environ['PATH']}",
        }
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", line),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=environment,
            cwd=self.home,
            start_new_session=True,
        )
        self._children.append(child)
        if self.drop_after_start:
            await asyncio.sleep(0.3)
            connection.abort()
        pumps = [_pump(child.stdout, process.stdout), _pump(child.stderr, process.stderr)]
        feed = asyncio.create_task(_feed(process, child.stdin))
        try:
            await asyncio.gather(*pumps)
            process.exit(await child.wait())
        except (asyncssh.Error, OSError):
            await child.wait()
        finally:
            await feed


async def _pump(source: asyncio.StreamReader, sink: asyncssh.SSHWriter[bytes]) -> None:
    """To the end also when nobody listens any more, or the child's pipes would never be closed."""
    while data := await source.read(65536):
        with contextlib.suppress(asyncssh.Error, OSError):
            sink.write(data)
            await sink.drain()


async def _feed(process: asyncssh.SSHServerProcess[bytes], sink: asyncio.StreamWriter) -> None:
    """What the client sends, and then the end: also when the client has just vanished."""
    try:
        while data := await process.stdin.read(65536):
            sink.write(data)
            await sink.drain()
    except (asyncssh.Error, OSError):
        pass
    finally:
        sink.close()


class _Logins(asyncssh.SSHServer):
    def __init__(self, server: SshServer) -> None:
        self._server = server

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._server._connections.add(conn)
        self._server.accepted += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self._server._connections.discard(self._connection)

    def connection_requested(self, *_: object) -> bool:
        """As a jump host: pass everything on."""
        return True

    def auth_completed(self) -> None:
        self._server.logins += 1

    def password_auth_supported(self) -> bool:
        return self._server.password is not None

    def validate_password(self, username: str, password: str) -> bool:
        return password == self._server.password


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[[], SshServer]]:
    made: list[SshServer] = []

    def make() -> SshServer:
        directory = tmp_path / f"server{len(made)}"
        directory.mkdir()
        made.append(SshServer(directory))
        pin(made[0].known_hosts, [server.key_line() for server in made])
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def server(make_server: Callable[[], SshServer]) -> SshServer:
    return make_server()


def node_of(server: SshServer, name: str = "spark1", **changes: object) -> Node:
    values = {"user": "me", "port": server.port, "key_file": str(server.home / "id"), **changes}
    return Node(name, "127.0.0.1", **values)  # type: ignore[arg-type]


@pytest.fixture
def node(server: SshServer) -> Node:
    return node_of(server)


@pytest.fixture
def options(server: SshServer, tmp_path: Path) -> Options:
    return Options(login="me", home=tmp_path, known_hosts=(server.known_hosts,), connect_timeout=60.0)


@pytest.fixture
def nodes_of() -> Callable[..., Node]:
    return node_of
