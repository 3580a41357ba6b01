"""Files that somebody else writes, read again when they change; and one that only the gateway writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Read = TypeVar("Read")


class Followed(Generic[Read]):
    """What `read` makes of the file or directory at a path; `value` is what it made last, at first `empty`.

    What cannot be used changes nothing, and the log says so once; what cannot be read is tried again. If the file is
    gone, `value` is `empty` again where `gone_is_empty`.
    """

    def __init__(self, path: str, read: Callable[[str], Read], empty: Read, *, gone_is_empty: bool = False) -> None:
        self.path = path
        self.read = read
        self.value = self.empty = empty
        self.gone_is_empty = gone_is_empty
        self.mark: tuple[int, ...] | None = None
        self.trouble = ""

    def refresh(self) -> bool:
        """Read it if it changed; whether `value` is new. A change within a directory is a file renamed into it."""
        try:
            about = os.stat(self.path)
            mark = (about.st_ino, about.st_size, about.st_mtime_ns)
            if mark == self.mark:
                return False
            value = self.read(self.path)
        except FileNotFoundError as error:
            return self._gone(error)
        except OSError as error:
            self._tell(error)
            return False
        except Exception as error:  # whatever is in it, what serves goes on
            self._tell(error)
            self.mark = mark
            return False
        self.mark, self.value, self.trouble = mark, value, ""
        return True

    def _gone(self, error: OSError) -> bool:
        if self.mark is None:
            return False
        self.mark = None
        if self.gone_is_empty:
            self.value = self.empty
            return True
        self._tell(error)
        return False

    def _tell(self, error: Exception) -> None:
        if self.trouble != (trouble := repr(error)):
            self.trouble = trouble
            told(f"goes on as before: {os.path.basename(self.path)} cannot be used: {trouble[:300]}")


def load(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_whole(path: str, value: Any) -> None:
    """Replace a file by this JSON, in one step, also if the power fails."""
    new = f"{path}.{os.getpid()}.new"
    with open(new, "w", encoding="utf-8") as file:
        json.dump(value, file, separators=(",", ":"))
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def told(text: str) -> None:
    """A line of the log."""
    print(f"sparkops: {text}", flush=True)
