"""The run log: a file for each run with one JSON line for each event, readable only by its owner."""

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from sparkops.core.printable import printable

KEPT_RUNS = 500
"""A new run log removes the oldest ones beyond this number."""

SHORT = 16
"""Characters from which on a secret is no part of another word by chance, as a made key is not."""

_WORD = re.compile(r"\w").match


def folder(environ: Mapping[str, str]) -> Path:
    state = environ.get("XDG_STATE_HOME") or ""
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "sparkops" / "runs"


class RunLog:
    """Secrets given to `hide` appear as `***` in all text.

    The first line creates the file, so that a run which only reads, perhaps every minute, leaves none.
    """

    def __init__(self, environ: Mapping[str, str], verb: str, run: str) -> None:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self._path = folder(environ) / f"{stamp}-{verb}-{run}.jsonl"
        self._run = run
        self._hidden: list[re.Pattern[str]] = []
        self._file: TextIO | None = None
        self._log: Any = None
        self._warned = False

    @property
    def path(self) -> Path | None:
        """None before the first line."""
        return self._path if self._file else None

    def hide(self, secrets: Iterable[str]) -> None:
        for secret in filter(None, secrets):
            self._hidden += map(_hidden, {secret, json.dumps(secret, ensure_ascii=False)[1:-1]})

    def write(self, kind: str, **keys: Any) -> None:
        """Write one line. A full disk does not end a run on nodes; the first error is reported."""
        try:
            if self._log is None and not self._warned:
                self._begin()
            if self._log is not None:
                self._log.info(kind, **{name: value for name, value in keys.items() if value not in (None, "", {})})
        except OSError as error:
            if not self._warned:
                sys.stderr.write(
                    f"warning: the run log cannot be written, and the run goes on: {printable(str(error))}\n"
                )
            self._warned = True

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()

    def _begin(self) -> None:
        import structlog  # noqa: PLC0415  a fifth of the start of a verb that has nothing to log

        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _prune(self._path.parent)
        self._file = _private(self._path)
        self._log = structlog.wrap_logger(
            structlog.PrintLogger(self._file),
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(sort_keys=False, default=str, ensure_ascii=False),
                self._redact,
            ],
        ).bind(run=self._run)

    def _redact(self, _logger: Any, _method: str, line: Any) -> str:
        """The last processor: it gets the line as it will be written."""
        return self.masked(str(line))

    def masked(self, text: str) -> str:
        for secret in self._hidden:
            text = secret.sub("***", text)
        return text


def _hidden(secret: str) -> re.Pattern[str]:
    """Where a secret stands. A short one is no part of a word: `***ops` would tell that it is `spark`.

    The end of an escape of JSON or of a colour is no part of a word either.
    """
    short = len(secret) < SHORT
    before = r"(?:(?<!\w)|(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{4})|(?<=[0-9;\[]m))" if short and _WORD(secret[0]) else ""
    after = r"(?!\w)" if short and _WORD(secret[-1]) else ""
    return re.compile(before + re.escape(secret) + after)


def _private(path: Path) -> TextIO:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    return os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", buffering=1)


def _prune(directory: Path) -> None:
    logs = sorted(directory.glob("*.jsonl"))
    for path in logs[: max(len(logs) - KEPT_RUNS + 1, 0)]:
        path.unlink(missing_ok=True)
