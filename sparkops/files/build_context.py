"""A build context as it is sent to a node: equal files give equal bytes."""

import base64
import fnmatch
import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sparkops.core.schema import one_line
from sparkops.errors import UsageError

LARGEST = 256_000_000
"""Bytes of all files. Let the Dockerfile fetch larger files, or build from a git repository."""


@dataclass(frozen=True)
class Context:
    """`content` is a gzipped tar in base64, `digest` is over the files alone."""

    digest: str
    content: str = field(repr=False)
    files: int = 0


def pack(folder: Path, dockerfile: str | None = None) -> Context:
    """Pack the folder without what a simple `.dockerignore` names; Docker reads that file again on the node."""
    if not folder.is_dir():
        raise UsageError(one_line(f"{folder}: no such directory"), hint="give a directory as the build context")
    if not (folder / (dockerfile or "Dockerfile")).is_file():
        raise UsageError(one_line(f"{folder / (dockerfile or 'Dockerfile')}: no such file"))
    tarred = io.BytesIO()
    ignored = _ignored(folder)
    count = size = 0
    try:
        with tarfile.open(fileobj=tarred, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in _below(folder, "", ignored):
                entry = _plain(tar.gettarinfo(str(folder / path), arcname=path))
                if (size := size + entry.size) > LARGEST:
                    raise UsageError(f"{folder}: the build context is over {LARGEST // 1_000_000} MB", hint=_HINT)
                count += 1
                if entry.isreg():
                    with (folder / path).open("rb") as content:
                        tar.addfile(entry, content)
                else:
                    tar.addfile(entry)
    except OSError as error:
        raise UsageError(one_line(f"{error.filename or folder}: {(error.strerror or str(error)).lower()}")) from error
    data = tarred.getvalue()
    packed = base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode()
    return Context(hashlib.sha256(data).hexdigest(), packed, count)


_HINT = "list the files that the image does not need in .dockerignore, or build from a git repository"


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Reset what differs between two copies of equal files."""
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def _below(folder: Path, inside: str, ignored: tuple[str, ...]) -> Iterator[str]:
    for name in sorted(os.listdir(folder / inside)):
        path = f"{inside}/{name}" if inside else name
        if any(fnmatch.fnmatchcase(path, pattern) for pattern in ignored):
            continue
        whole = folder / path
        if whole.is_symlink() or whole.is_file():
            yield path
        elif whole.is_dir():
            yield path
            yield from _below(folder, path, ignored)


def _ignored(folder: Path) -> tuple[str, ...]:
    """Patterns of `.dockerignore`; none if it has exceptions or `**`, which only Docker evaluates."""
    try:
        lines = (folder / ".dockerignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    patterns = [line.strip().strip("/") for line in lines if line.strip() and not line.startswith("#")]
    keep = ("Dockerfile", ".dockerignore")
    if any(pattern.startswith("!") or "**" in pattern for pattern in patterns):
        return ()
    return tuple(p for p in patterns if not any(fnmatch.fnmatchcase(name, p) for name in keep))
