"""The simulated World: seeded turns, a virtual clock, losses and crashes before and after any send."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, Self

from sparkops.core.plan import Command, NodeLost, Result, Secret, Upload
from sparkops.remote import Cancel
from sparkops.remote.connect_errors import Kind, Unreached
from sparkops.remote.frame import LOCK_LOST
from sparkops.remote.interrupts import CancelFlag
from sparkops.remote.lock import Held, Owner, refusal
from sparkops.testing.boot import BootRule
from sparkops.testing.hub import SimulatedHub
from sparkops.testing.node import SimulatedNode
from sparkops.testing.schedule import Crash, ThreadSchedule
from sparkops.testing.scripts import COMMANDS, SCRIPTS, Handler
from sparkops.testing.shell import in_time
from sparkops.testing.upkeep import note

LATENCY = 0.05
REFUSED_BY_LOCK = 75


@dataclass(frozen=True)
class Trouble:
    """What happens at the `at`-th send (from 1).

    `lost-before`: the node is away, nothing was sent. `lost-unapplied` and `lost-applied`: the connection ends after
    the send, and the command did not run, or did. `crash-before`, `crash-after`: the control process is killed.
    `interrupt`: Ctrl-C. `meets`: another user does `then` at that time, for example over `beside()`. A lost node
    answers again after `away` virtual seconds.
    """

    kind: Literal["lost-before", "lost-unapplied", "lost-applied", "crash-before", "crash-after", "interrupt", "meets"]
    at: int
    away: float = float("inf")
    then: Callable[[], object] = bool


@dataclass(frozen=True)
class Sent:
    """One command that was sent, in the order in which the nodes got them; `applied` says that it ran there."""

    node: str
    command: Command
    applied: bool
    result: Result | None = None


class SimulatedWorld:
    """A World, and what else a Fleet offers (`lock`, `close`). `sent` has every command that went out.

    After a crash it is `dead`: every call raises Crash, and the locks are free. `survivors()` is a new control process
    for these nodes.
    """

    def __init__(
        self,
        nodes: Iterable[str] = ("spark1", "spark2"),
        *,
        seed: int = 0,
        troubles: Iterable[Trouble] = (),
        secrets: Mapping[str, str] | None = None,
        scripts: Mapping[str, Handler] = SCRIPTS,
        commands: Mapping[str, Handler] = COMMANDS,
    ) -> None:
        self.by_address: dict[str, SimulatedNode] = {}
        self.hub = SimulatedHub()
        self.nodes: dict[str, SimulatedNode] = {}
        for rank, name in enumerate(nodes, 1):
            address, fabric = f"192.0.2.{rank}", f"198.51.100.{rank}"
            node = SimulatedNode(name, address, fabric, scripts, commands, self.by_address)
            node.hub = self.hub
            self.nodes[name] = self.by_address[address] = node
        self.secrets: Mapping[str, str] = secrets or {}
        self._begin(seed, troubles)

    def _begin(self, seed: int, troubles: Iterable[Trouble]) -> None:
        self.seed = seed
        self.sent: list[Sent] = []
        self.waves = 0
        self.connections = 0
        self.locks = 0
        self.tries = 0
        self._schedule = ThreadSchedule(seed)
        self._troubles = {trouble.at: trouble for trouble in troubles}
        self._away: dict[str, float] = {}
        self._shut: dict[str, tuple[Kind, str]] = {}
        self._connected: set[str] = set()
        self._run: str | None = None
        self._locked: set[str] = set()
        self._interrupts = 0
        self._current: Cancel = CancelFlag()
        self._later: list[tuple[float, Callable[[], object]]] = []

    def survivors(self, *, seed: int = 0, troubles: Iterable[Trouble] = ()) -> "SimulatedWorld":
        """A new control process with these nodes as they are now, all reachable."""
        after = self.beside(seed=seed, troubles=troubles)
        self._free()
        return after

    def beside(self, *, seed: int = 0, troubles: Iterable[Trouble] = ()) -> "SimulatedWorld":
        """Another control process with these nodes, beside this one."""
        other = copy(self)
        other._begin(seed, troubles)
        other._schedule.now = self._schedule.now
        return other

    @property
    def dead(self) -> bool:
        return self._schedule.dead

    def boot(self, *rules: BootRule) -> None:
        """Add rules for how engines start, on every node."""
        for node in self.nodes.values():
            node.engine.boots.extend(rules)

    # what a World is

    def reach(self, node: str, cancel: Cancel) -> None:
        """Connect once; later commands use the same connection."""
        if cancel.is_set() or node in self._connected:
            return
        if lost := self._lost(node):
            self._schedule.yield_(LATENCY)
            raise lost
        self._connected.add(node)
        self.connections += 1

    def send(self, node: str, command: Command, cancel: Cancel) -> Result:
        self._schedule.yield_()
        if cancel.is_set():
            return Result("cancelled", -1)
        self.tries += 1
        self._happen()
        trouble = self._troubles.get(self.tries)
        if trouble is not None:
            self._before(trouble, node, command)
        if lost := self._lost(node):
            if lost.heals:
                self._schedule.yield_(LATENCY)
            raise lost
        result = self._apply(node, command)
        if trouble is not None:
            self._after(trouble, node)
        self._schedule.yield_(LATENCY)
        return result

    def follow(
        self,
        node: str,
        command: Command,
        sink: Callable[[bytes], None],
        cancel: Cancel,
        hear: Callable[[bytes], None] | None = None,
    ) -> Result:
        result = self.send(node, command, cancel)
        sink(result.stdout.encode())
        if hear is not None:
            hear(result.stderr.encode())
        return result

    def now(self) -> float:
        return self._schedule.now

    def pause(self, seconds: float, cancel: Cancel) -> None:
        self._schedule.yield_(seconds, cancel)

    def cancel(self) -> Cancel:
        return CancelFlag()

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()  # here an interrupt comes only during a send

    def each(self, tasks: Mapping[str, Callable[[Cancel], None]], cancel: Cancel) -> None:
        self.waves += 1
        self._current, self._interrupts = cancel, 0
        self._schedule.run({name: partial(task, cancel) for name, task in tasks.items()})
        if self._interrupts:
            raise KeyboardInterrupt(self._interrupts)

    # what a Fleet has besides

    def open(self, secrets: Mapping[str, str]) -> None:
        """Begin a new run with its own connections and secrets; `sent` keeps earlier commands."""
        self.secrets = secrets
        self._connected = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def lock(self, owner: Owner, nodes: Iterable[str] | None = None) -> None:
        """Like the fleet: lock all these nodes or none; another holder is reported before a lost node."""
        self._happen()
        wanted = list(self.nodes if nodes is None else nodes)
        states = {name: self._held(name, owner) or self._lost(name) for name in wanted}
        if refused := {name: error for name, error in states.items() if error is not None}:
            raise refusal(refused)
        self._run, self.locks = owner.run, self.locks + 1
        for name in wanted:
            self.nodes[name].lock, self.nodes[name].owner = owner.run, dict(vars(owner))
        self._locked.update(wanted)

    def note(self, line: str, nodes: Iterable[str]) -> None:
        """Like the fleet: a line for the history of each of these nodes whose lock this run holds."""
        for name in () if self.dead else nodes:
            if self.nodes[name].lock == self._run and self._lost(name) is None:
                note(self.nodes[name], line)

    def _held(self, name: str, owner: Owner) -> Held | None:
        node = self.nodes[name]
        if node.lock in (None, owner.run) or self._lost(name):
            return None
        return Held(name, node.owner if node.owner.get("run") == node.lock else {"run": node.lock})

    def unlock(self) -> None:
        """Like the fleet: release the locks."""
        self._free()
        self._run, self._locked = None, set()

    def close(self) -> None:
        self.unlock()

    # troubles

    def _lost(self, node: str) -> NodeLost | None:
        """Why the node cannot be reached now, or None."""
        if node in self._shut:
            return Unreached(node, *self._shut[node])
        if self._away.get(node, 0.0) > self._schedule.now or self.nodes[node].away(self._schedule.now):
            self._connected.discard(node)
            return NodeLost(node, "no answer from the node", sent=False)
        return None

    def lose(self, node: str, seconds: float = float("inf")) -> None:
        """From now on, for `seconds`, the node does not answer."""
        self._away[node] = self._schedule.now + seconds

    def heal(self, node: str) -> None:
        """End what `lose` or `shut` began."""
        self._away.pop(node, None)
        self._shut.pop(node, None)

    def shut(self, node: str, reason: str, kind: Kind = "auth") -> None:
        """From now on the node refuses every login; waiting does not help."""
        self._shut[node] = kind, reason

    def later(self, seconds: float, happens: Callable[[], object]) -> None:
        """Call `happens` at the first send after so many virtual seconds."""
        self._later.append((self._schedule.now + seconds, happens))

    def _happen(self) -> None:
        due = [happens for at, happens in self._later if at <= self._schedule.now]
        self._later = [one for one in self._later if one[0] > self._schedule.now]
        for happens in due:
            happens()

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._interrupts += 1
        self._current.set()

    def _before(self, trouble: Trouble, node: str, command: Command) -> None:
        match trouble.kind:
            case "crash-before":
                self.crash()
            case "interrupt":
                self.interrupt()
            case "meets":
                trouble.then()
            case "lost-before":
                self.lose(node, trouble.away)
            case "lost-unapplied" if self._away.get(node, 0.0) <= self._schedule.now:
                self.sent.append(Sent(node, command, applied=False))
                self._lose_in_the_middle(node, trouble)

    def _after(self, trouble: Trouble, node: str) -> None:
        if trouble.kind == "crash-after":
            self.crash()
        elif trouble.kind == "lost-applied":
            self._lose_in_the_middle(node, trouble)

    def _lose_in_the_middle(self, node: str, trouble: Trouble) -> None:
        self.lose(node, trouble.away)
        self._schedule.yield_(LATENCY)
        raise NodeLost(node, "the connection was lost before the command ended", sent=True)

    def crash(self) -> None:
        """Kill the control process."""
        self._schedule.dead = True
        self._free()
        raise Crash

    def _free(self) -> None:
        for node in self.nodes.values():
            if node.lock == self._run:
                node.lock = None

    def _apply(self, name: str, command: Command) -> Result:
        node = self.nodes[name]
        if name in self._locked and node.lock is None:  # it rebooted; a fleet takes the lock over its new connection
            node.lock = self._run
        if not command.reads and self._run is not None and node.lock != self._run:
            result = Result("exited", REFUSED_BY_LOCK, "", f"{LOCK_LOST}\n")
        else:
            result = in_time(node.run(command, self._stdin(command), self._schedule.now), command.timeout)
            if result.seconds:
                self._schedule.yield_(result.seconds)
        self.sent.append(Sent(name, command, applied=True, result=result))
        return result

    def _stdin(self, command: Command) -> str:
        if isinstance(command.stdin, Secret):
            return self.secrets[command.stdin.name]
        if isinstance(command.stdin, Upload):
            return Path(command.stdin.path).read_text(encoding="utf-8", errors="replace")
        return command.stdin or ""
