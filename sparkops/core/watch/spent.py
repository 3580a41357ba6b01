"""What the GPU of a node took, and what was done with it, while the engines of one deployment alone ran there."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkops.core.facts import GpuLoad, known
from sparkops.core.topology import WITHOUT_MODEL
from sparkops.core.watch.frame import WatchFrame
from sparkops.core.watch.pace import Pace

WINDOW = 120.0
"""Seconds over which energy is summed: long enough that a request or two are in it."""

SHORTEST = 30.0
"""Seconds that a number is made of; less shows chance."""

LEAST = {"written": 100.0, "done": 1.0}
"""Of what there must be so much: an engine that does nearly nothing shows what a GPU takes that waits."""


@dataclass(frozen=True)
class Spent:
    """From the frame before until this one, at the second `at` of the node's own clock: tokens that were `written`, and
    requests that were `done`."""

    at: float
    deployment: str
    joules: float
    written: float
    done: float


def spent(
    so_far: Sequence[Spent], before: WatchFrame, frame: WatchFrame, paces: Mapping[str, Pace], seconds: float
) -> Iterator[Spent]:
    """The last two minutes. It begins anew when other engines run: nobody knows who took the power."""
    load, at = frame.gpu_load, frame.uptime or 0.0
    alone = _engines(frame)
    if len(alone) != 1 or alone != _engines(before):
        return
    (deployment,) = alone
    yield from (one for one in so_far if one.deployment == deployment and at - one.at < WINDOW)
    if isinstance(load, GpuLoad) and load.power_watts:  # a GPU never takes 0 W: that is no reading
        written = seconds * sum(one.written or 0.0 for one in paces.values())
        done = seconds * sum(one.done or 0.0 for one in paces.values())
        yield Spent(at, deployment, load.power_watts * seconds, written, done)


def _engines(frame: WatchFrame) -> set[str]:
    seen = known(frame.seen, ())
    return {one.deployment for one in seen if one.hash and one.state == "running" and one.role not in WITHOUT_MODEL}


def joules_per(deployment: str, nodes: Iterable[Sequence[Spent]], name: str) -> float | None:
    """Joules of all nodes for each token (`written`) or request (`done`); None while too little is known or done."""
    told = [[one for one in node if one.deployment == deployment] for node in nodes]
    done = sum(getattr(one, name) for node in told for one in node)
    long_enough = bool(told) and all(node and node[-1].at - node[0].at >= SHORTEST for node in told)
    if not long_enough or done < LEAST[name]:
        return None
    return float(sum(one.joules for node in told for one in node) / done)
