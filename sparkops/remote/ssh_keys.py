"""SSH keys: the one that is named, else those of the agent and of ~/.ssh, read once a run; new keys for one copy."""

import contextlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import paramiko
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from sparkops.remote.connect_errors import Unreached

DEFAULTS = ("id_ed25519", "id_ecdsa", "id_rsa")
MOST = 5
"""sshd ends the connection after six tries (MaxAuthTries); one is left for a password."""


@lru_cache(maxsize=64)
def key_from(path: Path) -> paramiko.PKey:
    """The private key in a file, read once a run."""
    try:
        return paramiko.PKey.from_path(path)
    except TypeError as error:  # cryptography raises it if the key has a passphrase
        raise paramiko.PasswordRequiredException(str(error)) from error


def named(node: str, path: Path) -> tuple[paramiko.PKey, ...]:
    """The key of `key_file`; if a passphrase protects it, the agent's keys. Raises Unreached."""
    try:
        return (key_from(path),)
    except FileNotFoundError:
        raise Unreached(node, "key", f"key file {path} does not exist", "correct `key_file` in the inventory") from None
    except paramiko.PasswordRequiredException:
        if held := agent():
            return held
        raise Unreached(node, "key", f"key file {path} has a passphrase", f"ssh-add {path}") from None
    except (OSError, ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType) as error:
        raise Unreached(node, "key", f"key file {path} cannot be read: {error}") from error


def default(home: Path) -> tuple[paramiko.PKey, ...]:
    """The agent's keys and those of `~/.ssh` without a passphrase, MOST at most."""
    return (*agent(), *_at_home(home))[:MOST]


def locked(home: Path) -> bool:
    """Whether `~/.ssh` has a key with a passphrase."""
    for name in DEFAULTS:
        try:
            key_from(home / ".ssh" / name)
        except paramiko.PasswordRequiredException:
            return True
        except (OSError, ValueError, paramiko.SSHException):
            continue
    return False


@lru_cache(maxsize=1)
def agent() -> tuple[paramiko.PKey, ...]:
    try:
        return paramiko.Agent().get_keys()
    except paramiko.SSHException:
        return ()


def _at_home(home: Path) -> Iterator[paramiko.PKey]:
    for name in DEFAULTS:
        with contextlib.suppress(OSError, ValueError, paramiko.SSHException):
            yield key_from(home / ".ssh" / name)


def new_pair() -> tuple[str, str]:
    """The public and the private half of a new Ed25519 key, in OpenSSH's formats."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return public.decode(), key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
