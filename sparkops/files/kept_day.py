"""A day of what the page draws, a point a minute, in a file on this machine: it is there again after a restart."""

import json
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from sparkops.errors import UsageError

DAY, MINUTE = 86_400, 60


class KeptDay:
    """Asked by the thread that looks and by those of the page."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, tuple[int, dict[str, list[float]]]] = {}
        self.problem = ""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            path.chmod(0o600)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            table = "(name TEXT, minute INTEGER, told TEXT, PRIMARY KEY (name, minute)) WITHOUT ROWID"
            self._file.execute(f"CREATE TABLE IF NOT EXISTS points {table}")
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"{path}: {error}", hint="remove the file, or watch without --keep") from None

    def add(self, name: str, now: float, values: Mapping[str, float]) -> None:
        """Count these values in; the mean of a minute is written when the next one begins."""
        minute = int(now) // MINUTE * MINUTE
        before, sums = self._sums.get(name, (minute, {}))
        if minute != before:
            self._write(name, before, {key: round(sum(told) / len(told), 3) for key, told in sums.items()})
            sums = {}
        for key, value in values.items():
            sums.setdefault(key, []).append(value)
        self._sums[name] = minute, sums

    def of(self, name: str, now: float) -> dict[str, object]:
        """The last day, for JSON."""
        rows = self._rows(name, int(now) - DAY)
        names = sorted({key for _, told in rows for key in told})
        return {"times": [at for at, _ in rows], "values": {key: [told.get(key) for _, told in rows] for key in names}}

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def _write(self, name: str, minute: int, told: Mapping[str, float]) -> None:
        try:
            with self._lock, closing(self._file.cursor()) as cursor:
                cursor.execute("INSERT OR REPLACE INTO points VALUES (?, ?, ?)", (name, minute, json.dumps(told)))
                cursor.execute("DELETE FROM points WHERE minute < ?", (minute - DAY,))
            self.problem = ""
        except sqlite3.Error as error:  # the disk may be full; what is watched goes on
            self.problem = f"the charts of a day cannot be kept: {error}"

    def _rows(self, name: str, since: int) -> list[tuple[int, dict[str, float]]]:
        with self._lock, closing(self._file.cursor()) as cursor:
            found = cursor.execute("SELECT minute, told FROM points WHERE name = ? AND minute >= ?", (name, since))
            return [(int(minute), json.loads(told)) for minute, told in found]
