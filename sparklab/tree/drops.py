"""The log of a node's scheduled cache drops, and what two faults make of it."""

import contextlib
import os
import time

from sparklab import files
from sparklab.errors import LabError
from sparklab.layout import Node
from sparklab.tree import memory

FOLDER = (".local", "state", "sparkops", "cache")
EVERY, RUNS, SHRINKS = 600, 9, 7 * memory.KB_PER_GIB // 2
"""Seconds between the runs in the log of a node whose memory shrinks, their number, and kB that are gone after each."""

LATE = 3 * 3600
_RUN = (
    "{time} 2026-11-28T10:00:00Z page cache dropped (all): MemFree {room} -> {room}, "
    "MemAvailable {room} -> {room}, Cached 500000 -> 400000 KiB\n"
)


def publish(node: Node, kind: str, off: bool) -> None:
    """Change the log if the fault that was switched is about it."""
    match kind:
        case "memory-leaks":
            _shrink(node, off)
        case "cron-dead":
            _stop(node, off)


def _shrink(node: Node, off: bool) -> None:
    """Log that memory shrinks by 21 GiB an hour; without the fault, no run is logged."""
    now, room = int(time.time()), memory.available(node)
    runs = [_RUN.format(time=now - EVERY * before, room=room + SHRINKS * before) for before in range(RUNS - 1, -1, -1)]
    os.makedirs(_path(node, ""), exist_ok=True)
    files.write(_path(node, "log"), "" if off else "".join(runs))


def _stop(node: Node, off: bool) -> None:
    """Let the last run and the installation be hours ago; without the fault, the schedule was installed just now."""
    script = _path(node, "drop.sh")
    if not os.path.exists(script):
        raise LabError(f"{node.name} has no schedule; set one first: `sparkops cache schedule --every 30m`")
    then = time.time() - (0 if off else LATE)
    os.utime(script, (then, then))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_path(node, "log"))


def _path(node: Node, name: str) -> str:
    return os.path.join(node.home, *FOLDER, name)
