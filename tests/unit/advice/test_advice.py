"""Advice: measurements of one's own before those of others, those before the article; differences are shown."""

from __future__ import annotations

import pytest

from sparkops import load, load_reference, rules
from sparkops.core import reference
from sparkops.core.advice import DECISIONS, GOALS, Advice, Evidence, Goal, advise, ceiling, published
from sparkops.core.recipe import Overrides, effective
from sparkops.core.topology import Shape
from support.paths import ARTICLES

GPT = "openai/gpt-oss-120b"
PUBLISHED = published(reference.points(load_reference.tables("openai-gpt-oss-120b")), GPT)


def says(goal: Goal, concurrency: int) -> Advice:
    return advise(goal, concurrency, PUBLISHED)


def own(topology: str, concurrency: int, value: float, metric: str = "decode") -> Evidence:
    return Evidence(metric, topology, concurrency, value, "my run", "2026-11-20", GPT, own=True)


@pytest.mark.parametrize(
    ("goal", "concurrency", "topology"),
    [
        ("decode", 1, "cluster"),
        ("decode", 16, "cluster"),
        ("decode", 64, "2x-solo"),
        ("latency", 1, "cluster"),
        ("prefill", 1, "cluster"),
        ("prefill", 16, "2x-solo"),
        ("prefill", 64, "2x-solo"),
        ("ttft", 1, "cluster"),
        ("ttft", 8, "2x-solo"),
        ("ttft", 64, "2x-solo"),
    ],
)
def test_what_was_measured_and_decided_leads_to_one_topology(goal: Goal, concurrency: int, topology: str) -> None:
    assert says(goal, concurrency).topology == topology


def test_where_the_article_and_the_measurement_differ_both_are_shown_with_their_sources() -> None:
    found = says("decode", 64)
    assert not found.agreed
    measured, article = found.opinions
    assert (measured.basis, measured.topology) == ("measured", "2x-solo")
    assert dict(measured.values)["cluster"] == 471.8
    assert (article.basis, article.topology) == ("article", "cluster")
    assert all(opinion.source and opinion.date for opinion in found.opinions)
    assert says("decode", 8).agreed


def test_ones_own_benchmarks_win() -> None:
    found = advise("decode", 8, [*PUBLISHED, own("solo", 8, 150), own("2x-solo", 8, 290), own("cluster", 8, 240)])
    assert found.topology == "2x-solo"
    assert [opinion.basis for opinion in found.opinions] == ["own", "measured", "article"]
    assert not found.agreed


def test_a_single_topology_of_ones_own_compares_nothing() -> None:
    found = advise("decode", 8, [*PUBLISHED, own("2x-solo", 8, 999)])
    assert (found.topology, found.opinions[0].basis) == ("cluster", "measured")


def test_less_is_better_for_the_first_token() -> None:
    found = advise("ttft", 4, [own("solo", 4, 900, "ttft"), own("cluster", 4, 400, "ttft")])
    assert found.topology == "cluster"
    assert "56 % less than solo" in found.opinions[0].why


def test_between_two_measured_concurrencies_the_nearer_counts_and_it_is_said() -> None:
    low, high = says("decode", 40), says("decode", 50)
    assert (low.topology, high.topology) == ("cluster", "2x-solo")
    for found in (low, high):
        assert "cluster at 32, 2x-solo at 64" in found.opinions[0].why
        assert found.opinions[0].at == (32, 64)


def test_beyond_what_was_measured_the_last_one_counts_and_it_is_said() -> None:
    assert "64, the nearest that was measured" in says("decode", 500).opinions[0].why


def test_between_two_rows_of_the_article_the_nearer_counts() -> None:
    assert [says("ttft", count).topology for count in (1, 2, 3, 7, 8)] == [
        "cluster",
        "cluster",
        "2x-solo",
        "2x-solo",
        "2x-solo",
    ]


def test_the_speed_of_one_request_is_its_share() -> None:
    values = dict(says("latency", 8).opinions[0].values)
    assert values["cluster"] == pytest.approx(231.0 / 8)


@pytest.mark.parametrize("goal", GOALS)
def test_without_any_evidence_the_article_speaks_or_nobody_does(goal: Goal) -> None:
    for concurrency in (1, 4, 16, 64):
        found = advise(goal, concurrency, ())
        assert {opinion.basis for opinion in found.opinions} <= {"article"}
        assert (found.topology is None) == (not found.opinions)


def test_what_is_not_possible_is_shown_and_not_advised() -> None:
    found = advise("decode", 8, PUBLISHED, frozenset({"solo", "2x-solo"}))
    assert found.topology == "2x-solo"
    assert found.opinions[-1].topology == "cluster"
    assert advise("decode", 8, (), frozenset({"solo"})).topology is None


def test_the_ceiling_is_the_bandwidth_over_what_the_effective_layers_read_times_the_nodes() -> None:
    found = {}
    for topology, shape in {
        "solo": Shape("solo", 1, "ray", "solo"),
        "cluster": Shape("cluster", 2, "ray", "cluster"),
    }.items():
        settings = effective(load.recipe("openai-gpt-oss-120b"), shape.kind, Overrides())
        found[topology] = ceiling(rules.judge(settings, shape, frozenset())[0], shape)
    assert found["solo"] == pytest.approx(99.5, abs=0.5)
    assert found["cluster"] == pytest.approx(2 * 75.9, abs=0.5), "without lm_head in MXFP4 each token reads more"
    unknown = effective(load.recipe("openai-gpt-oss-120b"), "solo", Overrides(("model=who/knows",)))
    assert ceiling(unknown, Shape("solo", 1, "ray", "solo")) is None


@pytest.mark.skipif(not ARTICLES.is_dir(), reason="the articles are not here ($SPARKOPS_CORPUS)")
def test_the_decision_table_is_the_articles() -> None:
    text = next(ARTICLES.glob("003*")).read_text(encoding="utf-8")
    printed = {
        "decode": "Decode throughput (any concurrency)Cluster TP=2+21% at c1, +61% at c16, +47% at c64 vs solo",
        "latency": "Per-request decode latencyCluster TP=2Fastest per-request speed at all concurrency levels",
        "prefill": "Prefill throughput at c16+2x Solo + LiteLLMBoth nodes process different prefills in parallel "
        "(+45% at c64)",
        "ttft": "TTFT at c8+2x Solo + LiteLLMIndependent prefill queues (-45% at c64)",
    }
    for line in (*printed.values(), "Single-request TTFTCluster TP=2Faster single-request prefill (-33% vs solo)"):
        assert line in text
    rows = {(row.goal, row.least, row.most): row.topology for row in DECISIONS}
    assert rows == {
        ("decode", 1, None): "cluster",
        ("latency", 1, None): "cluster",
        ("prefill", 16, None): "2x-solo",
        ("ttft", 1, 1): "cluster",
        ("ttft", 8, None): "2x-solo",
    }
    for row in DECISIONS:
        assert all(
            word.strip(",") in printed["decode"] for word in row.why.split() if row.goal == "decode" and "%" in word
        )
