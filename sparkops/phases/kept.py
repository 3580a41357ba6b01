"""Plans of verbs for containers already on the nodes: stop, start, rollback. They need only labels."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sparkops.core.facts import Container, Facts
from sparkops.core.plan import Plan, Step
from sparkops.core.playbook.values import StepsPlay
from sparkops.core.situation import Choices, state_dir
from sparkops.core.topology import WITHOUT_MODEL
from sparkops.node_commands import scripts
from sparkops.phases import parts
from sparkops.phases.beside import shares
from sparkops.phases.operator import compile_play
from sparkops.phases.orphans import leave_notes
from sparkops.phases.parts import DeployedRevision, NodeContainer
from sparkops.phases.serve import memory
from sparkops.phases.steps import step

Phases = dict[str, Callable[[], Iterator[Step]]]


def compile_stop(
    play: StepsPlay, facts: Mapping[str, Facts], targets: Iterable[DeployedRevision], kept: frozenset[str]
) -> Plan:
    """Stop the containers of revisions with these hashes, remove the others.

    Notes on the other nodes say what unreachable ones may still run.
    """
    targets = tuple(targets)
    stays = [part for one in targets if one.stored.hash in kept for part in (*one.running, *one.kept)]
    phases: Phases = {
        "stop containers": lambda: (
            parts.stop(facts, one.stored, *part, Choices()) for one in targets for part in one.running if part in stays
        ),
        "remove containers": lambda: (
            _remove(facts, one, *part) for one in targets for part in one.parts if part not in stays
        ),
        "leave a note for unreachable nodes": lambda: (
            step for one in targets for step in leave_notes(facts, one.stored)
        ),
    }
    return compile_kept(play, None, phases)


def compile_rollback(
    play: StepsPlay,
    facts: Mapping[str, Facts],
    current: Sequence[DeployedRevision],
    previous: Sequence[DeployedRevision],
    choices: Choices,
) -> Plan:
    """Stop `current` and start the containers of `previous` that do not run; the undo reverses both.

    `start` stops nothing; for what runs already it only waits and asks.
    """
    phases: Phases = {
        "stop what runs": lambda: (
            parts.stop(facts, one.stored, *part, choices) for one in current for part in one.running
        ),
        "free memory": lambda: free_memory(facts, [(one, part) for one in previous for part in one.kept]),
        "start what was kept": lambda: (parts.start(facts, one.stored, *part) for one in previous for part in one.kept),
        "wait for the engines": lambda: (
            step for one in previous for step in parts.waits(one, (*one.running, *one.kept), choices)
        ),
        "ask the endpoint": lambda: (step for one in previous for step in parts.asks(facts, one.stored, choices)),
    }
    return replace(compile_kept(play, previous, phases), replaces=", ".join(one.title for one in current) or None)


def compile_kept(play: StepsPlay, targets: Sequence[DeployedRevision] | None, phases: Phases) -> Plan:
    """The verb's phases in the order of its playbook."""
    revision = targets[0].stored.data if targets else None
    return replace(compile_play(play, (), {}, phases), verb=play.name, revision=revision)


def free_memory(
    facts: Mapping[str, Facts], started: Iterable[tuple[DeployedRevision, NodeContainer]]
) -> Iterator[Step]:
    """Wait for freed memory, which lags behind a stop, and drop caches: CUDA does not count what Linux could free."""
    needed: dict[str, float] = {}
    for one, (node, container) in started:
        if container.role not in WITHOUT_MODEL:
            needed[node] = needed.get(node, 0.0) + shares(one).get(node, 0.0)
    for node, whole in needed.items():
        yield memory(facts[node], node, min(whole, 1.0))
        yield step(f"drop-caches.{node}", node, "drop the page cache", scripts.drop_caches(None))


def _remove(facts: Mapping[str, Facts], target: DeployedRevision, node: str, container: Container) -> Step:
    stored = target.stored
    remove = scripts.container("remove", container.name, stored.deployment, state_dir(facts[node]), stored.drain)
    return step(f"remove.{node}.{container.name}", node, f"remove {container.name}", remove)
