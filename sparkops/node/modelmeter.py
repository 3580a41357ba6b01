"""What work on models prints on a node: lines with a first word, among them the progress.

Runs on nodes (Python 3.9), as part of the scripts that import it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def say(word: str, text: str) -> None:
    print(f"{word} {text}", flush=True)


def size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


class Meter:
    """Prints bytes done, rate and time left, one line a second."""

    def __init__(self, what: str, total: int, done: Callable[[], int]) -> None:
        self.what, self.total, self.done = what, max(total, 1), done
        self.past: list[tuple[float, int]] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self) -> Meter:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def run(self) -> None:
        while not self.over.is_set():
            self.tell()
            self.over.wait(1.0)
        self.tell()

    def tell(self) -> None:
        now, done = time.monotonic(), min(self.done(), self.total)
        self.past = [*self.past[-15:], (now, done)]
        spent, moved = now - self.past[0][0], done - self.past[0][1]
        rate = moved / spent if spent > 0 else 0.0
        bar = "#" * (20 * done // self.total)
        text = f"{self.what} [{bar:-<20}] {100 * done // self.total} %, {size(done)} of {size(self.total)}"
        if rate and done < self.total:
            text += f", {size(rate)}/s{time_left((self.total - done) / rate)}"
        say("progress:", text)


def time_left(seconds: float) -> str:
    """The text for the time left; empty from 100 hours on."""
    hours, rest = divmod(int(seconds), 3600)
    if hours >= 100:
        return ""
    return f", {hours}:{rest // 60:02d}:{rest % 60:02d} left" if hours else f", {rest // 60}:{rest % 60:02d} left"
