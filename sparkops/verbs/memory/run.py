"""`memory`: how each node's memory is used, the budgets of deployments, and how long the rest will last."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sparkops.core.facts import Facts, Unread, known
from sparkops.core.facts.gpu import GpuProcess
from sparkops.core.facts.schedule import drops
from sparkops.core.growth import SAMPLES, Growth, growth
from sparkops.core.plan import Command, NodeLost, Script
from sparkops.core.situation import deployed
from sparkops.core.utilization import UTILIZATION
from sparkops.errors import Interrupted
from sparkops.node_commands import caches
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import alone, connected, selected
from sparkops.session.session import Session
from sparkops.verbs.memory.options import MemoryOptions

AGAIN = "meminfo,gpu-processes"


def memory(options: MemoryOptions, report: Report) -> Answer:
    """Show memory once, or with `every` until interrupted."""
    with connected(alone(selected(options.where, report)), report) as session:
        facts = session.facts()
        grows = _growth(session, facts)
        answer = _answer(session, facts, grows)
        try:
            while options.every is not None:
                report.show(answer.document, anew=True)
                session.fleet.pause(options.every, session.fleet.cancel())
                facts = _again(session, facts)
                answer = _answer(session, facts, grows)
        except KeyboardInterrupt:
            return Answer({}, exit_code=Interrupted.exit_code)
        return answer


def _answer(session: Session, facts: Mapping[str, Facts], grows: Mapping[str, Growth | None]) -> Answer:
    rows = [_row(name, facts, grows.get(name)) for name in facts]
    return Answer({"nodes": rows, "unreachable": session.away.reasons}, error=session.away.error)


def _row(name: str, facts: Mapping[str, Facts], grows: Growth | None) -> dict[str, Any]:
    node = facts[name]
    if isinstance(node.meminfo, Unread):
        return {"name": name, "problem": node.meminfo.reason}
    found = node.meminfo
    owners = {container.id: container.deployment for container in node.containers if container.ours}
    left = grows.seconds_left(found.available_kib) if grows else None
    return {
        "name": name,
        "total_kib": found.total_kib,
        "available_kib": found.available_kib,
        "free_kib": found.free_kib,
        "page_cache_kib": found.page_cache_kib,
        "unaccounted_kib": found.unaccounted_kib,
        "swap_used_kib": found.swap_used_kib,
        "gpu_kib": _on_gpu(known(node.gpu_processes, ())),
        "gpu_processes": [
            {**asdict(process), "deployment": owners.get(process.container or "")}
            for process in known(node.gpu_processes, ())
        ],
        "budgets": list(_budgets(name, facts)),
        "growth": {key: round(value, 1) for key, value in asdict(grows).items()} if grows else None,
        "seconds_left": None if left is None else round(left),
    }


def _on_gpu(processes: Sequence[GpuProcess]) -> int | None:
    """Memory of all processes on the GPU; None if the driver does not tell the size of one."""
    sizes = [process.used_mib for process in processes]
    return None if None in sizes else 1024 * sum(size or 0 for size in sizes)


def _budgets(name: str, facts: Mapping[str, Facts]) -> Iterator[dict[str, Any]]:
    """Yield the budget of each deployment that runs here: its share of the whole memory."""
    for node, stored, container in deployed(facts):
        if node != name or not container.runs or container.role == "proxy":
            continue
        told = stored.data.get("args", {}).get("gpu-memory-utilization", UTILIZATION)
        share = float(told) if isinstance(told, int | float) else UTILIZATION
        kib = round(facts[name].memory.total_kib * share)
        yield {"deployment": stored.deployment, "container": container.name, "utilization": share, "kib": kib}


def _growth(session: Session, facts: Mapping[str, Facts]) -> dict[str, Growth | None]:
    """Read growth from the log of the scheduled drops; None without a log."""
    logs = session.ask({name: caches.runs(SAMPLES) for name in facts})
    return {
        name: None if isinstance(log, NodeLost) else growth(drops(log.stdout), facts[name].booted)
        for name, log in logs.items()
    }


def _again(session: Session, facts: Mapping[str, Facts]) -> dict[str, Facts]:
    """Read again what changes; a node that does not answer keeps its old values and is asked again next time."""
    ask = Command((Script("facts"), "--only", AGAIN), reads=True)
    for name in facts:
        session.away.pop(name, None)
    now = session.read(dict.fromkeys(facts, ask))
    return {
        name: replace(old, meminfo=now[name].meminfo, gpu_processes=now[name].gpu_processes) if name in now else old
        for name, old in facts.items()
    }
