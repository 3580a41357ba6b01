"""A run's access to the nodes: inventory, connections, locks and facts, in this order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from sparkops.checks.docker import docker_hint, docker_problem
from sparkops.core import history, notes
from sparkops.core.condition import DOCKER_SILENT
from sparkops.core.facts import WHAT_RUNS, Facts, Unreadable, parse
from sparkops.core.facts.reading import grouped
from sparkops.core.history import PastRun
from sparkops.core.inventory import Inventory, Node
from sparkops.core.notes import Load
from sparkops.core.plan import Command, NodeLost, Plan, Result, Script, Word
from sparkops.core.printable import last_lines, printable_line
from sparkops.errors import Interrupted, Locked, SparkopsError, StepFailed, Unreachable
from sparkops.files import deployments
from sparkops.phases.sudo import become
from sparkops.remote import Cancel
from sparkops.remote.channel import Sink
from sparkops.remote.connect_errors import Unreached
from sparkops.remote.execute import Emit, Outcome, Status, execute
from sparkops.remote.gather import gather, in_lanes
from sparkops.remote.lock import owner_here
from sparkops.remote.network import Reach, network
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.away import OTHER_INVENTORY, AwayNodes, unreachable, unreadable

FACTS_SECONDS = 60.0
TELL_SECONDS = 60.0
"""How often a run that waits for a lock says so."""
SUDO_PASSWORD = "sudo needs a password: --ask-become-pass"


ENDED: Mapping[Status, int] = {
    "done": 0,
    "failed": StepFailed.exit_code,
    "lost": Unreachable.exit_code,
    "interrupted": Interrupted.exit_code,
}


@dataclass
class Session:
    """`selected` are the nodes that `--limit` names.

    `changed`: a plan of this run changed something on a node, and that was not undone. `wait`: seconds to wait for
    locks of other runs in all, `waited`: those that have passed. Known after `containers`, of the selected nodes:
    `cut_off`, the runs that never ended, and `under_way`, those that hold a lock; `told`: those of `cut_off` of which
    this run has warned.
    For the nodes' history: `trouble` is the exit code of the first plan that was not done, `load` what a deploy
    started; `deployment`, `settled`, `fleet_name` and `commit` are those of a `Note`.
    """

    inventory: Inventory
    selected: tuple[Node, ...]
    fleet: Reach
    report: Report
    secrets: dict[str, str]
    away: AwayNodes = field(default_factory=AwayNodes)
    locked: set[str] = field(default_factory=set)
    sudo_password: bool = False
    changed: bool = False
    wait: float = 0.0
    waited: float = 0.0
    cut_off: tuple[PastRun, ...] = ()
    under_way: tuple[PastRun, ...] = ()
    told: tuple[PastRun, ...] = ()
    load: Load | None = None
    deployment: str = ""
    settled: tuple[str, ...] = ()
    fleet_name: str = ""
    commit: str = ""
    trouble: int = 0

    @property
    def nodes(self) -> Mapping[str, Node]:
        return {node.name: node for node in self.inventory.nodes}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.selected)

    @property
    def lost(self) -> AwayNodes:
        """The selected nodes that could not be reached."""
        return self.away.among(self.names)

    @property
    def there(self) -> tuple[Node, ...]:
        """The selected nodes that are not known to be away."""
        return tuple(node for node in self.selected if node.name not in self.away)

    @property
    def sudo(self) -> frozenset[str]:
        return frozenset(node.name for node in self.inventory.nodes if node.become == "sudo")

    def require(self, nodes: Iterable[str]) -> None:
        """Raise Unreachable if some of these nodes are away or not in the inventory."""
        wanted = list(nodes)
        if error := self.away.among(wanted).error:
            raise error
        for name in wanted:
            if name not in self.nodes:
                text = f"{name} is not in the inventory {self.inventory.source}"
                raise Unreachable(text, node=name, hint=OTHER_INVENTORY)

    def lock(self, nodes: Iterable[str]) -> bool:
        """Take the locks of these nodes too, if they are reachable; whether another run had to end first.

        Then what was read before is old. A run that waits holds no lock, because two could wait for each other: it
        releases those that it has and takes all together.
        """
        wanted = [name for name in dict.fromkeys(nodes) if name not in self.away and name not in self.locked]
        if not wanted:
            return False
        begun, told = self.fleet.now() - self.waited, None
        while (held := self._taken(wanted)) is not None:
            self.waited = waited = self.fleet.now() - begun
            if waited >= self.wait:
                held.hint = "run the command again when that run has ended" if self.wait else held.hint
                raise held
            wanted += self._released(held)
            if told != (told := (held.message, waited // TELL_SECONDS)):
                self.report.note(f"waiting: {held.message}")
            self.fleet.pause(_pause(self.report.run), self.fleet.cancel())
        return told is not None

    def _taken(self, nodes: Sequence[str]) -> Locked | None:
        """Take the locks and note the begin of this run there; the error if another run has one of them."""
        owner = owner_here(self.report.run, self.now(), self.report.verb, self.report.typed)
        try:
            self.fleet.lock(owner, nodes)
        except Locked as held:
            return held
        self.locked.update(nodes)
        self.fleet.note(notes.line(owner.begin(self.report.masked(self.deployment))), nodes)
        return None

    def _released(self, held: Locked) -> list[str]:
        """Release all locks, until the run that holds another one ends; returns the nodes."""
        names = sorted(self.locked)
        if names:
            self.end(held.exit_code, held.message)
            self.fleet.unlock()
            self.locked.clear()
        return names

    def end(self, code: int, outcome: str) -> None:
        """Note on the locked nodes how the run ended; `outcome` is its error message, if any."""
        told = printable_line(self.report.masked(outcome), notes.OUTCOME)
        deployment, *settled = map(self.report.masked, (self.deployment, *self.settled))
        ended = notes.Note("end", self.report.run, self.now(), verb=self.report.verb, deployment=deployment)
        how = replace(
            ended, exit_code=code, changed=self.changed, outcome=told, fleet=self.fleet_name, commit=self.commit
        )
        note = replace(how, settled=tuple(dict.fromkeys(settled)), load=self.load)
        here, beside = self.locked.intersection(self.names), self.locked.difference(self.names)
        self.fleet.note(notes.line(note), sorted(here))
        named = tuple(one for one in note.settled if one != notes.EVERYTHING)
        self.fleet.note(notes.line(replace(note, settled=named)), sorted(beside))

    def about(self, deployment: str, load: Load | None = None, **hashes: Iterable[str]) -> None:
        """Note a deployment that the run is about; also, by the name of `Note`, the hashes of what it changes."""
        note = notes.Note("about", self.report.run, self.now(), deployment=self.report.masked(deployment), load=load)
        named = {name: tuple(some) for name, some in hashes.items()}
        self.fleet.note(notes.line(replace(note, **named)), sorted(self.locked))  # type: ignore[arg-type]

    def now(self) -> str:
        return datetime.fromtimestamp(network().clock(), UTC).isoformat(timespec="seconds")

    def facts(
        self, *, images: Sequence[str] = (), models: Sequence[str] = (), only: Iterable[str] = ()
    ) -> dict[str, Facts]:
        """The facts of every node that answers, in the order of the inventory; others are added to `away`.

        The first of `models` becomes `Facts.model`. `only` names the probes that are wanted; none: all.
        """
        return self.read({node.name: self.facts_command(node, images, models, only) for node in self.inventory.nodes})

    def read(
        self, asked: Mapping[str, Command], spans: dict[str, tuple[float, float]] | None = None
    ) -> dict[str, Facts]:
        """Facts by node from these commands; a node whose facts cannot be read is added to `away`."""
        found: dict[str, Facts] = {}
        for name, result in self.answers(asked, spans).items():
            try:
                found[name] = parse(result.stdout)
            except Unreadable as error:
                self.away[name] = unreadable(self.nodes[name], result, error)
        return found

    def containers(self, facts: Mapping[str, Facts] | None = None, but: Iterable[str] = ()) -> dict[str, Facts]:
        """The facts of nodes whose Docker answers; others are added to `away`, since what they run is unknown."""
        read, kept = self.facts() if facts is None else facts, frozenset(but)
        self._look_back(read)
        for name, known in read.items():
            if name not in kept and (problem := docker_problem(known)):
                why = SUDO_PASSWORD if "password is required" in problem else problem
                self.away[name] = Unreached(name, "config", f"{DOCKER_SILENT} ({why})", docker_hint(problem))
        found = {name: known for name, known in read.items() if name not in self.away}
        told = {name: known for name, known in found.items() if not docker_problem(known)}
        names = {name: [one.deployment or "" for one in known.containers if one.ours] for name, known in told.items()}
        deployments.note(self.inventory.source, names)
        return found

    def _look_back(self, facts: Mapping[str, Facts]) -> None:
        """Find the runs that were cut off on the selected nodes; a run with locks says so once."""
        past = {name: known.history for name, known in facts.items()}
        cut = (_where_it_matters(run, facts) for run in history.cut_off(past))
        found = tuple(run for run in cut if set(run.nodes) & set(self.names))
        self.cut_off = found
        self.under_way = tuple(run for run in history.runs(past) if run.runs and set(run.nodes) & set(self.names))
        if self.locked:
            self.warn_cut_off(run for run in found if run not in self.told)
            self.told = found

    def warn_cut_off(self, runs: Iterable[PastRun]) -> None:
        for run in runs:
            self.report.warn(history.cut_off_text(run.document))

    def what_runs(self, *more: str) -> dict[str, Facts]:
        """Facts about containers, so that a driver that hangs does not delay verbs that show or stop them.

        `more` are further probes that cannot hang.
        """
        return self.containers(self.facts(only=(*WHAT_RUNS, *more)))

    def behind_sudo(self, node: Node) -> bool:
        """Whether what reads Docker runs through sudo as a whole, because sudo needs a password."""
        return node.become == "sudo" and self.sudo_password

    def facts_command(
        self, node: Node, images: Sequence[str] = (), models: Sequence[str] = (), only: Iterable[str] = ()
    ) -> Command:
        """Reads Docker through `sudo -n`; if sudo needs a password, the whole script runs through sudo."""
        words: list[Word] = [Script("facts")]
        for image in images:
            words += ["--image", image]
        for model in models:
            words += ["--model", model]
        words += ["--cache", node.cache_dir] if node.cache_dir else []
        words += ["--only", ",".join(only)] if only else []
        whole = self.behind_sudo(node)
        words += ["--sudo"] if node.become == "sudo" and not whole else []
        return Command(tuple(words), reads=True, timeout=FACTS_SECONDS, become=whole)

    def ask(
        self, commands: Mapping[str, Command], spans: dict[str, tuple[float, float]] | None = None
    ) -> dict[str, Result | NodeLost]:
        """One reading command for each node, all at once; through sudo where the inventory wants it."""
        wanted = {node: self._as_login(node, command) for node, command in commands.items() if node not in self.away}
        return gather(self.fleet, wanted, spans)

    def ask_in_turns(self, *lists: Sequence[tuple[str, Command]]) -> list[list[Result | NodeLost | None]]:
        """Send lists of (node, command) at once; within a list, the commands of one node in turn.

        The answers are in the order of the commands; that of a node in `away` is None.
        """
        answers: list[list[Result | NodeLost | None]] = [[None] * len(commands) for commands in lists]
        there = (
            ((at, node), number)
            for at, commands in enumerate(lists)
            for number, (node, _) in enumerate(commands)
            if node not in self.away
        )
        lanes = {f"{node} {at}": (at, numbers) for (at, node), numbers in grouped(there).items()}
        asked = {
            lane: [(node, self._as_login(node, command)) for node, command in (lists[at][number] for number in numbers)]
            for lane, (at, numbers) in lanes.items()
        }
        for lane, found in (in_lanes(self.fleet, asked) if asked else {}).items():
            at, numbers = lanes[lane]
            for number, answer in zip(numbers, found, strict=True):
                answers[at][number] = answer
        return answers

    def answers(
        self, commands: Mapping[str, Command], spans: dict[str, tuple[float, float]] | None = None
    ) -> dict[str, Result]:
        """Like `ask`, for the nodes that answer; others are added to `away`."""
        told = self.ask(commands, spans)
        self.away.update({node: lost for node, lost in told.items() if isinstance(lost, NodeLost)})
        return {node: result for node, result in told.items() if isinstance(result, Result)}

    def send(self, node: str, command: Command, cancel: Cancel) -> Result:
        """One reading command; raises `NodeLost`."""
        return self.fleet.send(node, self._as_login(node, command), cancel)

    def follow(
        self, node: str, command: Command, sink: Sink, cancel: Cancel | None = None, hear: Sink | None = None
    ) -> Result:
        """One command; its output goes to `sink` and `hear` as it comes; raises `NodeLost`."""
        return self.fleet.follow(node, self._as_login(node, command), sink, cancel or self.fleet.cancel(), hear)

    def _as_login(self, node: str, command: Command) -> Command:
        return become(command) if node in self.sudo else command

    def run(self, plan: Plan, emit: Emit | None = None) -> Outcome:
        """Execute a plan. Failures on nodes are in the outcome; a bug is raised."""
        outcome = execute(plan, self.fleet, emit or self.report.emit)
        self.report.rest()
        changing = {step.id for step in plan.steps if step.changes}
        self.trouble = self.trouble or ENDED[outcome.status]
        self.changed |= not changing.isdisjoint(set(outcome.sent) - set(outcome.undone))
        return outcome

    def answer(self, document: Mapping[str, Any], error: SparkopsError | None = None) -> Answer:
        """The answer with the selected nodes that were not reached; their error comes before `error`."""
        return Answer({**document, "unreachable": self.lost.reasons}, error=self.lost.error or error)

    def one(self, node: str, command: Command, what: str) -> str:
        """The output of one reading command on one node; raises Unreachable or StepFailed."""
        return self.outputs({node: command}, what)[node]

    def outputs(self, commands: Mapping[str, Command], what: str) -> dict[str, str]:
        """The same for a command on each of several nodes, all at once."""
        told = self.ask(commands)
        for node in commands:
            result = told[node] if node in told else self.away[node]
            if not isinstance(result, Result):
                raise unreachable(result)
            if not result.ok:
                said = last_lines(result.stderr or result.stdout)
                raise StepFailed(f"{node}: {what}: {said or f'exit code {result.code}'}", node=node, step=what)
        return {node: result.stdout for node, result in told.items() if isinstance(result, Result)}


def _pause(run: str) -> float:
    """Seconds between two tries to lock: two runs that wait for the same nodes do not try in step."""
    return 1.0 + crc32(run.encode()) % 1000 / 500


def _where_it_matters(run: PastRun, facts: Mapping[str, Facts]) -> PastRun:
    """The run without the nodes that have nothing which it could have left half done."""
    if not run.begin.of_any:
        return run
    empty = {name for name, it in facts.items() if not docker_problem(it) and not any(c.ours for c in it.containers)}
    return replace(run, nodes=tuple(name for name in run.nodes if name not in empty))
