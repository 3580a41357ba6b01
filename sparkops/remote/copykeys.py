"""The key of one copy: made for it, known to the nodes that take part, worth nothing when it has ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from sparkops.remote.trust import KnownHosts


@dataclass(frozen=True)
class CopyKey:
    """An Ed25519 key in OpenSSH's formats."""

    public: str
    private: str = field(repr=False)


def new_key() -> CopyKey:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    return CopyKey(public, key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode())


def pinned_line(pins: Sequence[Path], address: str, port: int, alias: str) -> str | None:
    """A node's pinned host key as a known_hosts line for another name; None where nothing is pinned."""
    for key in KnownHosts(pins).keys(address, port):
        return f"{alias} {key.get_name()} {key.get_base64()}"
    return None
