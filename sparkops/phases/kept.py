"""Plans of verbs for containers already on the nodes: stop, rollback, key rotation. They need only labels."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sparkops.core.facts import Container, Facts
from sparkops.core.plan import Plan, Step
from sparkops.core.playbook.values import StepsPlay
from sparkops.core.situation import Choices, state_dir
from sparkops.core.utilization import UTILIZATION
from sparkops.node_commands import scripts
from sparkops.phases import parts
from sparkops.phases.operator import compile_play
from sparkops.phases.orphans import leave_notes
from sparkops.phases.parts import DeployedRevision, NodeContainer
from sparkops.phases.prepare import write_key
from sparkops.phases.serve import memory
from sparkops.phases.steps import step

Phases = dict[str, Callable[[], Iterator[Step]]]


def compile_stop(play: StepsPlay, facts: Mapping[str, Facts], targets: Iterable[DeployedRevision]) -> Plan:
    """Remove the targets' containers; for those on unreachable nodes, leave a note on the other nodes."""
    targets = tuple(targets)
    phases: Phases = {
        "remove containers": lambda: (_remove(facts, one, *part) for one in targets for part in one.parts),
        "leave a note for unreachable nodes": lambda: (
            step for one in targets for step in leave_notes(facts, one.stored)
        ),
    }
    return _plan(play, None, phases)


def compile_rollback(
    play: StepsPlay,
    facts: Mapping[str, Facts],
    current: Sequence[DeployedRevision],
    previous: Sequence[DeployedRevision],
    choices: Choices,
) -> Plan:
    """Stop what runs and start what was kept before it; the undo reverses both."""
    phases: Phases = {
        "stop what runs": lambda: (
            parts.stop(facts, one.stored, *part, choices) for one in current for part in one.running
        ),
        "free memory": lambda: _free_memory(facts, [(one, part) for one in previous for part in one.kept]),
        "start what was kept": lambda: (parts.start(facts, one.stored, *part) for one in previous for part in one.kept),
        "wait for the engines": lambda: (step for one in previous for step in parts.waits(one, one.kept, choices)),
        "ask the endpoint": lambda: (step for one in previous for step in parts.asks(facts, one.stored, choices)),
    }
    return replace(_plan(play, previous, phases), replaces=", ".join(one.title for one in current) or None)


def compile_rotation(
    play: StepsPlay,
    facts: Mapping[str, Facts],
    targets: Sequence[DeployedRevision],
    nodes: Iterable[str],
    choices: Choices,
) -> Plan:
    """Write the new key on these nodes while no container with the old one runs; the undo restores the old key."""
    running = [one for one in targets if one.runs]
    held = [(one, part) for one in running for part in one.running]
    phases: Phases = {
        "stop what uses the old key": lambda: (parts.stop(facts, one.stored, *part, choices) for one, part in held),
        "write the API key": lambda: (write_key(facts[node], node) for node in nodes),
        "free memory": lambda: _free_memory(facts, held),
        "start it again": lambda: (parts.start(facts, one.stored, *part) for one, part in held),
        "wait for the engines": lambda: (step for one in running for step in parts.waits(one, one.running, choices)),
        "ask the endpoint": lambda: (step for one in running for step in parts.asks(facts, one.stored, choices)),
    }
    return _plan(play, targets, phases)


def _plan(play: StepsPlay, targets: Sequence[DeployedRevision] | None, phases: Phases) -> Plan:
    """The verb's phases in the order of its playbook."""
    revision = targets[0].stored.data if targets else None
    return replace(compile_play(play, (), {}, phases), verb=play.name, revision=revision)


def _free_memory(
    facts: Mapping[str, Facts], started: Iterable[tuple[DeployedRevision, NodeContainer]]
) -> Iterator[Step]:
    """Wait for freed memory, which lags behind a stop, and drop caches: CUDA does not count what Linux could free."""
    shares: dict[str, float] = {}
    for one, (node, container) in started:
        if container.role != "proxy":
            share = one.stored.data.get("args", {}).get("gpu-memory-utilization", UTILIZATION)
            shares[node] = shares.get(node, 0.0) + float(share)
    for node, whole in shares.items():
        yield memory(facts[node], node, min(whole, 1.0))
        yield step(f"drop-caches.{node}", node, "drop the page cache", scripts.drop_caches(None))


def removal(node: str, container: Container) -> str:
    """The id of the step that removes a container."""
    return f"remove.{node}.{container.name}"


def _remove(facts: Mapping[str, Facts], target: DeployedRevision, node: str, container: Container) -> Step:
    remove = scripts.container("remove", container.name, target.stored.deployment, state_dir(facts[node]))
    return step(removal(node, container), node, f"remove {container.name}", remove)
