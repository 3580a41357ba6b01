"""Verbs over what the nodes already hold: stop it, or go back to what was kept. Their plans need labels only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sparkops.commands import scripts
from sparkops.core.facts import Container, Facts
from sparkops.core.plan import Action, Phase, Plan, Step, Wait
from sparkops.core.situation import Choices, deployed, key_path, state_dir
from sparkops.core.stored import Stored, StoredMember
from sparkops.phases.orphans import leave_notes
from sparkops.phases.verify import ANSWER_STALL, FIRST_ANSWER, api_url, await_stored, health_path


@dataclass(frozen=True)
class Kept:
    """A revision on the nodes, with its containers: (node, container)."""

    stored: Stored
    parts: tuple[tuple[str, Container], ...]

    @property
    def runs(self) -> bool:
        return any(container.runs for _, container in self.parts)

    @property
    def complete(self) -> bool:
        """Every member's container is there, so that all of it can be started again."""
        have = {(node, container.name) for node, container in self.parts}
        return all((member.name, self.stored.container(member)) in have for member in self.stored.members)

    @property
    def ended(self) -> str:
        return max(container.finished_at for _, container in self.parts)

    @property
    def title(self) -> str:
        return f"{self.stored.deployment} {self.stored.hash[:8]}"


def kept(facts: Mapping[str, Facts]) -> tuple[Kept, ...]:
    """Every revision that the nodes hold, running or stopped, in the order of nodes."""
    found: dict[tuple[str, str], tuple[Stored, list[tuple[str, Container]]]] = {}
    for node, stored, container in deployed(facts):
        _, parts = found.setdefault((stored.deployment, stored.hash), (stored, []))
        parts.append((node, container))
    return tuple(Kept(stored, tuple(parts)) for stored, parts in found.values())


def compile_stop(facts: Mapping[str, Facts], targets: Iterable[Kept]) -> Plan:
    """Remove the targets' containers; for parts on nodes that did not answer a note is left on the others."""
    targets = tuple(targets)
    steps = [
        Step(
            f"remove.{node}.{container.name}",
            node,
            f"remove {container.name}",
            Action(scripts.container("remove", container.name, target.stored.deployment, state_dir(facts[node]))),
        )
        for target in targets
        for node, container in target.parts
    ]
    notes = [step for target in targets for step in leave_notes(facts, target.stored)]
    phases = (Phase("remove containers", tuple(steps)), Phase("leave a note for unreachable nodes", tuple(notes)))
    return Plan("stop", None, tuple(phase for phase in phases if phase.steps), on_failure="go-on")


def compile_rollback(facts: Mapping[str, Facts], current: Sequence[Kept], previous: Kept, choices: Choices) -> Plan:
    """Stop what runs and start what was kept before it; the undo goes back again."""
    stop = [
        _stop(facts, target, node, container, choices)
        for target in current
        for node, container in target.parts
        if container.runs
    ]
    start = [_start(facts, previous, node, container) for node, container in previous.parts]
    waits = [
        Step(f"load.{node}.{container.name}", node, f"wait for {container.name}", Action(wait=wait))
        for node, container in previous.parts
        if (wait := await_stored(previous.stored, node, container.name, choices)) is not None
    ]
    phases = (
        Phase("stop what runs", tuple(stop)),
        Phase("start what was kept", tuple(start)),
        Phase("wait for the engines", tuple(waits)),
        Phase("ask the endpoint", tuple(_asks(facts, previous.stored))),
    )
    replaces = ", ".join(target.title for target in current) or None
    return Plan("rollback", previous.stored.data, tuple(phase for phase in phases if phase.steps), replaces=replaces)


def _stop(facts: Mapping[str, Facts], target: Kept, node: str, container: Container, choices: Choices) -> Step:
    deployment, state = target.stored.deployment, state_dir(facts[node])
    undo = Action(
        scripts.container("start", container.name, deployment, state),
        await_stored(target.stored, node, container.name, choices),
    )
    end = Action(scripts.container("stop", container.name, deployment, state))
    return Step(f"stop.{node}.{container.name}", node, f"stop {container.name}", end, undo)


def _start(facts: Mapping[str, Facts], target: Kept, node: str, container: Container) -> Step:
    deployment, state = target.stored.deployment, state_dir(facts[node])
    begin = Action(scripts.container("start", container.name, deployment, state))
    undo = Action(scripts.container("stop", container.name, deployment, state))
    return Step(f"start.{node}.{container.name}", node, f"start {container.name}", begin, undo)


def _asks(facts: Mapping[str, Facts], stored: Stored) -> list[Step]:
    steps = []
    for front in stored.fronts:
        wait = Wait(
            scripts.serving(member_question(facts, stored, front), FIRST_ANSWER),
            stall=ANSWER_STALL,
            deadline=2.0 * FIRST_ANSWER,
        )
        steps.append(
            Step(
                f"ask.{front.name}.{front.role}",
                front.name,
                f"ask {stored.served} at {api_url(front)}",
                Action(wait=wait),
            )
        )
    return steps


def member_question(facts: Mapping[str, Facts], stored: Stored, member: StoredMember) -> scripts.Question:
    """What to ask the API of a stored revision's member; a restart that the facts show already is no new one."""
    name = stored.container(member)
    restarts = next((c.restarts or 0 for c in facts[member.name].containers if c.name == name and c.runs), 0)
    return scripts.Question(
        api=api_url(member),
        health=health_path(member.role),
        model=stored.served,
        kind=stored.kind,
        key=key_path(facts[member.name]),
        container=name,
        restarts=restarts,
        ray=len(stored.engines) if stored.ray and member.role == "head" else 0,
    )
