"""What is wrong: each alert by what a node shows, and that it goes when the cause goes."""

from dataclasses import replace

import pytest

from sparkops.core.watch.deployment import watched
from sparkops.core.watch.node import WatchedNode, lost
from sparkops.core.watch.picture import picture
from support.frames import HASH, a_deployment, a_frame, container_line, engine_text, watched_node

HEAD, WORKER = f"sparkops-chat-head-{HASH[:8]}", f"sparkops-chat-worker-{HASH[:8]}"
HEALTHY = {"engines": {HEAD: engine_text(num_requests_running=0)}, "containers": [container_line(HEAD, role="head")]}


def ids(*nodes: WatchedNode, deployments=(), now: float | None = None) -> list[str]:
    """The alerts at this time, by default when the last frame came."""
    last = max(node.at or 0.0 for node in nodes)
    heard_now = [replace(node, at=last) if node.at and now is None else node for node in nodes]
    shown = picture(last if now is None else now, {node.name: node for node in heard_now}, deployments, ())
    assert all(alert.next for alert in shown.alerts)
    return [alert.id for alert in shown.alerts]


def pair(head: WatchedNode, **worker: object) -> tuple[WatchedNode, WatchedNode]:
    told = {"engines": {WORKER: engine_text()}, "containers": [container_line(WORKER, role="worker")], **worker}
    return head, watched_node(*([a_frame(uptime=u, **told) for u in (100.0, 102.0)]), name="spark2")


def head(*frames: dict[str, object]) -> WatchedNode:
    told = frames or ({}, {})
    return watched_node(*(a_frame(uptime=100.0 + 2 * n, **{**HEALTHY, **one}) for n, one in enumerate(told)))


def test_nothing_is_wrong_with_a_cluster_that_serves():
    assert ids(*pair(head()), deployments=[a_deployment()]) == []
    shown = {node.name: node for node in pair(head())}
    assert watched(a_deployment(), shown).state == "serving"


def test_requests_that_run_without_a_token_are_a_wedged_engine():
    stuck = {"engines": {HEAD: engine_text(num_requests_running=2, generation_tokens_total=7)}}
    assert ids(*pair(head(*[stuck] * 4)), deployments=[a_deployment()]) == ["engine-wedged"]
    assert ids(*pair(head(*[stuck] * 3)), deployments=[a_deployment()]) == []


def test_an_engine_that_was_slow_before_has_more_time():
    def at(tokens: int) -> dict[str, object]:
        return {"engines": {HEAD: engine_text(num_requests_running=1, generation_tokens_total=tokens)}}

    slow = [at(1)] * 5 + [at(2)]
    assert ids(*pair(head(*slow, *[at(2)] * 6)), deployments=[a_deployment()]) == []
    assert ids(*pair(head(*slow, *[at(2)] * 13)), deployments=[a_deployment()]) == ["engine-wedged"]


def test_a_rank_that_ended_behind_a_green_health_is_lost():
    gone = pair(head(), containers=[container_line(WORKER, "exited", role="worker")])
    assert ids(*gone, deployments=[a_deployment()]) == ["rank-lost"]


def test_an_api_that_answered_before_is_silent():
    hangs = {"engines": {HEAD: engine_text("000 28", "the last line")}}
    assert ids(*pair(head({}, hangs, hangs, hangs)), deployments=[a_deployment()]) == ["engine-silent"]
    assert ids(*pair(head(hangs, hangs, hangs, hangs)), deployments=[a_deployment()]) == []


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"link": ("4: ACTIVE", "100 Gb/sec (2X HDR)", 0, 0)}, ["link-slow"]),
        ({"link": ("4: ACTIVE", "200 Gb/sec (4X HDR)", 0, 0)}, []),
        ({"gpu": "[N/A], [N/A], [N/A], [N/A], [N/A], [N/A]"}, []),
        ({"gpu": "Failed to initialize NVML"}, []),
    ],
)
def test_what_one_frame_shows_of_a_node(told, expected):
    assert ids(watched_node(a_frame(uptime=100.0, **told))) == expected


def test_a_cluster_without_any_link_is_told_once_for_each_node():
    down = pair(head(), link=("1: DOWN", "40 Gb/sec", 0, 0))
    assert ids(*down, deployments=[a_deployment()]) == ["link-down"]
    assert ids(*down) == []


def test_two_restarts_are_a_loop_and_one_is_not():
    def once(restarts: int, uptime: float):
        return a_frame(uptime=uptime, containers=[container_line(HEAD, restarts=restarts)])

    assert ids(watched_node(once(0, 100.0), once(1, 102.0))) == []
    assert ids(watched_node(once(0, 100.0), once(1, 102.0), once(2, 104.0))) == ["restart-loop"]


def test_memory_that_lasts_less_than_six_hours():
    line = "{} x page cache dropped (all): MemFree {} -> {}, MemAvailable {} -> {}, Cached 1 -> 1 KiB\n"
    log = "".join(line.format(1000 + 1800 * n, *[40_000_000 - 3_000_000 * n] * 4) for n in range(6))
    assert ids(watched_node(a_frame(uptime=100.0, available=24_000_000, drops=log))) == ["memory-runs-out"]


def test_a_node_is_away_after_three_frames():
    assert ids(watched_node(a_frame(uptime=100.0)), now=5.0) == []
    assert ids(watched_node(a_frame(uptime=100.0)), now=7.0) == ["node-away"]
    refused = lost(watched_node(a_frame(uptime=100.0)), "connection refused", 2.0)
    assert ids(refused, now=9.0) == ["node-away"]
    assert ids(WatchedNode("spark1"), now=9.0) == ["node-away"]
