"""Which deployments on demand are to start and which to stop. Decisions only: the caller acts, and brings the time.

A deployment is asleep, starting, awake or stopping, or it is unknown until a look at its nodes tells. Requests for one
that is not awake wait. The deployment whose request has waited longest starts next; what does not fit beside it stops
first, but not before its stay is over and its last request is answered. Until then, new requests for it wait too, so
that nobody waits forever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sparkops.node.gatewaykeys import Denied

MOST_WAITING, MOST_OF_ONE = 256, 32
"""How many requests wait at most: of all, and of one person."""

RETRY, LONGEST_RETRY = 15.0, 600.0
"""Seconds until a start that failed is tried again, doubled each time."""

UNKNOWN_START = 120.0
"""Seconds that a start is said to take before one was seen."""


ResidentState = Literal["unknown", "asleep", "starting", "awake", "stopping"]


@dataclass(frozen=True)
class OnDemandSpec:
    """A deployment that stops if nobody asks for it for `idle` seconds.

    `needs` is its memory on each of its nodes in KiB. Two share a node only if one of them is `alongside`. Of two that
    could stop, the one with the lower `priority` does. It stays for `stay` seconds at least, and for as long as its
    start took, so that engines serve for half of the time.
    """

    name: str
    needs: Mapping[str, int]
    alongside: bool = False
    idle: float = 1800.0
    priority: int = 0
    stay: float = 30.0


@dataclass(frozen=True)
class NodeRoom:
    """What a node has for deployments on demand: memory in KiB; `owned` if another one there is not `alongside`."""

    kib: int
    owned: bool = False


@dataclass(frozen=True)
class Act:
    """What to do now, and why; its end is told with `awake`, `asleep` or `failed`."""

    verb: Literal["start", "stop"]
    name: str
    why: str


@dataclass(eq=False)
class Resident:
    """How a deployment is now. `since` is when its state began, `used` when a request for it last began or ended.

    `took` is how long its last start was. After so many `failures` in a row it does not start before `not_before`.
    """

    spec: OnDemandSpec
    state: ResidentState = "unknown"
    since: float = 0.0
    used: float = 0.0
    took: float | None = None
    running: int = 0
    failures: int = 0
    not_before: float = 0.0
    draining: bool = False
    waiting: list[HeldRequest] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def open(self) -> bool:
        """Whether it takes requests."""
        return self.state == "awake" and not self.draining

    def stayed(self, now: float) -> bool:
        """Whether it may stop, as soon as nothing runs."""
        return self.state == "awake" and now - self.since >= max(self.spec.stay, self.took or 0.0)

    def becomes(self, state: ResidentState, now: float) -> None:
        self.state, self.since, self.draining = state, now, False


@dataclass(eq=False)
class HeldRequest:
    """A request that waits since `since`; one that is `left` has nobody who waits, but still wants the start."""

    resident: Resident
    who: str
    since: float
    left: bool = False

    @property
    def name(self) -> str:
        return self.resident.name


class Scheduler:
    """Deployments on demand in the room of their nodes."""

    def __init__(self, specs: Iterable[OnDemandSpec], rooms: Mapping[str, NodeRoom]) -> None:
        self.rooms = rooms
        self.residents = {one.name: Resident(one) for one in specs}

    def ask(self, name: str, who: str, now: float) -> HeldRequest:
        """A request comes in; `admitted` lets it through. Raises Denied with 429 or 503."""
        one = self.residents[name]
        if one.state == "asleep" and not self.fit([one]):
            raise Denied(503, f"{name} has no room on its nodes: `sparkops diff` tells more", 60)
        if one.state in ("asleep", "stopping") and now < one.not_before:
            raise Denied(503, f"{name} did not start: the endpoint's log tells why", one.not_before - now)
        everybody = [waiting for other in self.residents.values() for waiting in other.waiting if not waiting.left]
        theirs = sum(waiting.who == who for waiting in everybody)
        if len(everybody) >= MOST_WAITING or theirs >= MOST_OF_ONE:
            raise Denied(429, "too many requests wait for a model to start", self.start_time(name, now))
        waiting = HeldRequest(one, who, now)
        one.waiting.append(waiting)
        return waiting

    def admitted(self, now: float) -> list[HeldRequest]:
        """The requests that wait no longer; each counts as running until `done`."""
        found = []
        for one in self.residents.values():
            if one.waiting and one.open:
                found += one.waiting
                one.running, one.used, one.waiting = one.running + len(one.waiting), now, []
        return found

    def leave(self, waiting: HeldRequest) -> None:
        """Who waited went away."""
        if waiting in waiting.resident.waiting:
            waiting.resident.waiting.remove(waiting)

    def goes(self, waiting: HeldRequest) -> None:
        """Who waited did not want to, but will ask again: it starts nevertheless."""
        waiting.left = True
        if any(other.left for other in waiting.resident.waiting if other is not waiting):
            self.leave(waiting)

    def done(self, held: HeldRequest, now: float) -> None:
        """A request that was admitted has ended."""
        held.resident.running, held.resident.used = held.resident.running - 1, now

    def decide(self, now: float) -> list[Act]:
        """What to do now. It follows from what is known, so it is asked again after each change and now and then."""
        wanted = self._next()
        going = self._in_the_way(wanted)
        for one in self.residents.values():
            one.draining = one in going and one.stayed(now)
        idle = [one for one in self.residents.values() if not one.waiting and now - one.used >= one.spec.idle]
        stops = [one for one in (*going, *(one for one in idle if one not in going)) if one.stayed(now)]
        stops = [one for one in stops if not one.running]
        for one in stops:
            one.becomes("stopping", now)
        starts, there = [], [one for one in self.residents.values() if one.state != "asleep"]
        changing = {node for one in there if one.state in ("stopping", "unknown") for node in one.spec.needs}
        for one in wanted:  # an engine measures at its start how much memory is free
            if changing.isdisjoint(one.spec.needs) and self.fit([one, *there]):
                one.becomes("starting", now)
                starts.append(one)
        room = f"makes room for {' and '.join(one.name for one in wanted)}"
        return [
            *(Act("stop", one.name, room if one in going else "nobody asks for it") for one in stops),
            *(Act("start", one.name, f"{one.waiting[0].who} asks for it") for one in starts),
        ]

    def _next(self) -> list[Resident]:
        """Those that are to start next, one on each node; none overtakes one that waits longer for one of its nodes."""
        asked = [one for one in self.residents.values() if one.waiting and one.state == "asleep"]
        taken = {node for one in self.residents.values() if one.state == "starting" for node in one.spec.needs}
        found = list[Resident]()
        for one in sorted(asked, key=lambda one: one.waiting[0].since):
            if taken.isdisjoint(one.spec.needs) and self.fit([one]):
                found.append(one)
            taken |= one.spec.needs.keys()
        return found

    def _in_the_way(self, wanted: list[Resident]) -> list[Resident]:
        """What must stop for them: those that are idle first, then by priority, then those unused for longest."""
        nodes = {node for one in wanted for node in one.spec.needs}
        there = [one for one in self.residents.values() if one.state in ("starting", "awake")]
        stay, going = [*wanted], []
        for one in sorted((one for one in there if not nodes.isdisjoint(one.spec.needs)), key=_worth, reverse=True):
            if self.fit([*stay, one]):
                stay.append(one)
            else:
                going.append(one)
        return going

    def fit(self, together: Iterable[Resident]) -> bool:
        """Whether the nodes have room for all of these at once."""
        given, owners = dict[str, int](), {node for node, room in self.rooms.items() if room.owned}
        for one in together:
            for node, need in one.spec.needs.items():
                given[node] = given.get(node, 0) + need
                if not one.spec.alongside:
                    if node in owners:
                        return False
                    owners.add(node)
        return all(node in self.rooms and need <= self.rooms[node].kib for node, need in given.items())

    def follow(self, specs: Iterable[OnDemandSpec], rooms: Mapping[str, NodeRoom]) -> list[HeldRequest]:
        """Take up other deployments or rooms; the requests to refuse, as theirs is gone."""
        before, self.rooms, self.residents = self.residents, rooms, {}
        for spec in specs:
            self.residents[spec.name] = one = before.pop(spec.name, None) or Resident(spec)
            one.spec = spec
        return [waiting for one in before.values() for waiting in one.waiting]

    def begun(self, name: str, now: float) -> None:
        """Somebody else starts it."""
        self.residents[name].becomes("starting", now)

    def unknown(self, name: str, now: float) -> None:
        """Only a look at its nodes can tell."""
        self.residents[name].becomes("unknown", now)

    def awake(self, name: str, now: float, took: float | None = None) -> None:
        """It answers; a start of ours `took` so many seconds."""
        one = self.residents[name]
        one.took = one.took if took is None else took
        if one.state != "awake":
            one.becomes("awake", now)
            one.used, one.failures, one.not_before = now, 0, 0.0

    def asleep(self, name: str, now: float) -> None:
        """None of its containers runs any more."""
        self.residents[name].becomes("asleep", now)

    def failed(self, name: str, now: float) -> list[HeldRequest]:
        """Its start failed, and it is to be stopped; the requests to refuse."""
        one = self.residents[name]
        refused, one.waiting = one.waiting, []
        one.becomes("stopping", now)
        one.not_before = now + min(LONGEST_RETRY, RETRY * 2.0**one.failures)
        one.failures += 1
        return refused

    def start_time(self, name: str, now: float) -> float:
        """Seconds until it may be awake, if nothing else must end before."""
        one = self.residents[name]
        took = UNKNOWN_START if one.took is None else one.took
        return max(1.0, took - (now - one.since) if one.state == "starting" else took)


def _worth(one: Resident) -> tuple[bool, bool, int, float]:
    """The larger, the rather it stays; one that starts cannot be stopped."""
    return one.state == "starting", one.running > 0, one.spec.priority, one.used
