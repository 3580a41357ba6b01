"""Host keys: pinned keys, the key that a server shows, and the file that `sparkops trust` writes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko
from paramiko.hostkeys import HostKeyEntry, InvalidHostKey
from paramiko.pkey import UnknownKeyType

from sparkops import whole_file
from sparkops.remote.connect_errors import Unreached, unreached
from sparkops.remote.handshake import handshake

FIRST_ALGORITHMS = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256")}


@dataclass(frozen=True)
class SeenHostKey:
    """A server's host key, as in a line of a known_hosts file."""

    address: str
    port: int
    kind: str
    key: str
    fingerprint: str

    @property
    def line(self) -> str:
        return f"{_host(self.address, self.port)} {self.kind} {self.key}"


def known_hosts_file(inventory: str) -> Path:
    """The file of pinned keys, beside the inventory so that both can be copied together."""
    return Path(f"{inventory}.known_hosts")


class KnownHosts:
    """Pinned keys from several files; the first file that names an address decides."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._files = [_parsed(path) for path in paths if path.exists()]

    def keys(self, address: str, port: int) -> tuple[paramiko.PKey, ...]:
        for hosts in self._files:
            if found := hosts.lookup(_host(address, port)):
                return tuple(found.values())
        return ()

    def algorithms(self, address: str, port: int) -> tuple[str, ...]:
        """Algorithms to ask the server for: those of the pinned keys."""
        kinds = (key.get_name() for key in self.keys(address, port))
        return tuple(name for kind in kinds for name in FIRST_ALGORITHMS.get(kind, (kind,)))

    def judge(self, node: str, address: str, port: int, shown: paramiko.PKey) -> None:
        """Raise Unreached unless the key is pinned."""
        pinned = self.keys(address, port)
        if any(key.asbytes() == shown.asbytes() for key in pinned):
            return
        key = f"{shown.get_name()} {shown.fingerprint}"
        if not pinned:
            raise Unreached(node, "unknown-key", f"its host key is not pinned: {key}", "pin it: `sparkops trust`")
        old = ", ".join(key.fingerprint for key in pinned)
        hint = (
            "if you reinstalled the node, pin the new key: `sparkops trust`; if you did not, somebody may "
            "intercept the connection"
        )
        raise Unreached(node, "changed-key", f"its host key changed: it shows {key}, but {old} is pinned", hint)


def fetch_host_key(
    address: str, port: int = 22, timeout: float = 10.0, through: paramiko.Channel | None = None
) -> SeenHostKey:
    """The host key that a server shows, without a login; raises Unreached."""
    try:
        transport = handshake(address, port, timeout, through=through)
    except Exception as error:
        raise unreached(address, address, port, error) from error
    try:
        key = transport.get_remote_server_key()
    finally:
        transport.close()
        if through is not None:
            through.get_transport().close()
    return SeenHostKey(address, port, key.get_name(), key.get_base64(), key.fingerprint)


def pinned_host_keys(paths: Iterable[Path], address: str, port: int = 22) -> tuple[SeenHostKey, ...]:
    """The keys pinned for an address, in the first of these files that names it."""
    keys = KnownHosts(paths).keys(address, port)
    return tuple(SeenHostKey(address, port, key.get_name(), key.get_base64(), key.fingerprint) for key in keys)


def pin(path: Path, keys: Sequence[SeenHostKey]) -> None:
    """Write these keys in place of those pinned for the same addresses; keep all other lines; raises OSError."""
    names = {_host(key.address, key.port) for key in keys}
    old = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines() if path.exists() else []
    kept = [line for line in old if line.split(" ", 1)[0] not in names]
    whole_file.write(path, "\n".join([*kept, *(key.line for key in keys), ""]))


def _host(address: str, port: int) -> str:
    return address if port == 22 else f"[{address}]:{port}"


def _parsed(path: Path) -> paramiko.HostKeys:
    """The keys of a known_hosts file; lines that Paramiko cannot read (certificates, security keys) are ignored."""
    hosts = paramiko.HostKeys()
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if not line.strip() or line.lstrip().startswith(("#", "@")):
            continue
        try:
            entry = HostKeyEntry.from_line(line.strip())
        except (ValueError, paramiko.SSHException, InvalidHostKey, UnknownKeyType):
            continue
        if entry is not None and entry.key is not None:
            for name in entry.hostnames or ():
                hosts.add(name, entry.key.get_name(), entry.key)
    return hosts
