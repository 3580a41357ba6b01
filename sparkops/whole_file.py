"""Write a file completely or not at all, whatever happens meanwhile: a full disk, a signal, a loss of power."""

import os
import stat
from pathlib import Path


def write(path: Path, text: str, mode: int = 0o666) -> None:
    """Write it beside `path`, then rename it. Raises OSError; `path` is then as it was.

    An existing file keeps its mode, a symbolic link its target; what is no regular file is written to directly.
    """
    path = path.resolve()
    old = path.stat().st_mode if path.exists() else None
    data = text.encode("utf-8", "surrogateescape")
    if old is not None and not stat.S_ISREG(old):
        path.write_bytes(data)
        return
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            if old is not None:
                part.chmod(stat.S_IMODE(old))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
