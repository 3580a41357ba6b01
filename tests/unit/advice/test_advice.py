"""Advice: measurements of one's own before the article, that before those of others; differences are shown."""

from pathlib import Path

import pytest

from sparkops import rules
from sparkops.core import reference
from sparkops.core.advice import DECISIONS, METRIC, Evidence, advise, ceiling, published
from sparkops.core.effective import Overrides, effective
from sparkops.core.topology import Shape
from sparkops.files import recipes
from sparkops.files import reference as load_reference
from support import golden
from support.paths import ARTICLES

GPT = "openai/gpt-oss-120b"
PUBLISHED = published(reference.points(load_reference.tables("openai-gpt-oss-120b")), GPT)


def advised(line: str) -> str:
    """`GOAL at N`, `own TOPOLOGY=VALUE…`, `alone` without what others measured, `possible TOPOLOGY…`."""
    goal, _, count, *words = line.split()
    own = [word.partition("=") for word in words if "=" in word]
    evidence = () if "alone" in words else PUBLISHED
    mine = [Evidence(METRIC[goal], one, 8, float(value), "mine", "2026-11", GPT, own=True) for one, _, value in own]
    possible = frozenset(words[words.index("possible") + 1 :]) if "possible" in words else None
    found = advise(goal, int(count), [*evidence, *mine], possible)  # type: ignore[arg-type]
    told = [f"{found.topology}, {'agreed' if found.agreed else 'not agreed'}"]
    for one in found.opinions:
        values = ", ".join(f"{topology} {value:.2f}" for topology, value in one.values)
        told.append(f"  {one.basis} {one.topology}: {one.why} ({one.source}, {one.date}) {one.at or ''} {values}")
    return "\n".join(told)


def test_advice_comes_out_as_its_file_says() -> None:
    golden.hold_lines(Path(__file__).with_name("advice.txt"), advised)


def test_the_ceiling_is_the_bandwidth_over_what_the_effective_layers_read_times_the_nodes() -> None:
    found = {}
    for topology, shape in {
        "solo": Shape("solo", 1, "ray", "solo"),
        "cluster": Shape("cluster", 2, "ray", "cluster"),
    }.items():
        settings = effective(recipes.recipe("openai-gpt-oss-120b"), shape.kind, Overrides())
        found[topology] = ceiling(rules.judge(settings, shape, frozenset())[0], shape)
    assert found["solo"] == pytest.approx(99.5, abs=0.5)
    assert found["cluster"] == pytest.approx(2 * 75.9, abs=0.5), "without lm_head in MXFP4 each token reads more"
    unknown = effective(recipes.recipe("openai-gpt-oss-120b"), "solo", Overrides(("model=who/knows",)))
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
