"""The user's own files that a verb reads or writes. Each error names the file."""

import itertools
import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sparkops import whole_file
from sparkops.core.schema import one_line
from sparkops.core.sizes import gb
from sparkops.errors import UsageError
from sparkops.files.reading import opened

KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
"""Private keys in `~/.ssh`, the preferred one first."""


def write(path: Path, text: str) -> str:
    """Write a file completely or not at all; returns its path as text, raises `UsageError`."""
    with writing(path):
        whole_file.write(path, text)
    return str(path)


def keep_copy(path: Path) -> Path | None:
    """Copy a file that will be written anew to `<name>.before`, or the next free name; None if there is no file."""
    if not path.exists():
        return None
    names = (f"{path.name}.before{number or ''}" for number in itertools.count())
    kept = next(place for name in names if not (place := path.with_name(name)).exists())
    with writing(kept):
        shutil.copy2(path, kept)
    return kept


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of writing, or of an invalid path, into `UsageError`."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(one_line(_unwritten(path, error))) from None


def refuse_existing(path: Path, force: bool, hint: str = "overwrite it with --force") -> None:
    if os.path.isdir(path):
        raise UsageError(one_line(f"{path} is a directory"))
    if os.path.exists(path) and not force:
        raise UsageError(f"{path} already exists", hint=hint)


def check_writable(path: Path) -> None:
    """Raise `UsageError` before hours of work if the file cannot be written; an existing file stays unchanged."""
    new = not path.exists()
    with writing(path):
        path.open("a", encoding="utf-8").close()
    if new:
        path.unlink()


def make_folder(path: Path) -> None:
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def whole(path: Path, size: int) -> Iterator[BinaryIO]:
    """Write a file beside `path` and move it there at the end; on failure remove it. `size`: about how many bytes."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        told = f"the file needs about {gb(size)}, and {gb(free(path.parent))} are free"
        raise UsageError(one_line(f"{_unwritten(part, error)}; {told}")) from error
    finally:
        part.unlink(missing_ok=True)


def size_to_read(path: Path) -> int:
    """Size in bytes; raises `UsageError` if the file cannot be read."""
    try:
        with opened(path):
            return path.stat().st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "is not a valid path"
        raise UsageError(one_line(f"{path}: {reason.lower()}")) from error


def directory(path: str) -> Path | None:
    """The absolute path of a directory; None if there is none."""
    try:
        found = Path(path).expanduser()
        return found.resolve() if found.is_dir() else None
    except (OSError, ValueError, RuntimeError):
        return None


def is_there(path: str) -> bool:
    return os.path.exists(path)


def free(folder: Path) -> int:
    """Free bytes in a folder; raises `UsageError` if it does not exist."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such directory")
    return shutil.disk_usage(folder).free


def refuse_missing_key(key_file: str | None) -> None:
    if key_file and not os.path.isfile(os.path.expanduser(key_file)):
        raise UsageError(one_line(f"--key-file {key_file}: no such file"))


def login_key(key_file: str | None) -> str:
    """The public key beside the private key that logs in; raises UsageError with the command that makes one."""
    places = [os.path.expanduser(key_file or f"~/.ssh/{name}") for name in ([""] if key_file else KEYS)]
    for private in places:
        if os.path.isfile(f"{private}.pub"):
            return Path(f"{private}.pub").read_text(encoding="utf-8", errors="replace").strip()
    private = next(filter(os.path.isfile, places), places[0])
    quoted, there = shlex.quote(private), os.path.isfile(private)
    make = f"ssh-keygen -y -f {quoted} > {quoted}.pub" if there else f"ssh-keygen -t ed25519 -f {quoted}"
    hint = f"make one: `{make}`; then run this command again"
    raise UsageError(one_line(f"no public key: {private}.pub does not exist"), hint=hint)


def _unwritten(path: Path, error: OSError | ValueError) -> str:
    return f"{path} cannot be written: {(getattr(error, 'strerror', None) or str(error)).lower()}"
