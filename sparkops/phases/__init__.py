"""Phases: named generators of steps over a situation. No steps, no phase in the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sparkops.core.plan import Phase, Plan, Step
from sparkops.core.situation import Situation
from sparkops.phases import orphans, prepare, serve, verify

PHASES: dict[str, Callable[[Situation], Iterator[Step]]] = {
    "make directories": prepare.directories,
    "write the API key": prepare.api_key,
    "write the proxy's configuration": prepare.proxy_config,
    "stop what is replaced": serve.quiesce,
    "free memory": serve.await_memory,
    "start containers": serve.start,
    "wait for the engines": serve.load,
    "ask the engines": verify.serve,
    "ask the endpoint": verify.serve_front,
    "note what is out of reach": orphans.note_unreachable,
    "settle": serve.settle,
}

DEPLOY = tuple(PHASES)


def compile_deploy(s: Situation) -> Plan:
    """The plan that brings the situation's revision up; only questions when it already serves."""
    replaces = sorted({f"{stored.deployment} {stored.hash[:8]}" for _, stored, _ in s.replaced})
    phases = tuple(phase for name in DEPLOY if (phase := Phase(name, tuple(PHASES[name](s)))).steps)
    return Plan("deploy", s.revision.data, phases, replaces=", ".join(replaces) or None)
