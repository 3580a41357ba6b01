"""Find and end the processes of a lab, a node or a container.

Every process that the lab starts carries `SPARKLAB_LAB`, `SPARKLAB_NODE` and, in a container, `SPARKLAB_CONTAINER` in
its environment. Some programs overwrite theirs (Ray's workers do), so descendants and sessions count as well.
"""

import os
import signal
import time
from collections.abc import Iterable


class Process:
    """One line of /proc; `cpu` are ticks used; `start` (ticks since boot) tells a pid from its reuse."""

    __slots__ = ("cpu", "group", "parent", "pid", "session", "start", "state")

    def __init__(self, pid: int, stat: str) -> None:
        fields = stat.rpartition(")")[2].split()
        self.pid = pid
        self.state = fields[0]
        self.parent, self.group, self.session = (int(field) for field in fields[1:4])
        self.cpu = int(fields[11]) + int(fields[12])
        self.start = int(fields[19])


def look(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return Process(pid, stream.read())
    except (OSError, IndexError, ValueError):
        return None


def start_of(pid: int) -> int:
    process = look(pid)
    return process.start if process else 0


def alive(pid: int, start: int) -> bool:
    process = look(pid)
    return process is not None and process.start == start and process.state != "Z"


def scan() -> dict[int, Process]:
    found = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def carries(pid: int, markers: Iterable[str]) -> bool:
    """Does the process have one of these `NAME=value` in its environment?"""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            environment = set(stream.read().split(b"\0"))
    except OSError:
        return False
    return any(os.fsencode(marker) in environment for marker in markers)


def family(markers: Iterable[str], roots: Iterable[tuple[int, int]] = ()) -> list[Process]:
    """Marked processes and these (pid, start) roots, with all their descendants and sessions; never the caller."""
    markers = list(markers)
    table = scan()
    known = {pid for pid, start in roots if pid in table and table[pid].start == start}
    known |= {pid for pid in table if pid not in known and carries(pid, markers)}
    grown = True
    while grown:
        sessions = {pid for pid in known if table[pid].session == pid}
        more = {p.pid for p in table.values() if p.pid not in known and (p.parent in known or p.session in sessions)}
        known |= more
        grown = bool(more)
    return [table[pid] for pid in known - {os.getpid()} if table[pid].state != "Z"]


def send(processes: Iterable[Process], number: int) -> None:
    """Signal those that are still the same process."""
    for process in processes:
        if alive(process.pid, process.start):
            try:
                os.kill(process.pid, number)
            except OSError:
                continue


def end(markers: Iterable[str], roots: Iterable[tuple[int, int]] = (), patience: float = 30.0) -> None:
    """Send SIGKILL until none is left, for `patience` seconds at most."""
    markers, roots = list(markers), list(roots)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        left = family(markers, roots)
        if not left:
            break
        send(left, signal.SIGKILL)
        time.sleep(0.02)
