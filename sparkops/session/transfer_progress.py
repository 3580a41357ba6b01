"""Progress of a stream between this machine and a node: bytes counted by the node, rate, time left."""

import time

from sparkops.core.plan import Event, EventKind
from sparkops.core.sizes import gb
from sparkops.report.report import Report

COUNTED = "progress: "
"""Begins the lines with byte counts that `image.sh` writes to stderr beside the engine's output."""


class TransferProgress:
    """`about` is the approximate size in bytes."""

    def __init__(self, report: Report, node: str, title: str, about: int) -> None:
        self._report, self._node, self._title, self._about = report, node, title, max(about, 1)
        self._began = time.monotonic()
        self._rest = ""
        self._emit("start", "")

    def hear(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data.decode(errors="replace")).split("\n")
        counts = [line.removeprefix(COUNTED) for line in lines if line.startswith(COUNTED)]
        if counts and counts[-1].isdigit():
            self._emit("progress", f"wait {self._far(min(int(counts[-1]), self._about))}")

    def said(self, stderr: str) -> str:
        """The end of the engine's output without the counts, as the reason of a failure."""
        text = "\n".join(line for line in stderr.splitlines() if line and not line.startswith(COUNTED))
        self._emit("failed", text)
        return text[-300:]

    def done(self) -> None:
        self._emit("done", "")

    def _far(self, count: int) -> str:
        text = f"{gb(count)} of {gb(self._about)} ({100 * count // self._about} %)"
        rate = count / max(time.monotonic() - self._began, 0.001)
        if not rate:
            return text
        minutes, seconds = divmod(int((self._about - count) / rate), 60)
        return f"{text}, {gb(rate)}/s, {minutes}:{seconds:02d} left"

    def _emit(self, kind: EventKind, text: str) -> None:
        self._report.emit(Event(kind, text, self._node, self._title, self._title))
