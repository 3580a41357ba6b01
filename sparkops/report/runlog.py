"""The run log: one JSON line an event, in a file of its own a run, readable by its owner alone."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

import structlog

KEPT_RUNS = 500
"""Older run logs are removed when a new one is begun."""


def folder(environ: Mapping[str, str]) -> Path:
    state = environ.get("XDG_STATE_HOME") or ""
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "sparkops" / "runs"


class RunLog:
    """Secrets named to `hide` appear as `***`, whatever text they stand in."""

    def __init__(self, environ: Mapping[str, str], verb: str, run: str) -> None:
        directory = folder(environ)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _prune(directory)
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self.path = directory / f"{stamp}-{verb}-{run}.jsonl"
        self._file = _private(self.path)
        self._hidden: list[str] = []
        self._log = structlog.wrap_logger(
            structlog.PrintLogger(self._file),
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(sort_keys=False, default=str, ensure_ascii=False),
                self._redact,
            ],
        ).bind(run=run)

    def hide(self, secrets: Iterable[str]) -> None:
        for secret in filter(None, secrets):
            self._hidden += [secret, json.dumps(secret, ensure_ascii=False)[1:-1]]

    def write(self, kind: str, **keys: Any) -> None:
        if self._file.closed:
            return
        with contextlib.suppress(OSError):  # a full disk here must not end what goes on there
            self._log.info(kind, **{name: value for name, value in keys.items() if value not in (None, "", {})})

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()

    def _redact(self, _logger: Any, _method: str, line: Any) -> str:
        """The last processor: it sees the line as it will be written."""
        text = str(line)
        for secret in self._hidden:
            text = text.replace(secret, "***")
        return text


def _private(path: Path) -> TextIO:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    return os.fdopen(handle, "w", encoding="utf-8", buffering=1)


def _prune(directory: Path) -> None:
    logs = sorted(directory.glob("*.jsonl"))
    for path in logs[: max(len(logs) - KEPT_RUNS + 1, 0)]:
        path.unlink(missing_ok=True)
