"""Undo steps in reverse order. A failure on a node never raises. An interrupt ends waits and the operator's own undo
commands; ours go on, so that no deployment is left half undone.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial

from sparkops.core.plan import Command, Event, EventKind, NodeLost, Result, Step, Undoing, Wait
from sparkops.remote import Cancel, World
from sparkops.remote.frame import LOCK_LOST, LOCK_LOST_TOLD
from sparkops.remote.waiting import Waiting

NOT_AWAITED = "sparkops did not wait until it was ready"


class Undo:
    """`undone` and `stuck` (the undo failed) name steps by id; a step without an undo is in neither.

    Of those undone, `revived` started something that serves again, `unawaited` something of which that is not known,
    `mute` something that is up and does not answer.
    """

    def __init__(self, world: World, emit: Callable[[Event], None], *, impatient: bool = False) -> None:
        self.undone: list[str] = []
        self.revived: list[str] = []
        self.unawaited: list[str] = []
        self.mute: list[str] = []
        self.stuck: list[str] = []
        self._world = world
        self._emit = emit
        self._waits = world.cancel()
        self._never = world.cancel()
        self._lost: set[str] = set()
        if impatient:
            self._waits.set()

    def all(self, phases: Sequence[Sequence[Step]]) -> None:
        """Undo the last phase first: all nodes at once, each node's steps in reverse order."""
        pending = [phase for phase in phases if any(step.undo for step in phase)]
        if pending:
            self._emit(Event("note", "rolling back"))
        while pending:
            try:
                self._phase(pending[-1])
                pending.pop()
            except KeyboardInterrupt:
                self._waits.set()  # the loop tries the rest of this phase again

    def _phase(self, steps: Sequence[Step]) -> None:
        self._lost.clear()
        ended = {*self.undone, *self.stuck}
        left = [step for step in reversed(steps) if step.undo is not None and step.id not in ended]
        nodes = dict.fromkeys(step.node for step in left)
        tasks = {node: partial(self._node, [step for step in left if step.node == node]) for node in nodes}
        if tasks:
            self._world.each(tasks, self._waits)

    def _node(self, steps: Sequence[Step], _cancel: Cancel) -> None:
        """A lost node gets one try in each phase; it may be back by the next one."""
        away: NodeLost | None = None
        for step in steps:
            if away is not None:
                self._stuck(step, away.reason)
                continue
            try:
                self._step(step)
            except NodeLost as lost:
                away = lost
                told = "it is unknown whether this step was undone" if lost.sent else "this step was not undone"
                self._stuck(step, f"{lost.reason}; {told}")
                self._lost.add(step.node)

    def _step(self, step: Step) -> None:
        assert step.undo is not None
        self._tell("undo", step, _words(step).doing)
        if step.undo.command is not None:
            result = self._send(step.node, step.undo.command)
            if not result.ok:
                self._stuck(step, _why(result))
                return
        if step.undo.wait is None:
            self._undone(step)
        else:
            self._wait(step, step.undo.wait)

    def _wait(self, step: Step, wait: Wait) -> None:
        waiting = Waiting(self._world, step.node, wait, lambda text: self._tell("progress", step, step.title, text))
        try:
            waited = waiting.until_ready(self._patience(step))
        except NodeLost as lost:
            self._stuck(step, f"{lost.reason}; it is unknown whether this step was undone")
            self._lost.add(step.node)
            return
        starts = step.undo is not None and step.undo.command is not None
        if waited.ready:
            told, but = self._answers(step)
            told.extend([step.id] if starts else [])
            self._undone(step, but)
        elif waited.cancelled:
            self.unawaited += [step.id] if starts else []
            self._undone(step, NOT_AWAITED)
        else:
            self._stuck(step, "\n".join(part for part in (waited.reason, waited.evidence) if part))

    def _answers(self, step: Step) -> tuple[list[str], str]:
        """Ask what came back, as the step says: the list that it belongs to, and what to tell."""
        proof = step.undo.proof if step.undo else None
        if proof is None:
            return self.revived, ""
        try:
            asked = Waiting(self._world, step.node, proof, lambda _: None).until_ready(self._patience(step))
        except NodeLost as lost:
            return self.unawaited, f"then {lost.reason}"
        if asked.cancelled:
            return self.unawaited, NOT_AWAITED
        return (self.revived, "") if asked.ready else (self.mute, "it does not answer")

    def _patience(self, step: Step) -> Cancel:
        return _Patience(self._waits, self._lost, step.undo.needs if step.undo else ())

    def _send(self, node: str, command: Command) -> Result:
        """An undo is safe to repeat: send it once more if the connection broke during the first try."""
        cancel = self._waits if command.ends else self._never
        try:
            return self._world.send(node, command, cancel)
        except NodeLost as lost:
            if not lost.sent:
                raise
            return self._world.send(node, command, cancel)

    def _undone(self, step: Step, but: str = "") -> None:
        self.undone.append(step.id)
        words = _words(step)
        title = f"{words.doing}: {but}" if but and words.doing else words.done
        self._tell("undone", step, title, but)

    def _stuck(self, step: Step, text: str) -> None:
        self.stuck.append(step.id)
        self._tell("stuck", step, _words(step).doing or f"undo: {step.title}", text)

    def _tell(self, kind: EventKind, step: Step, title: str, text: str = "") -> None:
        self._emit(Event(kind, text, step.node, step.id, title))


@dataclass(frozen=True)
class _Patience:
    """Ends a wait after an interrupt, and once one of the nodes is `lost` without which the wait is for nothing."""

    interrupt: Cancel
    lost: Set[str]
    needs: tuple[str, ...]

    def is_set(self) -> bool:
        return self.interrupt.is_set() or not self.lost.isdisjoint(self.needs)

    def set(self) -> None:
        self.interrupt.set()


def _words(step: Step) -> Undoing:
    return step.undoing or Undoing(f"undo: {step.title}", f"undone: {step.title}")


def _why(result: Result) -> str:
    if result.ended == "cancelled":
        return "an interrupt ended it"
    if LOCK_LOST in result.stderr:
        return LOCK_LOST_TOLD
    told = (result.stderr or result.stdout).strip()
    return "\n".join(part for part in (f"exit code {result.code}", told) if part)
