"""The plan that makes a fleet what its file says: one plan, and one undo, over all its deployments."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sparkops.core.facts import Facts
from sparkops.core.plan import Action, Phase, Plan, Secret, Step, Wait
from sparkops.core.situation import Choices, Situation
from sparkops.phases import PHASES, parts
from sparkops.phases.in_turns import OF_A_TURN, numbered
from sparkops.phases.orphans import compile_orphans, leave_notes
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.prepare import API_KEY
from sparkops.phases.rounds import Round, in_rounds, serves
from sparkops.phases.steps import filled

STOP, *START = OF_A_TURN


def compile_fleet(
    situations: Sequence[Situation],
    ends: Sequence[DeployedRevision],
    facts: Mapping[str, Facts],
    addresses: Mapping[str, str],
) -> Plan:
    """The plan for all deployments (`situations`) and for what must end; `addresses` are those of all nodes, by name.

    What can fail without harm to what serves comes first, what is no longer wanted ends last.
    """
    changing = [one for one in situations if not serves(one)]
    order = in_rounds(situations, ends)
    choices = situations[0].choices if situations else Choices()
    phases: dict[str, Iterable[Step]] = {
        name: _all(name, changing) for name in ("make directories", "write the proxy's configuration")
    }
    count = len(order.rounds)
    for number, one in enumerate(order.rounds, 1):
        named = _round(one, facts, choices)
        phases |= {numbered(name, number, count) if count > 1 else name: steps for name, steps in named.items()}
    phases["ask the endpoint"] = _all("ask the endpoint", situations)
    phases["stop what the fleet no longer has"] = _ended(order.last, facts, choices)
    away = [note for one in ends for note in leave_notes(facts, one.stored)]
    phases["note what is out of reach"] = [*_all("note what is out of reach", changing), *away]
    phases["settle"] = _all("settle", changing)
    wanted = {(member.name, one.revision.container(member)) for one in situations for member in one.revision.members}
    gone = [*(f"{stored.deployment} {stored.hash[:8]}" for s in situations for _, stored, _ in s.replaced)]
    gone += [one.title for one in ends]
    whole = (*compile_orphans(facts, addresses, wanted), *filled(phases))
    return Plan("apply", None, _once(whole), replaces=", ".join(sorted(set(gone))) or None)


def secret_of(deployment: str) -> Secret:
    """The API key of one deployment: those of a fleet may differ."""
    return Secret(f"{API_KEY.name} of {deployment}")


def _round(one: Round, facts: Mapping[str, Facts], choices: Choices) -> dict[str, list[Step]]:
    stops = [*_ended(one.ends, facts, choices), *_all(STOP, one.stops)]
    return {STOP: stops, **{name: _all(name, one.starts) for name in START}}


def _all(phase: str, situations: Iterable[Situation]) -> list[Step]:
    return [_owned(step, s.revision.deployment) for s in situations for step in PHASES[phase](s)]


def _ended(ends: Iterable[DeployedRevision], facts: Mapping[str, Facts], choices: Choices) -> list[Step]:
    # Servers first, as in `serve.quiesce`.
    return [
        parts.stop(facts, one.stored, node, container, choices)
        for one in ends
        for node, container in sorted(one.running, key=lambda part: part[1].role == "proxy")
    ]


def _owned(step: Step, deployment: str) -> Step:
    """The step with the deployment in its id, as several may have a step of one kind on a node; and with its key."""
    undo = step.undo and _action(step.undo, deployment)
    return replace(step, id=f"{step.id}/{deployment}", do=_action(step.do, deployment), undo=undo)


def _action(action: Action, deployment: str) -> Action:
    command = action.command
    if command and command.stdin == API_KEY:
        command = replace(command, stdin=secret_of(deployment))
    return replace(action, command=command, wait=_wait(action.wait, deployment))


def _wait(wait: Wait | None, deployment: str) -> Wait | None:
    return replace(wait, through=f"{wait.through}/{deployment}") if wait and wait.through else wait


def _once(phases: Iterable[Phase]) -> tuple[Phase, ...]:
    """Each phase without steps that another one of its steps does already, such as the removal of a container."""
    return tuple(replace(phase, steps=tuple(_different(phase.steps))) for phase in phases)


def _different(steps: Iterable[Step]) -> Iterator[Step]:
    seen: list[tuple[str, Action]] = []
    for step in steps:
        if step.do.wait or (step.node, step.do) not in seen:
            seen.append((step.node, step.do))
            yield step
