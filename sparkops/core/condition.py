"""The state of a deployment, judged from its containers and from what its API answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["serving", "starting", "degraded", "failed", "stopped", "unreachable"]

EXIT_CODES: Mapping[State, int] = {
    "serving": 0,
    "stopped": 0,
    "starting": 5,
    "degraded": 5,
    "failed": 5,
    "unreachable": 4,
}
"""`starting` does not serve yet, so a script can wait for exit code 0."""

DOCKER_SILENT = "Docker cannot be asked"
"""Begins the reason of a node that was reached, but whose containers are unknown."""

LOOK_SECONDS = 5
"""Seconds for one short request of `status`; a slower engine is busy if its counters grow, else it does not serve."""

REPLACE_SECONDS = 30
"""Seconds for that request before an engine is replaced: during a long prefill no token counter grows."""


@dataclass(frozen=True)
class ServingProbe:
    """What `@serving` found at one API. `health` is an HTTP code, or refused, silent (no answer in time), broken.

    `ray` counts Ray's nodes and GPUs, `ranks` are vLLM's own ranks that have met; None if it was not asked or not told.
    """

    verdict: str
    reason: str = ""
    health: str = ""
    answer: str = "none"
    ray: tuple[int, int] | None = None
    ranks: tuple[int, ...] | None = None

    @property
    def serves(self) -> bool:
        return self.verdict == "ready"

    @property
    def answered(self) -> bool:
        """Whether it answered a request, and is not only busy."""
        return self.serves and self.answer == "ok"

    @property
    def coming(self) -> bool:
        """Nothing listens yet: the engine loads, or a cluster waits for its nodes."""
        return self.health == "refused"

    @property
    def hangs(self) -> bool:
        """The engine listens but does not answer; an engine that loads is `coming` instead."""
        return self.health in ("silent", "503") or (self.health == "200" and self.answer == "none")


def serving_probe(text: str) -> ServingProbe:
    """Read the output of `@serving`."""
    lines = text.splitlines()
    verdict, _, reason = (lines[0] if lines else "wait no answer from the node").partition(" ")
    said = {key: value for key, _, value in (line.partition(" ") for line in lines[1:6])}
    ray, ranks = _numbers(said.get("ray", "")), _numbers(said.get("ranks", ""))
    counts = (ray[0], ray[1]) if len(ray) == 2 else None
    return ServingProbe(verdict, reason, said.get("health", ""), said.get("answer", "none"), counts, ranks or None)


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers of a line, none if it has anything else."""
    words = text.split()
    return tuple(map(int, words)) if all(word.isdecimal() and word.isascii() for word in words) else ()


@dataclass(frozen=True)
class MemberContainer:
    """One member's container as the node shows it; `container` is None if it does not exist."""

    node: str
    role: str
    reachable: bool
    container: str | None
    state: str
    gave_up: bool = False

    @property
    def up(self) -> bool:
        return self.reachable and self.state == "running" and not self.gave_up

    @property
    def shown(self) -> str:
        """The state as `status` shows it."""
        if not self.reachable:
            return "unreachable"
        if self.container is None:
            return "missing"
        return "failed (gave up)" if self.gave_up else self.state


def condition(
    parts: Sequence[MemberContainer], fronts: Sequence[ServingProbe], engines: Sequence[ServingProbe]
) -> State:
    """One word for a deployment. `fronts` are the APIs that clients use, `engines` those of the servers behind them.

    It serves although a node's management address is silent if all APIs answered, as an answer of a cluster takes all
    ranks. Counters that grow are no answer: the last requests may still be counted when a rank is gone.
    """
    there = [part for part in parts if part.reachable]
    if len(there) < len(parts):
        proven = all(part.up for part in there) and bool(fronts) and all(one.answered for one in (*fronts, *engines))
        return "serving" if proven else "unreachable"
    tried = any(part.up or part.state in ("restarting", "paused") or part.gave_up for part in parts)
    if not tried or not any(part.container for part in parts):
        return "stopped"
    all_up = all(part.up for part in parts)
    if all_up and fronts and all(front.serves for front in (*fronts, *engines)):
        return "serving"
    # a proxy in front of a server that hangs answers or not, by the server that it chose
    asked = any(front.health == "200" for front in fronts) and any(engine.hangs for engine in engines)
    if any(front.serves for front in fronts) or (asked and any(engine.serves for engine in engines)):
        return "degraded"
    in_front = () if any(engine.coming for engine in engines) else fronts  # they answer when these do
    if all_up and fronts and all(ask.serves or ask.coming for ask in (*in_front, *engines)):
        return "starting"
    return "failed"
