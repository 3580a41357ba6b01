"""The real world: all nodes at once over SSH, their locks, and interrupts."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import partial
from typing import Self

from sparkops.core.inventory import Node
from sparkops.core.plan import Command, NodeLost, Result, Upload
from sparkops.remote import Cancel
from sparkops.remote.channel import Sink
from sparkops.remote.connection import Connection
from sparkops.remote.frame import frame
from sparkops.remote.interrupts import CancelFlag, Interrupts
from sparkops.remote.lock import BEAT, Held, Hold, Owner, refusal
from sparkops.remote.ssh import Connector, Options

THREADS = 64
_A_DAY = 86_400.0
_GLANCE = 0.1
"""Seconds after which a pause notices a cancel."""


class Fleet:
    """A World (see `sparkops.remote`). As a context manager it ends by releasing the locks and closing connections."""

    def __init__(self, nodes: Iterable[Node], options: Options) -> None:
        self.waves = 0
        self.commands = 0
        self._options = options
        self._connector = Connector(options)
        self._connections: dict[str, Connection] = {}
        self._broken: dict[str, NodeLost] = {}
        for node in nodes:
            try:
                self._connections[node.name] = Connection(self._connector, self._connector.target(node), self._reopened)
            except NodeLost as error:
                self._broken[node.name] = error
        self._pool = ThreadPoolExecutor(max_workers=THREADS)  # several for one node: a wave may ask it in lanes
        self._owner: Owner | None = None
        self._holds: dict[str, Hold] = {}
        self._quit = threading.Event()
        self._heart: threading.Thread | None = None
        self._counting = threading.Lock()
        self._interrupts = Interrupts()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def connections(self) -> int:
        """How many SSH connections were opened in all."""
        return sum(link.connections for link in self._connections.values())

    def lock(self, owner: Owner, nodes: Iterable[str] | None = None) -> None:
        """Take the lock of these nodes (default: all) or of none of them; raises Locked or Unreachable.

        Locks that this run has already stay.
        """
        self._owner = owner
        refused: dict[str, Held | NodeLost] = {}
        taken: dict[str, Hold] = {}

        def take(name: str, _cancel: Cancel) -> None:
            hold = Hold(self._connections[name], owner)
            try:
                hold.take()
                taken[name] = hold
            except (Held, NodeLost) as error:
                refused[name] = error

        wanted = self._connections if nodes is None else tuple(nodes)
        try:
            self.each({name: partial(take, name) for name in wanted}, self.cancel())
        except KeyboardInterrupt:
            self._release(taken)
            raise
        if refused:
            self._release(taken)
            raise refusal(refused)
        self._holds |= taken
        if self._heart is None:
            self._heart = threading.Thread(target=self._beat, name="sparkops-heartbeat", daemon=True)
            self._heart.start()

    def note(self, line: str, nodes: Iterable[str]) -> None:
        """Add a line to the history of each of these nodes whose lock this run holds; no node is waited for."""
        for name in nodes:
            if hold := self._holds.get(name):
                hold.note(line)

    def unlock(self) -> None:
        """Release the locks; later commands that change something name no lock."""
        holds, self._holds = self._holds, {}
        self._release(holds)

    def _release(self, holds: Mapping[str, Hold]) -> None:
        list(self._pool.map(Hold.release, holds.values()))
        if not self._holds:
            self._owner = None

    def close(self) -> None:
        self._quit.set()
        self.unlock()
        list(self._pool.map(Connection.close, self._connections.values()))
        self._pool.shutdown(wait=True, cancel_futures=True)

    def reach(self, node: str, cancel: Cancel) -> None:
        if cancel.is_set():
            return
        if node in self._broken:
            raise self._broken[node]
        self._connections[node].connect()

    def send(
        self, node: str, command: Command, cancel: Cancel, sink: Sink | None = None, hear: Sink | None = None
    ) -> Result:
        if cancel.is_set():
            return Result("cancelled", -1)
        if node in self._broken:
            raise self._broken[node]
        hold = self._holds.get(node)
        if hold is not None and not command.reads and hold.ended and hold.link.alive:
            self._reopened(hold.link)
        run = self._owner.run if self._owner else None
        framed = frame(command, run, self._options.secrets, self._options.sudo_password)
        with self._counting:
            self.commands += 1
        droppable = command.reads or command.ends or isinstance(command.stdin, Upload)
        return self._connections[node].run(framed, command.timeout, cancel if droppable else None, sink, hear)

    def follow(self, node: str, command: Command, sink: Sink, cancel: Cancel, hear: Sink | None = None) -> Result:
        """Run a command until it ends or is cancelled; pass stdout to `sink` and stderr to `hear` as they come."""
        endless = Command(command.words, command.stdin, command.become, reads=True, timeout=_A_DAY)
        return self.send(node, endless, cancel, sink, hear)

    def now(self) -> float:
        return time.monotonic()

    def pause(self, seconds: float, cancel: Cancel) -> None:
        end = time.monotonic() + seconds
        while not cancel.is_set() and (left := end - time.monotonic()) > 0:
            time.sleep(min(_GLANCE, left))

    def cancel(self) -> Cancel:
        return CancelFlag()

    def held(self) -> AbstractContextManager[None]:
        return self._interrupts.held()

    def each(self, tasks: Mapping[str, Callable[[Cancel], None]], cancel: Cancel) -> None:
        self.waves += 1
        with self._interrupts.wave(cancel):
            futures = [self._pool.submit(task, cancel) for task in tasks.values()]
            self._watch(futures, cancel)
        for future in futures:
            future.result()

    def beside(self, tasks: Mapping[str, Callable[[Cancel], None]], cancel: Cancel) -> None:
        """Run each task in a thread of its own and return at once; they end soon after `cancel` is set."""
        for name, task in tasks.items():
            threading.Thread(target=task, args=(cancel,), name=f"sparkops-{name}", daemon=True).start()

    def _watch(self, futures: list[Future[None]], cancel: Cancel) -> None:
        """Wait in short steps, so that Ctrl-C reaches the main thread on every platform; a bug cancels the others."""
        pending = set(futures)
        while pending:
            done, pending = wait(pending, timeout=0.5)
            if any(future.exception() for future in done):
                cancel.set()

    def _reopened(self, link: Connection) -> None:
        """Take a node's lock again after a new connection or a lost heartbeat.

        If another run has or had it by now, the node refuses our commands: they may not fit what that run did.
        """
        owner, name = self._owner, link.target.name
        if owner is None or name not in self._holds:
            return
        try:
            hold = Hold(link, owner)
            hold.take(again=True)
            self._holds[name] = hold
        except (Held, NodeLost):
            return

    def _beat(self) -> None:
        while not self._quit.wait(BEAT):
            for hold in tuple(self._holds.values()):
                if hold.ended and hold.link.alive:  # this machine slept
                    self._reopened(hold.link)
                hold.beat()
