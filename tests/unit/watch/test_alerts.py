"""What is wrong: each alert by what a node shows, and that it goes when the cause goes."""

from dataclasses import replace

import pytest

from sparkops.core.watch.deployment import watched
from sparkops.core.watch.frame import frame
from sparkops.core.watch.node import WatchedNode, heard, lost
from sparkops.core.watch.picture import picture
from support.frames import HASH, a_deployment, a_frame, container_line, engine_text, frame_text, watched_node

HEAD, WORKER = f"sparkops-chat-head-{HASH[:8]}", f"sparkops-chat-worker-{HASH[:8]}"
HEALTHY = {"engines": {HEAD: engine_text(num_requests_running=0)}, "containers": [container_line(HEAD, role="head")]}


def ids(*nodes: WatchedNode, deployments=(), now: float | None = None) -> list[str]:
    """The alerts at this time, by default when the last frame came; what they are about has lasted for a while."""
    last = max(node.at or 0.0 for node in nodes)
    heard_now = [replace(node, at=last) if node.at and now is None else node for node in nodes]
    here, time = {node.name: node for node in heard_now}, last if now is None else now
    shown = picture(time, here, deployments, before=picture(time - 10, here, deployments))
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


HANGS = {"engines": {HEAD: engine_text("000 28", "the last line")}}
REFUSES = {"engines": {HEAD: engine_text("000 7", "the last line")}}


def test_an_api_that_answered_before_is_silent_and_its_deployment_failed():
    assert ids(*pair(head({}, *[HANGS] * 4)), deployments=[a_deployment()]) == ["deployment-failed", "engine-silent"]
    assert ids(*pair(head(*[REFUSES] * 4)), deployments=[a_deployment()]) == []


def test_an_api_that_starts_anew_is_not_silent():
    anew = {"containers": [container_line(HEAD, role="head").replace("10:00:00", "11:00:00")]}
    assert ids(*pair(head({}, *[REFUSES | anew] * 9)), deployments=[a_deployment()]) == []


@pytest.mark.parametrize(("busy", "expected"), [("no", ["deployment-failed", "engine-silent"]), ("yes", [])])
def test_what_a_run_of_sparkops_may_do_on_purpose_is_no_alert_while_it_goes_on(busy, expected):
    frames = [{}, *[HANGS | {"busy": busy}] * 4]
    assert ids(*pair(head(*frames)), deployments=[a_deployment()]) == expected


def test_a_failure_counts_after_a_while():
    gone = {"containers": [container_line(HEAD, "exited", role="head")], "engines": {}}
    here = {node.name: node for node in pair(head({}, gone))}
    first = picture(2.0, here, [a_deployment()])
    assert [alert.id for alert in first.alerts] == []
    assert [alert.id for alert in picture(9.0, here, [a_deployment()], before=first).alerts] == ["deployment-failed"]


def test_docker_that_is_late_once_says_nothing_of_containers():
    late = frame(frame_text(uptime=106.0).replace("== end", "== seen 124 4000 4\nlate\n== end"))
    node = heard(head(), late, 4.0)
    assert ids(node, pair(head())[1], deployments=[a_deployment()]) == ["docker-silent"]
    shown = {one.name: one for one in (node, pair(head())[1])}
    assert watched(a_deployment(), shown).state == "serving"


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


def test_a_node_is_away_when_its_stream_ended_or_says_nothing_for_long():
    assert ids(watched_node(a_frame(uptime=100.0)), now=11.0) == []
    assert ids(watched_node(a_frame(uptime=100.0)), now=13.0) == ["node-away"]
    refused = lost(watched_node(a_frame(uptime=100.0)), "connection refused", 2.0)
    assert ids(refused, now=5.0) == []
    assert ids(refused, now=6.0) == ["node-away"]
    assert ids(WatchedNode("spark1"), now=11.0) == []
    assert ids(WatchedNode("spark1"), now=13.0) == ["node-away"]
    (here,) = [{"spark1": watched_node(a_frame(uptime=100.0))}]
    assert picture(40.0, here, (), patience=60.0).alerts == []
