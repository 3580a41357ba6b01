"""What is wrong now, and what to do about it. Each rule looks at one node or one deployment as it is watched."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from sparkops.core.facts import Unread, known
from sparkops.core.findings import Finding
from sparkops.core.growth import TROUBLE_KIB, growth
from sparkops.core.watch.deployment import Rank, WatchedDeployment
from sparkops.core.watch.node import CONNECTING, LOST, WatchedNode

NODE_AWAY = "node-away"
AWAY = 12.0
"""Seconds without a frame after which a node counts as away: one whose driver and Docker hang takes 8 s for a frame."""

SILENT = 7.0
"""Seconds in which an API that answered before does not: a health answers in milliseconds, a busy one within 2 s.
Longer than the time after which a frame shows that the container started anew."""

FAILED = 6.0
"""Seconds for which a deployment must have failed: its containers do not start and end in the same moment."""

LOOP = 2
"""Restarts within ten minutes that are a loop: after one, Docker's restart may have mended it."""

BETWEEN = 2.0
"""Seconds in which two nodes may tell of the same moment."""

FULL_GBITS = 200.0
SOON = 6 * 3600.0
"""A node whose memory lasts less than these seconds needs somebody today."""


AlertKey = tuple[str, str, str]
"""What makes an alert the same although its text changes: its ID, node and deployment."""


@dataclass(frozen=True)
class Alert:
    """`id` is stable, for scripts and rules. `grave`: somebody is not served, or soon will not be.

    `next` is what to do; commands in it stand in backquotes. `after`: it counts when it has lasted for so many seconds.
    """

    id: str
    text: str
    next: str
    node: str = ""
    deployment: str = ""
    grave: bool = False
    after: float = 0.0

    @property
    def key(self) -> AlertKey:
        return self.id, self.node, self.deployment


def of_finding(finding: Finding) -> Alert:
    """The alert that a check of the node or of the fleet gives."""
    return Alert(finding.id, finding.message, finding.hint, finding.node or "", grave=finding.action == "fail")


def of_node(node: WatchedNode, now: float, patience: float = AWAY) -> Iterator[Alert]:
    """What is wrong with a node at the time `now`; `patience`: seconds without a frame after which it is away."""
    yield from _away(node, now, patience)
    if node.problem or node.frame is None:
        return
    if node.blind:
        text = f"what runs on it cannot be read: {node.blind}"
        yield Alert("docker-silent", text, "see why: `sparkops preflight --only docker-usable`", node.name)
    yield from _links(node)
    yield from _restarts(node)
    yield from _memory(node)


def _away(node: WatchedNode, now: float, patience: float) -> Iterator[Alert]:
    told = not node.problem and node.at is not None
    silent = now - (node.at if told and node.at is not None else node.since)
    if silent >= (LOST if node.problem not in ("", CONNECTING) else patience):
        why = node.problem or f"it has told nothing for {silent:.0f} s"
        yield Alert(NODE_AWAY, why, "find out why: `sparkops preflight --only ssh,host-key`", node.name, grave=True)


def _links(node: WatchedNode) -> Iterator[Alert]:
    devices = known(node.frame.carried, ()) if node.frame else ()
    slow = [one for one in devices if one.active and one.gbits is not None and one.gbits < FULL_GBITS]
    if slow:
        names = " and ".join(one.interface or one.name for one in slow)
        text = f"{names}: {slow[0].gbits:g} Gb/s, not {FULL_GBITS:g}"
        yield Alert("link-slow", text, "see why: `sparkops fabric`", node.name)


def _restarts(node: WatchedNode) -> Iterator[Alert]:
    ids = [container for _, container in node.restarts]
    for one in known(node.frame.seen, ()) if node.frame else ():
        if (count := ids.count(one.id)) >= LOOP and one.state in ("running", "restarting"):
            what = f"the {one.role} of {one.deployment}" if one.deployment else one.name
            hint = f"its log says why: `sparkops logs --limit {shlex.quote(node.name)}`"
            yield Alert(
                "restart-loop", f"{what} was restarted {count} times in ten minutes", hint, node.name, grave=True
            )


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
    """What is wrong with a deployment, beside what a run of sparkops may be doing to it now."""
    yield from (alert for rank in one.engines for alert in _wedged(one, rank))
    yield from _without_link(one)
    if not one.busy:
        yield from (alert for rank in one.apis for alert in _silent(one, rank))
        yield from _ranks(one)
        yield from _failed(one)


def _wedged(one: WatchedDeployment, rank: Rank) -> Iterator[Alert]:
    if rank.stuck and rank.engine:
        count = rank.engine.running
        text = f"healthy but wedged: {count} running, and no token came for {rank.pace.stuck:.0f} s"
        hint = f"restart it: `sparkops restart {shlex.quote(one.name)}`"
        if not rank.hangs:
            hint = f"a long prompt may take so long; if it lasts, {hint}"
        yield Alert("engine-wedged", text, hint, rank.node.name, one.name, grave=rank.hangs)


def _silent(one: WatchedDeployment, rank: Rank) -> Iterator[Alert]:
    if rank.part.up and rank.pace.silent >= SILENT:
        health = rank.engine.health if rank.engine else "silent"
        text = f"the API of the {rank.member.role} on {rank.node.name} does not answer ({health})"
        hint = f"see why: `sparkops status {shlex.quote(one.name)}`"
        yield Alert("engine-silent", text, hint, rank.node.name, one.name, grave=True)


def _failed(one: WatchedDeployment) -> Iterator[Alert]:
    if one.state == "failed":
        hint = f"see why: `sparkops status {shlex.quote(one.name)}`"
        yield Alert("deployment-failed", f"{one.name} does not serve", hint, "", one.name, grave=True, after=FAILED)


def _ranks(one: WatchedDeployment) -> Iterator[Alert]:
    """Ranks that are gone while the API of their copy answers."""
    green = [rank.member for rank in one.engines if rank.engine and rank.engine.answers and rank.part.up]
    for rank in one.ranks:
        front = one.stored.front_of(rank.member)
        if front != rank.member and front in green and not rank.node.problem and not rank.part.up:
            text = f"the {rank.member.role} on {rank.node.name} is {rank.part.shown}, but the API answers"
            hint = f"restart it: `sparkops restart {shlex.quote(one.name)}`"
            yield Alert("rank-lost", text, hint, rank.node.name, one.name, grave=True, after=BETWEEN)


def _without_link(one: WatchedDeployment) -> Iterator[Alert]:
    """Nodes of a cluster without any active link: NCCL has only Ethernet, or nothing."""
    for rank in one.ranks:
        frame = rank.node.frame
        if not rank.member.fabric or rank.node.problem or frame is None or not rank.part.up:
            continue
        if not isinstance(frame.carried, Unread) and not any(device.active for device in frame.carried):
            text = f"{rank.node.name} has no active CX7 link, which its cluster needs"
            yield Alert("link-down", text, "see why: `sparkops fabric`", rank.node.name, one.name, grave=True)
