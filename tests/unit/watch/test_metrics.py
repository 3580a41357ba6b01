"""What `watch --metrics` answers: Prometheus' own check finds nothing, and no node can spoil the answer."""

import re
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.dashboard import PANELS
from sparkops.core.watch.deployment_metrics import DEPLOYMENT_METRICS
from sparkops.core.watch.exported import MOST
from sparkops.core.watch.node import heard, lost
from sparkops.core.watch.node_metrics import NODE_METRICS
from sparkops.core.watch.picture import Picture, picture
from support.exporter import answer
from support.frames import HASH, a_deployment, a_frame, container_line, engine_text, watched_node
from support.prometheus import promtool

HEAD, WORKER = f"sparkops-chat-head-{HASH[:8]}", f"sparkops-chat-worker-{HASH[:8]}"


def values(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def a_picture(*frames: dict[str, object], watts: str = "42.10") -> Picture:
    """A cluster whose head writes 100 tokens and ends two requests a second."""
    gpu = f"2405, {watts}, 96, 58, P0, 0x0000000000000000"
    told = [
        a_frame(
            uptime=100.0 + 2 * at,
            gpu=gpu,
            containers=[container_line(HEAD, role="head")],
            engines={HEAD: engine_text(generation_tokens_total=200 * at, prompt_tokens_total=at,
                                       request_success_total=4 * at, num_requests_running=3, kv_cache_usage_perc=0.5)},
        )
        for at in range(20)
    ]  # fmt: skip
    rows = [container_line(WORKER, role="worker")]
    worker = watched_node(
        *(a_frame(uptime=100.0 + 2 * at, gpu=gpu, containers=rows) for at in range(20)), name="spark2"
    )
    return picture(38.0, {"spark1": watched_node(*told), "spark2": worker}, [a_deployment()])


def test_prometheus_finds_nothing_to_mend():
    shown = a_picture()
    checked = promtool("check", "metrics", told=answer(replace(shown, found=[Alert("link-slow", "", "", "spark1")])))
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_units_are_base_units():
    found = values(answer(a_picture()))
    assert found['sparkops_node_gpu_clock_hertz{node="spark1"}'] == 2.405e9
    assert found['sparkops_node_memory_total_bytes{node="spark1"}'] == 127535056 * 1024
    assert found['sparkops_link_rate_bytes_per_second{device="rocep1s0f0",node="spark1"}'] == 25e9
    assert found['sparkops_engine_generated_tokens_total{deployment="chat",node="spark1",role="head"}'] == 3800
    assert found['sparkops_engine_kv_cache_usage_ratio{deployment="chat",node="spark1",role="head"}'] == 0.5


def test_energy_is_the_power_of_all_nodes_over_what_they_did():
    found = values(answer(a_picture()))
    assert found['sparkops_deployment_joules_per_token{deployment="chat"}'] == pytest.approx(2 * 42.1 / 100)
    assert found['sparkops_deployment_joules_per_request{deployment="chat"}'] == pytest.approx(2 * 42.1 / 2)


def test_without_power_nothing_is_said_of_energy():
    assert "joules_per_token{" not in answer(a_picture(watts="[N/A]"))
    assert "joules_per_token{" not in answer(a_picture(watts="0.00"))


def test_energy_begins_anew_when_other_engines_run():
    shown, rows = a_picture(), [container_line(HEAD, role="head"), container_line("other", deployment="other")]
    node = shown.nodes["spark1"]
    for at in range(8):
        both = a_frame(uptime=140.0 + 2 * at, containers=rows if at == 0 else rows[:1], engines={HEAD: engine_text()})
        node = heard(node, both, 40.0 + 2 * at)
        assert [one.at for one in node.spent] == [140.0 + 2 * n for n in range(2, at + 1)]


def test_of_a_node_that_is_away_nothing_is_said_but_that():
    shown = a_picture()
    silent = replace(shown, found=[Alert("node-away", "", "", "spark2")])
    gone = replace(shown, nodes={**shown.nodes, "spark2": lost(shown.nodes["spark2"], "gone", 15.0)})
    for away in (silent, gone):
        found = values(answer(away))
        assert found['sparkops_node_up{node="spark2"}'] == 0
        assert [name for name in found if "spark2" in name and "_up" not in name and "sparkops_alert" not in name] == []


def test_what_a_node_names_is_bounded_and_no_series_comes_twice():
    hostile = 'a"\n# HELP x\nevil{} 1\\\ud800'
    found = [Alert("link-slow", "", "", hostile, hostile), *(Alert("x", "", "", str(at)) for at in range(500))]
    text = answer(Picture(9.0, found=found * 2))
    parsed = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert 0 < len(parsed) <= MOST
    assert len({(one.name, *one.labels.values()) for one in parsed}) == len(parsed)
    assert "\nevil" not in text


def test_the_dashboard_asks_only_for_what_there_is():
    names = {metric.name for metric in (*NODE_METRICS, *DEPLOYMENT_METRICS)}
    asked = {name for panel in PANELS for expr, _ in panel.queries for name in re.findall(r"sparkops_\w+", expr)}
    assert asked <= names
