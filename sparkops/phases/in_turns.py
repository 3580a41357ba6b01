"""The phases of deploy from the stop to the first answer, which are done for one copy after the other."""

from dataclasses import replace

from sparkops.core.playbook.values import PlayStep, RunPhase, StepsPlay

OF_A_TURN = (
    "stop what is replaced",
    "write the API key",
    "free memory",
    "start containers",
    "wait for the engines",
    "ask the engines",
)


def can_repeat(play: StepsPlay) -> bool:
    """Whether the play has these phases and no step of its own between them: that would expect all nodes at once."""
    actions = [step.action for step in play.steps[_block(play)]]
    return actions == [RunPhase(phase) for phase in OF_A_TURN]


def repeated(play: StepsPlay, count: int) -> StepsPlay:
    """The play with these phases once for each turn, as `start containers (1 of 3)`."""
    block = _block(play)
    each = tuple(_numbered(step, number, count) for number in range(1, count + 1) for step in play.steps[block])
    return replace(play, steps=(*play.steps[: block.start], *each, *play.steps[block.stop :]))


def numbered(phase: str, number: int, count: int) -> str:
    return f"{phase} ({number} of {count})"


def _block(play: StepsPlay) -> slice:
    found = [at for at, step in enumerate(play.steps) if _of_a_turn(step)] or [0]
    return slice(found[0], found[-1] + 1)


def _of_a_turn(step: PlayStep) -> bool:
    return isinstance(step.action, RunPhase) and step.action.phase in OF_A_TURN


def _numbered(step: PlayStep, number: int, count: int) -> PlayStep:
    assert isinstance(step.action, RunPhase)
    phase = numbered(step.action.phase, number, count)
    return replace(step, name=numbered(step.name, number, count), action=RunPhase(phase))
