"""A day of what the page draws, a point a minute, in a file on this machine: it is there again after a restart."""

import json
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from sparkops.errors import UsageError

DAY, MINUTE = 86_400, 60


class KeptDay:
    """Asked by the thread that looks and by those that answer the page."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, tuple[int, dict[str, list[float]]]] = {}
        self.problem = ""
        try:
            self._file = _opened(path)
        except (OSError, sqlite3.Error) as error:
            raise UsageError(
                f"{path}: {error}", hint="remove the files that begin with this name, or watch without --keep"
            ) from None

    def add(self, name: str, now: float, values: Mapping[str, float]) -> None:
        """Count these values in; the mean of a minute is written when the next one begins."""
        minute = int(now) // MINUTE * MINUTE
        before, sums = self._sums.get(name, (minute, {}))
        if minute != before:
            self._write(name, before, sums)
            sums = {}
        for key, value in values.items():
            sums.setdefault(key, []).append(value)
        self._sums[name] = minute, sums

    def points(self, name: str, since: float, until: float) -> list[tuple[float, dict[str, float]]]:
        """What was kept from `since` to `until`; nothing if the file cannot be read."""
        wanted = "SELECT minute, told FROM points WHERE name = ? AND minute >= ? AND minute < ?"
        try:
            with self._lock, closing(self._file.cursor()) as cursor:
                rows = cursor.execute(wanted, (name, int(since), int(until)))
                return [(float(minute), json.loads(told)) for minute, told in rows]
        except (sqlite3.Error, ValueError) as error:
            self.problem = f"the charts of a day cannot be read: {error}"
            return []

    def close(self) -> None:
        """Keep what the minute that runs has so far."""
        for name, (minute, sums) in self._sums.items():
            self._write(name, minute, sums)
        with self._lock:
            self._file.close()

    def _write(self, name: str, minute: int, sums: Mapping[str, Sequence[float]]) -> None:
        told = {key: round(sum(values) / len(values), 3) for key, values in sums.items()}
        try:
            with self._lock, closing(self._file.cursor()) as cursor:
                cursor.execute("INSERT OR REPLACE INTO points VALUES (?, ?, ?)", (name, minute, json.dumps(told)))
                cursor.execute("DELETE FROM points WHERE minute < ?", (minute - DAY,))
            self.problem = ""
        except sqlite3.Error as error:  # the disk may be full; what is watched goes on
            self.problem = f"the charts of a day cannot be kept: {error}"


def _opened(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = sqlite3.connect(path, timeout=1, check_same_thread=False, isolation_level=None)
    try:
        path.chmod(0o600)
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = NORMAL")
        table = "(name TEXT, minute INTEGER, told TEXT, PRIMARY KEY (name, minute)) WITHOUT ROWID"
        file.execute(f"CREATE TABLE IF NOT EXISTS points {table}")
    except (OSError, sqlite3.Error):
        file.close()
        raise
    return file
