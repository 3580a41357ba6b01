"""Looks at nodes while they are measured, in a thread of its own, so that nothing waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sparkops.core.bench.samples import Sample
from sparkops.core.facts import Facts, Unread, Unreadable, parse
from sparkops.core.plan import Command, NodeLost, Script
from sparkops.phases.sudo import become
from sparkops.workflows.session import Session

FIRST = 1.0
EVERY = 10.0
SAMPLED = "gpu-load,meminfo"


@contextmanager
def watched(session: Session, nodes: Sequence[str], into: list[Sample]) -> Iterator[None]:
    """Clocks, power, temperature and memory go `into` a list until the block ends."""
    end = threading.Event()
    watcher = threading.Thread(target=_watch, args=(session, nodes, into, end), name="bench-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        end.set()
        watcher.join()


def _watch(session: Session, nodes: Sequence[str], into: list[Sample], end: threading.Event) -> None:
    began, pause = time.monotonic(), FIRST
    while not end.wait(pause):
        at = round(time.monotonic() - began, 1)
        into += [found for node in nodes if (found := _look(session, node, at, end)) is not None]
        pause = EVERY


def _look(session: Session, node: str, at: float, end: threading.Event) -> Sample | None:
    """None for a node that does not answer: its engine is asked after the run."""
    command = Command((Script("facts"), "--only", SAMPLED), reads=True, timeout=20.0)
    try:
        result = session.fleet.send(node, become(command) if node in session.sudo else command, end)
        return sample(node, result.stdout, at)
    except (NodeLost, Unreadable):
        return None


def sample(node: str, raw: str, at: float) -> Sample:
    """What a capture of facts tells of the node's load."""
    facts: Facts = parse(raw)
    memory = None if isinstance(facts.meminfo, Unread) else facts.memory.available_kib
    load = facts.gpu_load
    if isinstance(load, Unread):
        return Sample(node, at, available_kib=memory)
    busy = load.utilization_percent
    return Sample(node, at, load.clock_mhz, load.power_watts, load.temperature_celsius, memory, busy)
