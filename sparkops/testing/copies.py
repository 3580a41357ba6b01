"""Copies from node to node (`relay.sh`): keys, chains of jobs, progress and failures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sparkops.core.plan import Result, Word
from sparkops.testing.node import SimulatedJob, SimulatedNode, said

RATE = 1_000_000_000.0
"""Bytes per virtual second."""
NOBODY_CAME = 60.0
MARK = "sparkops-copy:"

Taker = Callable[[SimulatedNode, "SimulatedCopy", tuple[str, ...]], str]
"""Takes in what a copy has received; returns the error, or ""."""


def relay(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
    """`relay left|open|hand|close STATE_DIR …`."""
    verb, state, *given = (str(word) for word in words)
    if verb == "left":
        found = {path.split("/")[-2] for path in node.files if path.startswith(f"{state}/relay/")}
        gone = [name for name in found | _admitted(node) if name not in node.jobs or node.jobs[name].code is not None]
        return said("".join(f"{name}\n" for name in sorted(gone)))
    if verb == "open":
        node.files[_keys(node)] = f"{node.files.get(_keys(node), '')}{stdin.strip()} {MARK}{given[0]}\n"
    elif verb == "hand":
        node.files[f"{state}/relay/{given[0]}/key"] = stdin
    for name in given if verb == "close" else ():
        if name not in node.jobs or node.jobs[name].code is not None:
            forget(node, state, name)
    return said()


def _keys(node: SimulatedNode) -> str:
    return f"{node.home}/.ssh/authorized_keys"


def _admitted(node: SimulatedNode) -> set[str]:
    return {line.rpartition(MARK)[2] for line in node.files.get(_keys(node), "").splitlines() if MARK in line}


def forget(node: SimulatedNode, state: str, name: str) -> None:
    for path in [path for path in node.files if path.startswith(f"{state}/relay/{name}/")]:
        del node.files[path]
    lines = node.files.get(_keys(node), "").splitlines(keepends=True)
    node.files[_keys(node)] = "".join(line for line in lines if not line.endswith(f" {MARK}{name}\n"))


@dataclass
class SimulatedCopy:
    """One node's part of a copy: the bytes passed so far, and the next node."""

    node: SimulatedNode
    name: str
    state: str
    size: float
    next: SimulatedNode | None
    take: "Callable[[SimulatedCopy], str] | None"
    began: float
    item: str = ""
    address: str = ""
    stopped: float | None = field(default=None, init=False)
    taken: bool = field(default=False, init=False)

    @property
    def before(self) -> "SimulatedCopy | None":
        """The part of the node that sends to this one."""
        for node in self.node.neighbours.values():
            part = node.jobs[self.name].work if self.name in node.jobs else None
            if isinstance(part, SimulatedCopy) and part.next is self.node:
                return part
        return None

    def passed(self, now: float) -> float:
        until = min(now, now if self.stopped is None else self.stopped)
        own = min(self.size, RATE * max(0.0, until - self.began))
        if self.take is None:
            return own
        return min(own, self.before.passed(until)) if self.before else 0.0

    def origin(self) -> "SimulatedCopy":
        """The first part of the chain."""
        return self.before.origin() if self.before else self

    def look(self, now: float, log: list[str]) -> int | None:
        code = self._taking(now, log) if self.take is not None and not self.taken else 0
        if code == 0 and self.passed(now) < self.size and self.take is None:
            log.append(f"progress: sent {self.passed(now) / 1e9:.1f} GB")
            code = None
        if code == 0:
            code = self._next_took(now, log)
        if code is not None:
            self.stopped = now
            forget(self.node, self.state, self.name)
        return code

    def _taking(self, now: float, log: list[str]) -> int | None:
        assert self.take is not None
        passed, before = self.passed(now), self.before
        if passed < self.size:
            log.append(f"progress: received {passed / 1e9:.1f} GB")
            if before is None and now - self.began < NOBODY_CAME:
                return None
            if before is not None and (before.stopped is None or before.passed(now) > passed):
                return None
            said = "the sending node did not connect" if before is None else "ended with exit code 1"
        else:
            said = self.take(self.origin())
            self.taken = not said
        if said:
            log.append(f"sparkops: {said}")
        return 1 if said else 0

    def _next_took(self, now: float, log: list[str]) -> int | None:
        if self.next is None:
            return 0
        job: SimulatedJob | None = self.next.jobs.get(self.name)
        code = job.look(now) if job else 1
        if code:
            log.append(f"sparkops: {self.address} did not receive all data (exit code {code})")
            return 1
        return code

    def stop(self, killed: bool) -> None:
        self.stopped = self.node.now
        if not killed:
            forget(self.node, self.state, self.name)


def starter(takers: Mapping[str, Taker]) -> Callable[[SimulatedNode, str, tuple[str, ...]], SimulatedCopy]:
    """`send STATE_DIR ID BYTES STALL IMAGE HOP [-- WORDS]` and `receive STATE_DIR ID BYTES STALL [HOP] [-- WORDS]`.

    `takers` are the scripts of WORDS that take a stream in; an image goes to the engine.
    """

    def start(node: SimulatedNode, name: str, words: tuple[str, ...]) -> SimulatedCopy:
        place = words.index("--") if "--" in words else len(words)
        given, more = words[:place], words[place + 1 :]
        sends = given[0] == "send"
        hop = given[6 if sends else 5 :]
        others = node.neighbours.values()
        after = next((one for one in others if hop and hop[1] in (one.address, one.fabric_address)), None)

        def take(origin: SimulatedCopy) -> str:
            return takers[more[0] if more else "image"](node, origin, more[1:])

        item = given[5] if sends else ""
        return SimulatedCopy(
            node, name, given[1], float(given[3]), after, None if sends else take, node.now, item, hop[1] if hop else ""
        )

    return start


def take_image(node: SimulatedNode, origin: SimulatedCopy, _words: tuple[str, ...]) -> str:
    """Put the image into the engine, unless the disk is full."""
    record = origin.node.engine.store.find(origin.item)
    if node.free_kib * 1024 < record["Size"]:
        return "docker load ended with exit code 1: write /layer.tar: no space left on device"
    node.engine.store.put(record, *record["RepoTags"])
    return ""
