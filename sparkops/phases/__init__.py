"""Phases: named generators of steps from a situation. `playbooks/deploy.yml` gives their order."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from sparkops.core.plan import Plan, Step
from sparkops.core.playbook.names import Names
from sparkops.core.playbook.values import StepsPlay
from sparkops.core.situation import Situation
from sparkops.core.turns import turns
from sparkops.phases import orphans, prepare, serve, verify
from sparkops.phases.in_turns import OF_A_TURN, numbered, repeated
from sparkops.phases.operator import compile_play
from sparkops.phases.settle import settle

PHASES: dict[str, Callable[[Situation], Iterator[Step]]] = {
    "make directories": prepare.directories,
    "write the proxy's configuration": prepare.proxy_config,
    "stop what is replaced": serve.quiesce,
    "write the API key": prepare.api_key,
    "free memory": serve.await_memory,
    "start containers": serve.start,
    "wait for the engines": serve.load,
    "ask the engines": verify.serve,
    "ask the endpoint": verify.serve_front,
    "note what is out of reach": orphans.note_unreachable,
    "settle": settle,
}


def compile_deploy(s: Situation, play: StepsPlay, known: Mapping[str, Names] | None = None) -> Plan:
    """The plan that starts the situation's revision; if it already serves, the plan only asks its APIs.

    Copies behind a proxy are replaced one after the other where `turns` says so.
    `play` is `playbooks/deploy.yml` or an operator's own; `known` are the names that its steps may use, by node.
    """
    replaces = sorted({f"{stored.deployment} {stored.hash[:8]}" for _, stored, _ in s.replaced})
    nodes = s.placement.nodes if known else ()
    built_in = {name: partial(make, s) for name, make in PHASES.items()}
    each = turns(s)
    if len(each) > 1:
        play = repeated(play, len(each))
        built_in |= {
            numbered(name, number, len(each)): partial(PHASES[name], turn)
            for number, turn in enumerate(each, 1)
            for name in OF_A_TURN
        }
    plan = compile_play(play, nodes, known or {}, built_in)
    return replace(plan, verb="deploy", revision=s.revision.data, replaces=", ".join(replaces) or None)
