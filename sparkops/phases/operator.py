"""A play of steps as a plan: facts and vars are evaluated here, registered results during the run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from sparkops.core.inventory import Node
from sparkops.core.plan import Action, Command, Phase, Plan, RebootWait, Script, Step, Terms, Wait, Word
from sparkops.core.playbook.expression import Const, Expression
from sparkops.core.playbook.names import BadExpression, Names, Path, fill, parts, word
from sparkops.core.playbook.values import CopyFile, PlayStep, RebootNode, RunCommand, RunPhase, StepsPlay, Words
from sparkops.core.schema import did_you_mean
from sparkops.errors import UsageError

BuiltIn = Mapping[str, Callable[[], Iterator[Step]]]
"""The built-in phases by name, bound to their situation."""

_PROBE_SECONDS = 60.0

REBOOT = ("systemd-run", "--on-active=2", "systemctl", "reboot")
"""Begins when the command has ended, so that its result is known."""

BOOTED = (
    "sh",
    "-c",
    'boot=$(sysctl -n kernel.random.boot_id); test "$boot" != "$0" && echo ready || echo wait rebooting',
)


def compile_play(play: StepsPlay, nodes: Sequence[Node], known: Mapping[str, Names], built_in: BuiltIn) -> Plan:
    """Every step on every host, `serial` hosts at a time; `known` are the names for templates, by node."""
    batch = play.serial or len(nodes) or 1
    phases: list[Phase] = []
    for first in range(0, len(nodes) or 1, batch):
        for number, step in enumerate(play.steps, 1):
            phases.append(_phase(step, number, nodes[first : first + batch], first, known, built_in))
    return Plan("play", None, tuple(phase for phase in phases if phase.steps), on_failure=play.on_failure)


def as_check(plan: Plan) -> Plan:
    """The plan without commands that change anything. Conditions and reads stay, so the run shows its decisions."""
    phases = tuple(replace(phase, steps=tuple(_checked(step) for step in phase.steps)) for phase in plan.phases)
    return replace(plan, phases=phases, on_failure="drop")


def _phase(
    step: PlayStep, number: int, nodes: Sequence[Node], first: int, known: Mapping[str, Names], built_in: BuiltIn
) -> Phase:
    if isinstance(step.action, RunPhase):
        return Phase(step.name, _built_in(step, step.action.phase, built_in) if first == 0 else ())
    if step.run_once:
        nodes = nodes[:1] if first == 0 else []
    name = f"{number}. {step.name}"
    return Phase(step.name, tuple(_step(step, f"{name} on {node.name}", node, known[node.name]) for node in nodes))


def _built_in(step: PlayStep, name: str, built_in: BuiltIn) -> tuple[Step, ...]:
    if name not in built_in:
        raise UsageError(f"{step.where}: no such phase: {name!r}{did_you_mean(name, built_in)}")
    return tuple(built_in[name]())


def _step(step: PlayStep, identity: str, node: Node, known: Names) -> Step:
    try:
        return _Compiler(step, known).step(identity, node.name)
    except BadExpression as error:
        raise UsageError(f"{step.where}: step {step.name!r} on {node.name}: {error}", node=node.name) from None


class _Compiler:
    """One step on one node."""

    def __init__(self, step: PlayStep, known: Names) -> None:
        self.play_step = step
        self.known = known
        self.environment = tuple(f"{key}={fill(value, known)}" for key, value in step.environment.items())

    def step(self, identity: str, node: str) -> Step:
        spec = self.play_step
        when = spec.when.settle(self.known) if spec.when is not None else None
        if isinstance(when, Const) and not when.value:
            terms = Terms(when, register=spec.register, once=spec.run_once)
            return Step(identity, node, spec.name, Action(), terms=terms)
        undo = Action(self.command(spec.undo)) if spec.undo else None
        return Step(identity, node, spec.name, self.action(), undo, self.terms(when))

    def action(self) -> Action:
        spec = self.play_step
        if isinstance(spec.action, RebootNode):
            return self.reboot()
        command: Command | None = None
        if isinstance(spec.action, RunCommand):
            command = self.command(spec.action.words, reads=spec.action.reads)
        elif isinstance(spec.action, CopyFile):
            command = self.copy(spec.action, "put")
        wait = Wait(self.probe(), every=spec.delay, stall=self.patience, deadline=self.patience) if spec.until else None
        return Action(command, wait)

    def reboot(self) -> Action:
        """RebootNode as root, then wait for another boot ID than the one in the facts."""
        before = fill("{{ facts.boot.id }}", self.known)
        probe = Command((*BOOTED, before), reads=True, timeout=_PROBE_SECONDS)
        patience = self.play_step.timeout
        wait = RebootWait(probe, every=5.0, stall=patience, deadline=patience)
        return Action(Command(REBOOT, become=True), wait)

    def terms(self, when: Expression | None) -> Terms:
        spec = self.play_step
        unless = self.command(spec.unless, reads=True) if spec.unless else None
        if isinstance(spec.action, CopyFile) and unless is None:
            unless = self.copy(spec.action, "same")
        message = _message(spec.message, self.known) if spec.message else ()
        open_when = None if isinstance(when, Const) else when
        return Terms(open_when, unless, spec.register, message, spec.ignore_errors, spec.run_once)

    def command(self, words: Words, *, reads: bool = False) -> Command:
        return self.made(tuple(fill(word, self.known) for word in words), reads=reads)

    def copy(self, action: CopyFile, verb: str) -> Command:
        content = action.content if action.source else fill(action.content, self.known)
        words = (Script("copy"), verb, fill(action.dest, self.known), action.mode)
        return replace(self.made(words, reads=verb == "same"), stdin=content)

    def probe(self) -> Command:
        words = tuple(fill(word, self.known) for word in self.play_step.until)
        return replace(self.made((Script("until"), *words), reads=True), timeout=_PROBE_SECONDS)

    def made(self, words: tuple[Word, ...], *, reads: bool) -> Command:
        whole = ("env", *self.environment, *words) if self.environment else words
        spec = self.play_step
        return Command(whole, become=spec.become, reads=reads, timeout=spec.timeout, ends=not reads)

    @property
    def patience(self) -> float:
        return max(1.0, self.play_step.retries * self.play_step.delay)


def _message(text: str, known: Names) -> tuple[str | Path, ...]:
    """The message with known names filled in; names of results stay for the run."""
    return tuple(part if isinstance(part, str) or part[0] not in known else word(part, known) for part in parts(text))


def _checked(step: Step) -> Step:
    command = step.do.command
    if command is not None and not command.reads:
        command = None
    return replace(step, do=Action(command), undo=None)
