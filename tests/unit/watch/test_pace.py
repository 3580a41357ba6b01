"""What two and more frames tell of an engine and a node."""

import pytest

from sparkops.core.watch.frame import WatchFrame
from sparkops.core.watch.node import lost
from support.frames import a_frame, container_line, engine_text, watched_node

COUNTERS = ("generation_tokens_total", "prompt_tokens_total", "request_success_total")


def counted(uptime: float, tokens: float, running: int = 1, **more: float) -> object:
    counters = {"num_requests_running": running, "generation_tokens_total": tokens, "prompt_tokens_total": 3 * tokens}
    return a_frame(uptime=uptime, engines={"a": engine_text(**counters, **more)})


def test_rates_are_counted_on_the_clock_of_the_node():
    node = watched_node(counted(100, 50), counted(104, 90), every=1.0)
    assert node.paces["a"].written == 10
    assert node.paces["a"].read == 30


def test_an_engine_that_started_anew_has_no_rate_for_once():
    assert watched_node(counted(100, 500), counted(102, 3)).paces["a"].written is None


def test_requests_without_any_work_are_counted_in_seconds():
    frames = [counted(100, 5), counted(102, 9), *(counted(102 + 2 * n, 9) for n in range(1, 5))]
    assert watched_node(*frames).paces["a"].stuck == 8
    assert watched_node(*frames, counted(112, 10)).paces["a"].stuck == 0
    assert watched_node(*frames, counted(112, 10)).paces["a"].slowest == 8


def test_counters_that_are_missing_once_are_no_growth():
    missing = a_frame(uptime=104.0, engines={"a": engine_text()})
    pace = watched_node(counted(100, 10**7), counted(102, 10**7), missing, counted(106, 10**7)).paces["a"]
    assert (pace.written, pace.stuck) == (None, 4)


def test_the_use_of_the_cache_is_that_of_the_fullest_engine():
    lines = "".join(f'vllm:kv_cache_usage_perc{{engine="{n}"}} 0.6\n' for n in (0, 1))
    assert a_frame(engines={"a": f"http 200 0\n{lines}"}).engines["a"].counters == {"kv_cache_usage_perc": 0.6}


def test_an_idle_engine_is_not_stuck():
    assert watched_node(*(counted(100 + 2 * n, 9, running=0) for n in range(5))).paces["a"].stuck == 0


def test_an_api_that_does_not_answer_any_more_is_silent_one_that_loads_is_not():
    def told(code: str, log: str) -> list[WatchFrame]:
        return [a_frame(uptime=102.0 + 2 * n, engines={"a": engine_text(code, log)}) for n in range(4)]

    assert watched_node(counted(100, 5), *told("000 7", "a line")).paces["a"].silent == 8
    assert watched_node(*told("000 28", "a line")).paces["a"].silent == 6  # it takes connections, and never answered
    assert watched_node(*told("000 7", "a line")).paces["a"].silent == 0
    loads = told("000 28", "Loading safetensors checkpoint shards:  50% Completed | 4/8")
    assert watched_node(*loads).paces["a"].silent == 0


def test_speculated_tokens_that_held_are_a_share():
    old = {"spec_decode_num_draft_tokens_total": 10.0, "spec_decode_num_accepted_tokens_total": 4.0}
    new = {"spec_decode_num_draft_tokens_total": 30.0, "spec_decode_num_accepted_tokens_total": 19.0}
    assert watched_node(counted(100, 5, **old), counted(102, 9, **new)).paces["a"].accepted == 0.75


def test_traffic_is_in_bits_and_the_kernel_counts_in_four_bytes():
    before, after = ("4: ACTIVE", "200 Gb/sec", 1000, 0), ("4: ACTIVE", "200 Gb/sec", 1000 + 10**9, 10**8)
    traffic = watched_node(a_frame(uptime=100.0, link=before), a_frame(uptime=102.0, link=after)).traffic
    assert (traffic.received, traffic.sent) == (16e9, 1.6e9)


@pytest.mark.parametrize(
    "second",
    [{"uptime": 3.0, "boot": "two"}, {"uptime": 50.0}, {"uptime": float("nan")}, {"uptime": 1e6}],
    ids=["a boot", "a clock that went back", "no number", "a gap"],
)
def test_nothing_is_said_of_a_time_that_is_unknown(second):
    node = watched_node(
        counted(100, 5), a_frame(**{"engines": {"a": engine_text(generation_tokens_total=9)}, **second})
    )
    assert node.traffic is None
    assert node.paces["a"].written is None


def test_restarts_are_remembered_for_ten_minutes():
    frames = [a_frame(uptime=100.0 + 2 * n, containers=[container_line("c", restarts=n)]) for n in range(4)]
    assert len(watched_node(*frames).restarts) == 3
    later = [a_frame(uptime=100.0 + 50 * n, containers=[container_line("c", restarts=3)]) for n in range(1, 20)]
    assert watched_node(*frames, *later).restarts == ()


def test_a_node_that_is_lost_keeps_its_last_values():
    node = lost(watched_node(counted(100, 5), counted(102, 9)), "connection refused", 10.0)
    assert (node.problem, node.since, node.traffic) == ("connection refused", 10.0, None)
    assert lost(node, "still", 20.0).since == 10.0
    assert node.frame.memory.total_kib > 0


@pytest.mark.parametrize("value", ["NaN", "inf", "-inf", "1e999", "1e300", "x", ""])
def test_counters_that_are_no_numbers_are_left_out(value):
    frame = a_frame(engines={"a": f"http 200 0\nvllm:generation_tokens_total{{}} {value}"})
    assert frame.engines["a"].counters == {}
