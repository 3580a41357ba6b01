"""One node over time: its newest frame, and what only two and more frames tell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sparkops.core.facts import Facts, GpuLoad, Unread, known
from sparkops.core.facts.probes import NOT_ASKED
from sparkops.core.watch.engine import Engine
from sparkops.core.watch.frame import WatchFrame
from sparkops.core.watch.pace import Pace, pace
from sparkops.core.watch.spent import Spent, spent

TREND = 60
"""Values that a small chart shows: two minutes of frames."""

GAP = 200.0
"""Seconds between two frames after which nothing is said of the time between them: three of the slowest frames."""

A_WHILE = 600.0
"""Seconds in which several restarts are a loop."""

LOST = 4.0
"""Seconds in which a stream that ended may begin again before the node counts as away."""

CONNECTING = "connecting"
"""The problem of a node that has told nothing yet."""


@dataclass(frozen=True)
class Traffic:
    """What the RDMA devices carry, in bits per second over all of them."""

    received: float
    sent: float


@dataclass(frozen=True)
class WatchedNode:
    """`problem` says why no frames come. `at` is when the newest frame came, `since` when the problem began.

    `paces` are by container. `restarts` are times on the node's own clock, with the ID of the container that was found
    restarted. `blind` says why what Docker runs could not be read last time. `trends` are the last values by name.
    """

    name: str
    facts: Facts | None = None
    at: float | None = None
    problem: str = CONNECTING
    since: float = 0.0
    traffic: Traffic | None = None
    paces: Mapping[str, Pace] = field(default_factory=dict)
    restarts: tuple[tuple[float, str], ...] = ()
    blind: str = ""
    trends: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    spent: tuple[Spent, ...] = ()

    def settled(self, now: float) -> bool:
        """Whether it has told what only two frames tell, or is away."""
        return bool(self.trends) or (self.problem not in ("", CONNECTING) and now - self.since >= LOST)

    @property
    def frame(self) -> WatchFrame | None:
        return self.facts if isinstance(self.facts, WatchFrame) else None

    def with_facts(self, facts: Facts) -> "WatchedNode":
        """The node after more than a frame was read of it."""
        return replace(self, facts=self.frame.with_facts(facts) if self.frame else facts)

    @property
    def busy(self) -> bool:
        """Whether a run of sparkops is changing it."""
        return known(self.frame.busy, False) if self.frame else False

    def engine(self, container: str) -> Engine | None:
        return known(self.frame.engines, {}).get(container) if self.frame else None


def heard(node: WatchedNode, new: WatchFrame, now: float) -> WatchedNode:
    """The node after a frame that came at `now`."""
    before, frame = node.frame, new.after(node.facts)
    node = replace(node, facts=frame, at=now, problem="", blind=_blind(node, new))
    seconds = _between(before, frame)
    if before is None or seconds is None:
        fresh = {name: Pace(answered=one.answers) for name, one in known(frame.engines, {}).items()}
        return replace(node, traffic=None, paces=fresh, restarts=(), spent=())
    paces = dict(_paces(node, before, frame, seconds))
    traffic = _traffic(before, frame, seconds)
    after = replace(
        node,
        traffic=traffic,
        paces=paces,
        restarts=tuple(_restarts(node, before, frame)),
        spent=tuple(spent(node.spent, before, frame, paces, seconds)),
    )
    return replace(after, trends=_trends(after))


def lost(node: WatchedNode, problem: str, now: float) -> WatchedNode:
    """The node whose frames do not come any more."""
    return replace(node, problem=problem, since=node.since if node.problem else now, traffic=None)


def _blind(node: WatchedNode, new: WatchFrame) -> str:
    if isinstance(new.seen, Unread):
        return node.blind if new.seen is NOT_ASKED else new.seen.reason
    return ""


def _between(before: WatchFrame | None, now: WatchFrame) -> float | None:
    """Seconds between two frames on the node's own clock; None after a boot or a gap."""
    if before is None or before.uptime is None or now.uptime is None or _boot(before) != _boot(now):
        return None
    seconds = now.uptime - before.uptime
    return seconds if 0 < seconds <= GAP else None


def _boot(frame: WatchFrame) -> str:
    return getattr(frame.boot, "id", "")


def _paces(node: WatchedNode, before: WatchFrame, frame: WatchFrame, seconds: float) -> Iterator[tuple[str, Pace]]:
    """Nothing counts any more of a container that started anew."""
    old, started = known(before.engines, {}), _starts(before)
    for name, engine in known(frame.engines, {}).items():
        same = started.get(name) == _starts(frame).get(name)
        last = node.paces.get(name, Pace()) if same else Pace()
        yield name, pace(old.get(name) if same else None, engine, last, seconds)


def _starts(frame: WatchFrame) -> Mapping[str, tuple[str, str]]:
    return {one.name: (one.id, one.started_at) for one in known(frame.seen, ())}


def _traffic(before: WatchFrame, frame: WatchFrame, seconds: float) -> Traffic | None:
    old = {device.name: device for device in known(before.carried, ())}
    pairs = [(old[one.name], one) for one in known(frame.carried, ()) if one.name in old]
    received = [
        now.received - was.received for was, now in pairs if now.received is not None and was.received is not None
    ]
    sent = [now.sent - was.sent for was, now in pairs if now.sent is not None and was.sent is not None]
    if not received or not sent or min(*received, *sent) < 0:  # a device that went away counts from zero again
        return None
    return Traffic(8 * sum(received) / seconds, 8 * sum(sent) / seconds)


def _restarts(node: WatchedNode, before: WatchFrame, frame: WatchFrame) -> Iterator[tuple[float, str]]:
    now = frame.uptime or 0.0
    yield from (one for one in node.restarts if now - one[0] < A_WHILE)
    old = {one.id: one.restarts for one in known(before.seen, ())}
    for one in known(frame.seen, ()):
        for _ in range(min(one.restarts - old.get(one.id, one.restarts), 10)):
            yield now, one.id


def _trends(node: WatchedNode) -> Mapping[str, tuple[float, ...]]:
    values = dict(_values(node))
    return {name: (*node.trends.get(name, ())[1 - TREND :], values.get(name, 0.0)) for name in {*node.trends, *values}}


def _values(node: WatchedNode) -> Iterator[tuple[str, float]]:
    frame = node.frame
    if frame is None:
        return
    if isinstance(frame.gpu_load, GpuLoad):
        yield "gpu", (frame.gpu_load.utilization_percent or 0) / 100
        yield "watts", frame.gpu_load.power_watts or 0.0
    if node.traffic:
        yield "received", node.traffic.received
        yield "sent", node.traffic.sent
    yield "written", sum(one.written or 0.0 for one in node.paces.values())
    yield "read", sum(one.read or 0.0 for one in node.paces.values())
