"""A run's hold on the nodes: inventory, connections, lock and facts, opened in this order."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from sparkops.checks.docker import docker_hint, docker_problem
from sparkops.core.facts import WHAT_RUNS, Facts, Unreadable, parse
from sparkops.core.inventory import Inventory, Node
from sparkops.core.plan import Command, NodeLost, Plan, Result, Script, Word
from sparkops.core.target import Target
from sparkops.errors import Refused, StepFailed, Unreachable
from sparkops.files import inventory as load_inventory
from sparkops.phases.sudo import become
from sparkops.remote.connect_errors import Unreached
from sparkops.remote.execute import Emit, Outcome, execute
from sparkops.remote.gather import connect, gather
from sparkops.remote.lock import owner_here
from sparkops.remote.network import Reach, network
from sparkops.remote.ssh import Options
from sparkops.remote.trust import known_hosts_file
from sparkops.report.report import Report

FACTS_SECONDS = 60.0


@dataclass
class Session:
    """`away` says why a node could not be reached. `selected` are the nodes that `--limit` names.

    `changed`: a plan of this run changed something on a node, and that was not undone.
    """

    inventory: Inventory
    selected: tuple[Node, ...]
    fleet: Reach
    report: Report
    secrets: dict[str, str]
    away: dict[str, NodeLost] = field(default_factory=dict)
    locked: set[str] = field(default_factory=set)
    sudo_password: bool = False
    changed: bool = False

    @property
    def nodes(self) -> Mapping[str, Node]:
        return {node.name: node for node in self.inventory.nodes}

    @property
    def sudo(self) -> frozenset[str]:
        return frozenset(node.name for node in self.inventory.nodes if node.become == "sudo")

    def require(self, nodes: Iterable[str]) -> None:
        """Refuse to go on without these nodes."""
        for name in nodes:
            if name in self.away:
                raise unreachable(self.away[name])
            if name not in self.nodes:
                raise Unreachable(f"{name} is not in the inventory {self.inventory.source}", node=name)

    def lock(self, nodes: Iterable[str]) -> None:
        """Take the lock of these nodes, beside those already held."""
        wanted = [name for name in dict.fromkeys(nodes) if name not in self.away and name not in self.locked]
        if wanted:
            self.fleet.lock(owner_here(self.report.run), wanted)
            self.locked.update(wanted)

    def facts(
        self, *, images: Sequence[str] = (), model: str | None = None, only: Iterable[str] = ()
    ) -> dict[str, Facts]:
        """The facts of every node that answers, in the order of the inventory; who does not is added to `away`.

        `only` names the probes that are wanted; none: all.
        """
        return self.read({node.name: self.facts_command(node, images, model, only) for node in self.inventory.nodes})

    def read(
        self, asked: Mapping[str, Command], spans: dict[str, tuple[float, float]] | None = None
    ) -> dict[str, Facts]:
        """What these commands for facts tell."""
        found: dict[str, Facts] = {}
        for name, result in self.ask(asked, spans).items():
            if isinstance(result, NodeLost):
                self.away[name] = result
                continue
            try:
                found[name] = parse(result.stdout)
            except Unreadable as error:
                self.away[name] = _unreadable(name, result, error)
        return found

    def containers(self, facts: Mapping[str, Facts] | None = None, but: Iterable[str] = ()) -> dict[str, Facts]:
        """The facts of nodes whose Docker answers; nobody knows what the others run, so they count as away."""
        read, kept = self.facts() if facts is None else facts, frozenset(but)
        for name, known in read.items():
            if name not in kept and (problem := docker_problem(known)):
                self.away[name] = Unreached(name, "config", f"Docker cannot be used: {problem}", docker_hint(problem))
        return {name: known for name, known in read.items() if name not in self.away}

    def what_runs(self) -> dict[str, Facts]:
        """For verbs that look at deployments or end them: a driver that hangs does not hold them up."""
        return self.containers(self.facts(only=WHAT_RUNS))

    def facts_command(
        self, node: Node, images: Sequence[str] = (), model: str | None = None, only: Iterable[str] = ()
    ) -> Command:
        """Docker is read through `sudo -n`, or all of it through sudo where that takes a password."""
        words: list[Word] = [Script("facts")]
        for image in images:
            words += ["--image", image]
        words += ["--model", model] if model else []
        words += ["--cache", node.cache_dir] if node.cache_dir else []
        words += ["--only", ",".join(only)] if only else []
        whole = node.become == "sudo" and self.sudo_password
        words += ["--sudo"] if node.become == "sudo" and not whole else []
        return Command(tuple(words), reads=True, timeout=FACTS_SECONDS, become=whole)

    def ask(
        self, commands: Mapping[str, Command], spans: dict[str, tuple[float, float]] | None = None
    ) -> dict[str, Result | NodeLost]:
        """One reading command a node, all at once; through sudo where the inventory wants it."""
        wanted = {n: become(c) if n in self.sudo else c for n, c in commands.items() if n not in self.away}
        return gather(self.fleet, wanted, spans)

    def run(self, plan: Plan, emit: Emit | None = None) -> Outcome:
        """Execute a plan. Trouble on a node is in the outcome; a bug is raised."""
        outcome = execute(plan, self.fleet, emit or self.report.emit)
        changing = {step.id for step in plan.steps if step.changes}
        self.changed |= not changing.isdisjoint(set(outcome.sent) - set(outcome.undone))
        return outcome

    def one(self, node: str, command: Command, what: str) -> str:
        """The output of one reading command on one node; raises when there is none."""
        result = self.ask({node: command}).get(node)
        if result is None:
            raise unreachable(self.away[node])
        if isinstance(result, NodeLost):
            raise unreachable(result)
        if not result.ok:
            said = (result.stderr or result.stdout).strip()[-500:]
            raise StepFailed(f"{node}: {what}: {said or f'exit code {result.code}'}", node=node, step=what)
        return result.stdout


@dataclass(frozen=True)
class Selected:
    """The inventory and the nodes that `--limit` names; nothing is connected yet."""

    inventory: Inventory
    nodes: tuple[Node, ...]
    sudo_password: str | None


def selected(where: Target, report: Report) -> Selected:
    inventory = load_inventory.inventory(where.inventory)
    for warning in inventory.warnings:
        report.warn(warning)
    return Selected(inventory, inventory.select(where.limit), where.become_password)


def alone(chosen: Selected) -> Selected:
    """Only the selected nodes are connected to: another that is off is nobody's business here."""
    return replace(chosen, inventory=replace(chosen.inventory, nodes=chosen.nodes))


@contextmanager
def opened(chosen: Selected, report: Report) -> Iterator[Session]:
    """One connection to each node of the inventory, made by the first question to it, closed at the end."""
    secrets: dict[str, str] = {}
    report.hide(chosen.sudo_password)
    inventory = chosen.inventory
    with network().fleet(inventory.nodes, login(inventory.source, chosen.sudo_password, secrets)) as fleet:
        session = Session(
            inventory, chosen.nodes, fleet, report, secrets, sudo_password=chosen.sudo_password is not None
        )
        try:
            yield session
        except Refused as error:
            if not session.changed:
                raise
            # Exit code 3 promises that nothing was changed.
            raise StepFailed(error.message, node=error.node, hint=error.hint) from error


@contextmanager
def connected(chosen: Selected, report: Report) -> Iterator[Session]:
    """The same for verbs that must know who is `away` before they ask."""
    with opened(chosen, report) as session:
        session.away.update(connect(session.fleet, session.nodes))
        yield session


@contextmanager
def reached(where: Target, report: Report) -> Iterator[Session]:
    """The same for verbs that have nothing to judge before."""
    with connected(selected(where, report), report) as session:
        yield session


def login(inventory: str, sudo_password: str | None, secrets: Mapping[str, str]) -> Options:
    """How this person logs in: keys and `~/.ssh/config` of the home, pins beside the inventory."""
    home = Path.home()
    return Options(
        login=getpass.getuser(),
        home=home,
        known_hosts=(known_hosts_file(inventory), home / ".ssh" / "known_hosts"),
        ssh_config=Path(os.environ.get("SPARKOPS_SSH_CONFIG") or home / ".ssh" / "config"),
        sudo_password=sudo_password,
        secrets=secrets,
    )


def unreachable(lost: NodeLost) -> Unreachable:
    return Unreachable(f"{lost.node}: {lost.reason}", node=lost.node, hint=getattr(lost, "hint", None))


def _unreadable(node: str, result: Result, error: Unreadable) -> Unreached:
    """A wrong sudo password, a login shell that prints: what runs there nobody knows, and the others go on."""
    said = result.stderr.strip()[-500:]
    hint = None if said else f"`ssh {node} true` must print nothing: look into its login shell's files, as ~/.bashrc"
    return Unreached(node, "config", f"its facts cannot be read: {said or error}", hint)
