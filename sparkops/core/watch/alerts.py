"""What is wrong now, and what to do about it. Each rule looks at one node or one deployment as it is watched."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from sparkops.core.facts import known
from sparkops.core.findings import Finding
from sparkops.core.growth import TROUBLE_KIB, growth
from sparkops.core.watch.deployment import Rank, WatchedDeployment
from sparkops.core.watch.node import WatchedNode

AWAY = 6.0
"""Seconds without a frame after which a node counts as away: three frames."""

SILENT = 6.0
"""Seconds in which an API that answered before does not: a health answers in milliseconds, a busy one within 2 s."""

LOOP = 2
"""Restarts within ten minutes that are a loop: after one, Docker's restart may have mended it."""

FULL_GBITS = 200.0
SOON = 6 * 3600.0
"""A node whose memory lasts less than these seconds needs somebody today."""


@dataclass(frozen=True)
class Alert:
    """`id` is stable, for scripts and rules. `grave`: somebody is not served, or soon will not be.

    `next` is what to do; commands in it stand in backquotes.
    """

    id: str
    text: str
    next: str
    node: str = ""
    deployment: str = ""
    grave: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same alert although its text changes."""
        return self.id, self.node, self.deployment


def of_finding(finding: Finding) -> Alert:
    """The alert that a check of the node or of the fleet gives."""
    return Alert(finding.id, finding.message, finding.hint, finding.node or "", grave=finding.action == "fail")


def of_node(node: WatchedNode, now: float) -> Iterator[Alert]:
    yield from _away(node, now)
    if node.problem or node.frame is None:
        return
    yield from _links(node)
    yield from _restarts(node)
    yield from _memory(node)


def _away(node: WatchedNode, now: float) -> Iterator[Alert]:
    silent = now - (node.at if node.at is not None and not node.problem else node.since)
    if silent >= AWAY:
        why = node.problem or f"no frame for {silent:.0f} s"
        yield Alert("node-away", why, "find out why: `sparkops preflight --only ssh,host-key`", node.name, grave=True)


def _links(node: WatchedNode) -> Iterator[Alert]:
    devices = known(node.frame.carried, ()) if node.frame else ()
    slow = [one for one in devices if one.active and one.gbits is not None and one.gbits < FULL_GBITS]
    for one in slow[:1]:
        text = f"the link of {one.interface or one.name} runs at {one.gbits:g} Gb/s, not {FULL_GBITS:g}"
        yield Alert("link-slow", text, "see why: `sparkops fabric`", node.name)


def _restarts(node: WatchedNode) -> Iterator[Alert]:
    names = [name for _, name in node.restarts]
    for name in dict.fromkeys(names):
        if (count := names.count(name)) >= LOOP:
            text = f"{name} was restarted {count} times in the last ten minutes"
            hint = f"its log says why: `sparkops logs --limit {shlex.quote(node.name)}`"
            yield Alert("restart-loop", text, hint, node.name, grave=True)


def _memory(node: WatchedNode) -> Iterator[Alert]:
    frame = node.frame
    assert frame is not None, "the caller looked"
    room = frame.memory.available_kib
    grows = growth(known(frame.drops, ()), frame.booted)
    left = grows.seconds_left(room) if grows else None
    if left is not None and left < SOON and room >= TROUBLE_KIB:
        text = f"free memory shrinks; at this rate it is used up in about {left / 3600:.1f} h"
        hint = "a new start of the engine frees it: `sparkops deploy --refresh`; `sparkops memory` shows what uses it"
        yield Alert("memory-runs-out", text, hint, node.name)


def of_deployment(one: WatchedDeployment) -> Iterator[Alert]:
    yield from (alert for rank in one.engines for alert in _engine(one, rank))
    yield from _ranks(one)
    yield from _without_link(one)


def _engine(one: WatchedDeployment, rank: Rank) -> Iterator[Alert]:
    restart = f"restart it: `sparkops restart {shlex.quote(one.name)}`"
    if rank.stuck and rank.engine:
        text = f"healthy but wedged: {rank.engine.running} requests run, and no token came for {rank.pace.stuck:.0f} s"
        yield Alert("engine-wedged", text, restart, rank.node.name, one.name, grave=True)
    elif rank.part.up and rank.pace.silent >= SILENT:
        text = (
            f"the API on {rank.node.name} answered before and is {rank.engine.health if rank.engine else 'silent'} now"
        )
        yield Alert("engine-silent", text, restart, rank.node.name, one.name, grave=True)


def _ranks(one: WatchedDeployment) -> Iterator[Alert]:
    """Ranks that are gone while the API of their copy answers."""
    green = [rank.member for rank in one.engines if rank.engine and rank.engine.answers and rank.part.up]
    for rank in one.ranks:
        front = one.stored.front_of(rank.member)
        if front != rank.member and front in green and not rank.node.problem and not rank.part.up:
            text = f"the {rank.member.role} on {rank.node.name} is {rank.part.shown}, but the API answers"
            hint = f"restart it: `sparkops restart {shlex.quote(one.name)}`"
            yield Alert("rank-lost", text, hint, rank.node.name, one.name, grave=True)


def _without_link(one: WatchedDeployment) -> Iterator[Alert]:
    """Nodes of a cluster without any active link: NCCL has only Ethernet, or nothing."""
    for rank in one.ranks:
        frame = rank.node.frame
        if not rank.member.fabric or rank.node.problem or frame is None or not rank.part.up:
            continue
        if not any(device.active for device in known(frame.carried, ())):
            text = f"{rank.node.name} has no active CX7 link, which its cluster needs"
            yield Alert("link-down", text, "see why: `sparkops fabric`", rank.node.name, one.name, grave=True)
