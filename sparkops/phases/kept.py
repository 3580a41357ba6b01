"""Verbs over what the nodes already hold: stop it, or go back to what was kept. Their plans need labels only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from sparkops.commands import scripts
from sparkops.core.facts import Container, Facts
from sparkops.core.plan import Action, Phase, Plan, Secret, Step
from sparkops.core.situation import Choices, key_path, state_dir
from sparkops.phases import parts
from sparkops.phases.orphans import leave_notes
from sparkops.phases.parts import Kept
from sparkops.phases.prepare import write_key
from sparkops.phases.serve import DEFAULT_UTILIZATION, memory

OLD_KEY = Secret("old-api-key")


def compile_stop(facts: Mapping[str, Facts], targets: Iterable[Kept]) -> Plan:
    """Remove the targets' containers; for parts on nodes that did not answer a note is left on the others."""
    targets = tuple(targets)
    return _plan(
        "stop",
        None,
        ("remove containers", [_remove(facts, one, *part) for one in targets for part in one.parts]),
        ("leave a note for unreachable nodes", [step for one in targets for step in leave_notes(facts, one.stored)]),
        on_failure="go-on",
    )


def compile_rollback(facts: Mapping[str, Facts], current: Sequence[Kept], previous: Kept, choices: Choices) -> Plan:
    """Stop what runs and start what was kept before it; the undo goes back again."""
    return _plan(
        "rollback",
        previous,
        ("stop what runs", [parts.stop(facts, one, *part, choices) for one in current for part in one.running]),
        ("free memory", _free_memory(facts, previous)),
        ("start what was kept", [parts.start(facts, previous, *part) for part in previous.parts]),
        ("wait for the engines", parts.waits(previous, choices)),
        ("ask the endpoint", parts.asks(facts, previous.stored)),
        replaces=", ".join(one.title for one in current) or None,
    )


def compile_rotation(facts: Mapping[str, Facts], target: Kept, choices: Choices) -> Plan:
    """Write the new key wherever it is asked for, then start what read the old one anew; the undo restores the old."""
    running = replace(target, parts=target.running)
    holders = dict.fromkeys(member.name for member in target.stored.members if member.port is not None)
    return _plan(
        "key rotate",
        target,
        ("write the API key", [_rewrite_key(facts[node], node) for node in holders]),
        ("stop what uses the old one", [parts.stop(facts, target, *part, choices) for part in target.running]),
        ("free memory", _free_memory(facts, running)),
        ("start it again", [parts.start(facts, target, *part) for part in target.running]),
        ("wait for the engines", parts.waits(running, choices)),
        ("ask the endpoint", parts.asks(facts, target.stored) if target.runs else ()),
    )


def _plan(
    verb: str,
    target: Kept | None,
    *phases: tuple[str, Iterable[Step]],
    on_failure: Literal["undo", "go-on"] = "undo",
    replaces: str | None = None,
) -> Plan:
    made = (Phase(name, tuple(steps)) for name, steps in phases)
    revision = target.stored.data if target else None
    return Plan(verb, revision, tuple(phase for phase in made if phase.steps), on_failure, replaces)


def _free_memory(facts: Mapping[str, Facts], target: Kept) -> Iterator[Step]:
    """As before a first start: memory lags behind a stop, and CUDA does not count what Linux could free."""
    share = target.stored.data.get("args", {}).get("gpu-memory-utilization", DEFAULT_UTILIZATION)
    for node in dict.fromkeys(node for node, container in target.parts if container.role != "proxy"):
        yield memory(facts[node], node, float(share))
        drop = Action(scripts.drop_caches(None))
        yield Step(f"drop-caches.{node}", node, "drop the page cache", drop)


def _rewrite_key(facts: Facts, node: str) -> Step:
    return replace(write_key(facts, node), undo=Action(scripts.write(key_path(facts), "600", OLD_KEY)))


def _remove(facts: Mapping[str, Facts], target: Kept, node: str, container: Container) -> Step:
    remove = scripts.container("remove", container.name, target.stored.deployment, state_dir(facts[node]))
    return Step(f"remove.{node}.{container.name}", node, f"remove {container.name}", Action(remove))
