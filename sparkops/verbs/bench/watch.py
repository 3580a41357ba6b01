"""Samples the nodes during a benchmark, in a thread of its own."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from sparkops.core.bench.samples import Sample
from sparkops.core.facts import Unread, Unreadable, parse
from sparkops.core.plan import Command, NodeLost, Script
from sparkops.remote import Cancel
from sparkops.session import llama_benchy
from sparkops.session.session import Session


def watched(session: Session, nodes: Sequence[str], into: list[Sample]) -> AbstractContextManager[None]:
    """Append clock, power, temperature and memory to `into` until the block ends."""

    def look(at: float, end: Cancel) -> None:
        into.extend(found for node in nodes if (found := _sample(session, node, at, end)) is not None)

    return llama_benchy.tool().beside(look)


def _sample(session: Session, node: str, at: float, end: Cancel) -> Sample | None:
    """Return one sample; None if the node does not answer (`verify` asks its engine after the run)."""
    command = Command((Script("facts"), "--only", "gpu-load,meminfo"), reads=True, timeout=20.0)
    try:
        facts = parse(session.send(node, command, end).stdout)
    except (NodeLost, Unreadable):
        return None
    memory = None if isinstance(facts.meminfo, Unread) else facts.memory.available_kib
    load = facts.gpu_load
    if isinstance(load, Unread):
        return Sample(node, at, available_kib=memory)
    busy = load.utilization_percent
    return Sample(node, at, load.clock_mhz, load.power_watts, load.temperature_celsius, memory, busy)
