"""Make steps and plans from commands and waits."""

from collections.abc import Iterable, Mapping
from typing import Literal

from sparkops.core.plan import Action, Command, Phase, Plan, Step, Undoing, Wait

Does = Command | Wait | Action
QUIETLY = Undoing()
"""For undos that matter to nobody but sparkops."""


def step(name: str, node: str, title: str, do: Does, undo: Does | None = None, undoing: Undoing | None = None) -> Step:
    """A step; `do` and `undo` are each a command, a wait, or an `Action` of both."""
    return Step(name, node, title, _action(do), None if undo is None else _action(undo), undoing=undoing)


def _action(does: Does) -> Action:
    match does:
        case Command():
            return Action(does)
        case Wait():
            return Action(wait=does)
    return does


def plan(
    verb: str, phases: Mapping[str, Iterable[Step]], on_failure: Literal["undo", "stop", "go-on", "drop"] = "undo"
) -> Plan:
    return Plan(verb, None, filled(phases), on_failure)


def filled(phases: Mapping[str, Iterable[Step]]) -> tuple[Phase, ...]:
    """The phases that have steps."""
    made = (Phase(name, tuple(steps)) for name, steps in phases.items())
    return tuple(phase for phase in made if phase.steps)
