"""Files of the person's own that a verb reads or writes by the name that was given. Each error names the file."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sparkops.core.schema import one_line
from sparkops.core.sizes import gb
from sparkops.errors import UsageError


def write(path: Path, text: str) -> str:
    """The path as text; raises `UsageError` where it cannot be written."""
    with writing(path):
        path.write_text(text, encoding="utf-8")
    return str(path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A place that cannot be written is a wrong use, not a bug; so is one that is no path."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(one_line(_unwritten(path, error))) from None


def refuse_existing(path: Path, force: bool, hint: str = "--force writes it anew") -> None:
    if path.exists() and not force:
        raise UsageError(f"{path} exists", hint=hint)


def check_writable(path: Path) -> None:
    """Said before an hour of work; what is there already stays as it is."""
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
    """To be written beside its place, and moved there at the end; else nothing is kept. `size` in bytes, about."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        told = f"it needs {gb(size)}, {gb(free(path.parent))} are free"
        raise UsageError(one_line(f"{_unwritten(part, error)}; {told}")) from error
    finally:
        part.unlink(missing_ok=True)


def size_to_read(path: Path) -> int:
    """Bytes of a file that can be read; raises `UsageError`."""
    try:
        with path.open("rb"):
            return path.stat().st_size
    except OSError as error:
        raise UsageError(one_line(f"{path}: {(error.strerror or str(error)).lower()}")) from error


def is_there(path: str) -> bool:
    return Path(path).exists()


def free(folder: Path) -> int:
    """Bytes that are free there; raises `UsageError` where there is no such folder."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such directory")
    return shutil.disk_usage(folder).free


def public_key(private: Path) -> str | None:
    """The line of the public half; None where there is none."""
    public = private.with_name(f"{private.name}.pub")
    return public.read_text(encoding="utf-8").strip() if public.is_file() else None


def _unwritten(path: Path, error: OSError | ValueError) -> str:
    return f"{path} cannot be written: {(getattr(error, 'strerror', None) or str(error)).lower()}"
