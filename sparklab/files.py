"""Small file operations that are safe with several writers. Every tool call imports them, so imports are few."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

try:
    import fcntl
except ImportError:  # Windows has no lab; `lab up` says so, not this import
    fcntl = None  # type: ignore[assignment]


def write(path: str | os.PathLike[str], text: str, mode: int = 0o644) -> None:
    """Readers see the old text or the new one, never a part."""
    temporary = f"{path}.{os.getpid()}.new"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as stream:
        stream.write(text)
    os.replace(temporary, path)


def make(path: str | os.PathLike[str], text: str) -> None:
    """Create a file and its directories."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


def read(path: str | os.PathLike[str], default: str = "") -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except OSError:
        return default


def write_json(path: str | os.PathLike[str], value: Any, mode: int = 0o644) -> None:
    write(path, json.dumps(value), mode)


def read_json(path: str | os.PathLike[str]) -> Any:
    """The value, or None if the file is absent or incomplete."""
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None


def clear(path: str | os.PathLike[str]) -> None:
    """Remove a file, a link, or a directory and all that is in it, as far as that can be done."""
    import shutil

    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)


def append(path: str | os.PathLike[str], value: Any) -> None:
    """One JSON line; lines of several writers do not mix."""
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(value) + "\n")


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold an advisory lock on a directory, or on a file, which is created."""
    if os.path.isdir(path):
        handle = os.open(path, os.O_RDONLY)
    else:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
