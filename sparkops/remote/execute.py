"""Execute a plan over a World: send each step, wait, and on failure undo every step that was sent. No IO of its own."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Literal

from sparkops.core.plan import Event, EventKind, NodeLost, Phase, Plan, Result, Step, Wait
from sparkops.core.playbook.names import BadExpression
from sparkops.remote import Cancel, World
from sparkops.remote.frame import LOCK_LOST, LOCK_LOST_TOLD
from sparkops.remote.step_conditions import Registered
from sparkops.remote.undo import Undo
from sparkops.remote.waiting import Waiting, answer

Emit = Callable[[Event], None]
Status = Literal["done", "failed", "lost", "interrupted"]

SILENT = "sparkops: this node does not answer any more"
"""In the place of the log of a node that went away before another one failed."""


@dataclass(frozen=True)
class StepFailure:
    """The first failure on a node. `result` is that of the command or of the last probe, if one ended."""

    node: str
    step: str
    title: str
    reason: str
    evidence: str = ""
    result: Result | None = None
    lost: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a plan ended. Steps are named by id.

    `stuck`: their undo failed. `unknown`: the node was lost while they were sent, and they were not undone. Some of
    `undone` started something again: `revived` serve again, `mute` are up and do not answer, `unawaited` were not
    waited for.
    """

    status: Status
    failures: tuple[StepFailure, ...] = ()
    undone: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    revived: tuple[str, ...] = ()
    unawaited: tuple[str, ...] = ()
    mute: tuple[str, ...] = ()


def execute(plan: Plan, world: World, emit: Emit) -> Outcome:
    """Never raises for trouble on a node or for an interrupt; `emit` is called from several threads, one at a time."""
    with world.held():
        return _executed(plan, world, _one_at_a_time(emit))


def _executed(plan: Plan, world: World, emit: Emit) -> Outcome:
    run = _Run(plan, world, emit)
    interrupts = 0
    try:
        run.forward()
    except KeyboardInterrupt as stop:
        interrupts = stop.args[0] if stop.args else 1
    except Exception:  # after a bug of sparkops, undo too, so that no half deployment is left
        _undo(run, plan, world, impatient=False)
        raise
    status = run.status(interrupted=interrupts > 0)
    if status == "done":
        return Outcome("done", sent=tuple(run.sent))
    undo = _undo(run, plan, world, impatient=interrupts > 1)
    unknown = tuple(step for step in run.unknown if step not in undo.undone)
    return Outcome(
        status,
        tuple(run.failures),
        tuple(undo.undone),
        tuple(undo.stuck),
        unknown,
        tuple(run.sent),
        tuple(undo.revived),
        tuple(undo.unawaited),
        tuple(undo.mute),
    )


def _undo(run: "_Run", plan: Plan, world: World, *, impatient: bool) -> Undo:
    undo = Undo(world, run.emit, impatient=impatient)
    if plan.on_failure == "undo":
        undo.all([[step for step in phase.steps if step.id in run.sent] for phase in plan.phases])
    return undo


class _Run:
    """The plan's steps in order. `sent` has each step whose command was sent or whose wait began."""

    def __init__(self, plan: Plan, world: World, emit: Emit) -> None:
        self.emit = emit
        self.sent: list[str] = []
        self.unknown: list[str] = []
        self.failures: list[StepFailure] = []
        self._plan = plan
        self._world = world
        self._registered = Registered()
        self._dropped: set[str] = set()
        self._ready: set[str | None] = set()
        """Steps whose wait is done."""
        self._stopped = threading.Event()

    def forward(self) -> None:
        everywhere = tuple(dict.fromkeys(step.node for step in self._plan.steps))
        phases = self._plan.phases
        for number, (phase, following) in enumerate(zip_longest(phases, phases[1:]), 1):
            data = {"number": number, "of": len(phases), "next": following and following.name}
            self.emit(Event("phase", step=phase.name, data=data))
            for nodes in _turns(phase):
                self._each(phase, nodes)
                if self._ends_after(nodes):
                    return
            self._registered.share(phase.steps, everywhere)

    def _ends_after(self, nodes: Iterable[str]) -> bool:
        if self._plan.on_failure == "drop":
            return self._dropped.issuperset(nodes)
        return bool(self.failures) and self._plan.on_failure != "go-on"

    def status(self, interrupted: bool) -> Status:
        if interrupted:
            return "interrupted"
        if not self.failures:
            return "done"
        return "lost" if any(failure.lost for failure in self.failures) else "failed"

    def _each(self, phase: Phase, nodes: Iterable[str]) -> None:
        left = [node for node in nodes if node not in self._dropped]
        tasks = {node: partial(self._node, [step for step in phase.steps if step.node == node]) for node in left}
        self._world.each(tasks, self._world.cancel())

    def _node(self, steps: list[Step], cancel: Cancel) -> None:
        """One node's steps in order; a failure cancels what other nodes have not sent yet, as `on_failure` says."""
        for step in steps:
            if step.node in self._dropped:
                return
            if cancel.is_set():
                self._tell("skipped", step)
                continue
            if failure := self._step(step, cancel):
                self.failures.append(failure)
                if self._plan.on_failure == "drop":
                    self._dropped.add(step.node)
                    return
                if self._plan.on_failure != "go-on" and not cancel.is_set():
                    self._stopped.set()
                    cancel.set()

    def _step(self, step: Step, cancel: Cancel) -> StepFailure | None:
        try:
            verdict = self._registered.verdict(step, self._world, cancel)
        except NodeLost as lost:
            self._tell("lost", step, f"{lost.reason}; this step was not sent")
            return StepFailure(step.node, step.id, step.title, lost.reason, lost=True)
        except BadExpression as error:
            return self._failed(step, f"its condition (`when`) cannot be evaluated: {error}", "", None)
        if verdict != "run":
            self._tell(verdict, step, "its condition is false" if verdict == "skipped" else "")
            return None
        failure = self._run(step, cancel)
        if failure is None and (message := self._registered.message(step)):
            self._tell("note", step, message)
        ignored = failure is not None and not failure.lost and step.terms is not None and step.terms.ignore_errors
        return None if ignored else failure

    def _run(self, step: Step, cancel: Cancel) -> StepFailure | None:
        self._tell("start", step)
        self.sent.append(step.id)
        result, failure = self._command(step, cancel)
        if result is not None:
            self._registered.keep(step, result)
        if failure is None and step.id in self.sent and step.do.wait is not None:
            return self._wait(step, step.do.wait, cancel)
        if failure is None and step.id in self.sent:
            self._tell("done", step, result.stdout if result else "")
        return failure

    def _command(self, step: Step, cancel: Cancel) -> tuple[Result | None, StepFailure | None]:
        if step.do.command is None:
            return None, None
        try:
            # Ctrl-C ends an operator's command that changes something; a failure elsewhere does not.
            ending = _Interrupt(cancel, self._stopped) if step.do.command.ends else cancel
            result = self._world.send(step.node, step.do.command, ending)
        except NodeLost as lost:
            return None, self._lost(step, lost)
        if result.ended == "cancelled" and step.changes and step.do.command.ends:
            return None, self._failed(step, "an interrupt ended it", "", result)
        if result.ended == "cancelled":
            self.sent.remove(step.id)
            self._tell("skipped", step)
            return None, None
        if not result.ok:
            return result, self._failed(step, _reason(result), (result.stderr or result.stdout).strip(), result)
        return result, None

    def _wait(self, step: Step, wait: Wait, cancel: Cancel) -> StepFailure | None:
        def spared() -> bool:
            return wait.through in self._ready

        waiting = Waiting(self._world, step.node, wait, lambda text: self._tell("progress", step, text), spared)
        try:
            waited = waiting.until_ready(cancel)
        except NodeLost as lost:
            if spared():
                self._go_on_without(step, f"{lost.reason}; the model serves")
                return None
            self._tell("lost", step, f"{lost.reason}; it is unknown whether this step succeeded")
            return StepFailure(step.node, step.id, step.title, lost.reason, lost=True)
        if waited.cancelled:
            return self._last_look(step, wait)
        if not waited.ready:
            return self._failed(step, waited.reason, waited.evidence, waited.result)
        self._ready.add(step.id)
        self._tell("done", step, waited.evidence)
        return None

    def _go_on_without(self, step: Step, why: str) -> None:
        """Leave out what the plan has still to do on this node."""
        self._dropped.add(step.node)
        self.emit(Event("done", node=step.node, step=step.id, title=step.title, data={"result": "not awaited"}))
        self.emit(Event("warning", f"{why}, so this run goes on without this node", step.node))

    def _last_look(self, step: Step, wait: Wait) -> StepFailure | None:
        """Probe once more when another node failed first: an engine that ended or still waits here may be the cause."""
        evidence = ""
        if self.failures:
            try:
                result = self._world.send(step.node, wait.probe, self._world.cancel())
            except NodeLost:
                evidence = SILENT
            else:
                last = answer(result)
                if last.word == "never":
                    return self._failed(step, last.reason, last.evidence, result)
                if last.word == "wait":
                    evidence = last.evidence
        stopped = "sparkops stopped waiting for this step"
        self.emit(Event("skipped", stopped, step.node, step.id, step.title, {"log": evidence}))
        return None

    def _failed(self, step: Step, reason: str, evidence: str, result: Result | None) -> StepFailure:
        self._tell("failed", step, "\n".join(part for part in (reason, evidence) if part))
        return StepFailure(step.node, step.id, step.title, reason, evidence, result)

    def _lost(self, step: Step, lost: NodeLost) -> StepFailure:
        """The node was lost; if the command was sent and changes something, it is unknown whether it ran."""
        if lost.sent and step.changes:
            self.unknown.append(step.id)
            told = "it is unknown whether this step was done"
        else:
            self.sent.remove(step.id)
            told = "this step was not sent" if not lost.sent else "this step changes nothing"
        self._tell("lost", step, f"{lost.reason}; {told}")
        return StepFailure(step.node, step.id, step.title, lost.reason, lost=True)

    def _tell(self, kind: EventKind, step: Step, text: str = "") -> None:
        self.emit(Event(kind, text, step.node, step.id, step.title))


@dataclass(frozen=True)
class _Interrupt:
    """Set by Ctrl-C, but not by a failure on another node (`stopped`)."""

    cancel: Cancel
    stopped: threading.Event

    def is_set(self) -> bool:
        return self.cancel.is_set() and not self.stopped.is_set()

    def set(self) -> None:
        self.cancel.set()


def _turns(phase: Phase) -> list[list[str]]:
    """Groups of nodes that run at once: all, or one after the other."""
    nodes = list(dict.fromkeys(step.node for step in phase.steps))
    if phase.serial:
        return [[node] for node in nodes]
    return [nodes] if nodes else []


def _reason(result: Result) -> str:
    if result.ended == "timeout":
        return "the command exceeded its time limit and was stopped"
    if LOCK_LOST in result.stderr:
        return LOCK_LOST_TOLD
    return f"exit code {result.code}"


def _one_at_a_time(emit: Emit) -> Emit:
    lock = threading.Lock()

    def guarded(event: Event) -> None:
        with lock:
            emit(event)

    return guarded
