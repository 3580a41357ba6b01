"""Each rule speaks when it must and is silent when it must; together they leave nothing for a second pass."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sparkops import load, rules
from sparkops.core.findings import Finding
from sparkops.core.flags import Flag
from sparkops.core.inventory import Node
from sparkops.core.recipe import Effective, Overrides, command_line, effective
from sparkops.core.topology import Shape, parse, place
from sparkops.rules.graphs import capture_sizes
from sparkops.rules.rule import Example, Rule

Built = Callable[[Example], tuple[Effective, Shape]]

QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8"
MINIMAX = "cyankiwi/MiniMax-M2.5-AWQ-4bit"
NODES = tuple(Node(f"spark{n}", f"10.0.0.{n}") for n in range(1, 5))
TP2 = {"tensor-parallel-size": 2, "distributed-executor-backend": "ray"}
SIZES = {"compilation-config": {"cudagraph_capture_sizes": [1, 2, 4, 8]}}
MOE, NGC_MOE = "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8", "VLLM_USE_FLASHINFER_MXFP4_MOE"
TIKTOKEN = {"TIKTOKEN_RS_CACHE_DIR": "/root/.cache/tiktoken_rs"}


def rule(name: str) -> Rule:
    return next(rule for rule in rules.RULES if rule.id == name)


def said(built: Built, name: str, **example: Any) -> tuple[str, dict[str, Any]]:
    """What one rule does to an example, and the settings it changes."""
    settings, shape = built(Example(**example))
    verdict = rule(name).judge(settings, shape)
    if verdict is None:
        return "", {}
    return verdict.action, {change.key: change.after for change in verdict.changes}


@pytest.mark.parametrize("one", rules.RULES, ids=lambda one: one.id)
def test_a_rule_speaks_to_its_first_example_and_not_to_its_second(built: Built, one: Rule) -> None:
    assert one.judge(*built(one.example_hit)) is not None
    assert one.judge(*built(one.example_miss)) is None
    assert one.title
    assert one.why
    assert one.source


def test_a_rule_does_only_what_it_says_it_does() -> None:
    for one in rules.RULES:
        assert {action for name, _, action, _ in CASES if name == one.id and action} <= set(one.actions), one.id


def test_ids_are_unique() -> None:
    assert len({one.id for one in rules.RULES}) == len(rules.RULES)


CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("topology-allowed", {"topology": "2x-solo", "only": ("cluster",)}, "refuse", {}),
    ("topology-allowed", {"topology": "solo", "only": ("solo", "cluster")}, "", {}),
    ("topology-allowed", {"topology": "cluster", "most": 1}, "refuse", {}),
    ("topology-allowed", {"topology": "cluster", "most": 2}, "", {}),
    ("topology-allowed", {"topology": "4x-solo", "nodes": 4, "most": 1}, "", {}),
    ("cluster-backend", {"topology": "cluster"}, "fix", TP2),
    (
        "cluster-backend",
        {"topology": "cluster", "executor": "mp"},
        "fix",
        {**TP2, "distributed-executor-backend": "mp"},
    ),
    ("cluster-backend", {"topology": "cluster", "args": {"tensor-parallel-size": 8}}, "fix", TP2),
    ("cluster-backend", {"topology": "cluster", "nodes": 3}, "refuse", {}),
    (
        "cluster-backend",
        {"topology": "cluster", "nodes": 3, "model": "who/knows"},
        "fix",
        {**TP2, "tensor-parallel-size": 3},
    ),
    ("cluster-backend", {"topology": "cluster", "nodes": 4}, "fix", {**TP2, "tensor-parallel-size": 4}),
    (
        "cluster-backend",
        {"topology": "cluster", "nodes": 3, "args": {"pipeline-parallel-size": 3}},
        "fix",
        {"tensor-parallel-size": 1},
    ),
    ("cluster-backend", {"topology": "cluster", "nodes": 4, "args": {"pipeline-parallel-size": 2}}, "fix", TP2),
    ("cluster-backend", {"topology": "cluster", "nodes": 2, "args": {"pipeline-parallel-size": 3}}, "refuse", {}),
    ("cluster-backend", {"topology": "cluster", "image": "vllm/vllm-openai:v0.28.0"}, "refuse", {}),
    ("cluster-backend", {"topology": "cluster", "image": "nvcr.io/nvidia/vllm:26.04-py3", "executor": "mp"}, "fix", {}),
    ("cluster-backend", {"topology": "cluster", "image": "unheard/of"}, "fix", TP2),
    ("cluster-backend", {"topology": "2x-solo"}, "", {}),
    ("solo-no-cluster-flags", {"args": TP2}, "fix", {"tensor-parallel-size": 1, "distributed-executor-backend": None}),
    (
        "solo-no-cluster-flags",
        {"topology": "2x-solo", "args": {"pipeline-parallel-size": 2}},
        "fix",
        {"pipeline-parallel-size": None},
    ),
    ("solo-no-cluster-flags", {"topology": "cluster", "args": TP2}, "", {}),
    ("cluster-eager", {"topology": "cluster", "args": TP2}, "fix", {"enforce-eager": True}),
    (
        "cluster-eager",
        {"topology": "cluster", "args": {**TP2, "no-enforce-eager": True}},
        "fix",
        {"enforce-eager": True},
    ),
    ("cluster-eager", {"topology": "cluster", "args": {**TP2, **SIZES}}, "fix", {"enforce-eager": True}),
    (
        "cluster-eager",
        {"topology": "cluster", "args": TP2, "image": "x", "model": QWEN},
        "fix",
        {"enforce-eager": True},
    ),
    ("cluster-eager", {"topology": "cluster", "args": TP2, "image": "vllm-node"}, "fix", {"enforce-eager": True}),
    ("cluster-eager", {"topology": "cluster", "args": {**TP2, **SIZES}, "image": "vllm-node"}, "warn", {}),
    (
        "cluster-eager",
        {"topology": "cluster", "args": {**TP2, "compilation-config": {"cudagraph_mode": "NONE"}}},
        "",
        {},
    ),
    (
        "cluster-eager",
        {"topology": "cluster", "args": {"pipeline-parallel-size": 2, "tensor-parallel-size": 1}},
        "",
        {},
    ),
    ("cluster-eager", {"topology": "2x-solo"}, "", {}),
    (
        "cluster-lm-head",
        {"topology": "cluster", "args": {**TP2, "mxfp4-layers": "all"}},
        "fix",
        {"mxfp4-layers": "moe,qkv,o"},
    ),
    (
        "cluster-lm-head",
        {"topology": "cluster", "args": {**TP2, "mxfp4-layers": "lm_head, moe"}},
        "fix",
        {"mxfp4-layers": "moe"},
    ),
    (
        "cluster-lm-head",
        {"topology": "cluster", "args": {**TP2, "mxfp4-layers": "lm_head"}},
        "fix",
        {"mxfp4-layers": "moe"},
    ),
    ("cluster-lm-head", {"topology": "cluster", "args": {**TP2, "mxfp4-layers": "moe,qkv,o"}}, "", {}),
    ("cluster-lm-head", {"topology": "cluster", "args": TP2}, "", {}),
    ("cluster-lm-head", {"topology": "2x-solo", "args": {"mxfp4-layers": "all"}}, "", {}),
    ("mxfp4-image", {"image": "nvcr.io/nvidia/vllm:26.04-py3", "args": {"mxfp4-layers": "moe"}}, "refuse", {}),
    ("mxfp4-image", {"image": "unheard/of", "args": {"mxfp4-layers": "moe"}}, "warn", {}),
    ("mxfp4-image", {}, "warn", {}),
    ("mxfp4-image", {"model": QWEN}, "", {}),
    ("mxfp4-image", {"image": "vllm-node"}, "", {}),
    ("marlin-fallback", {"image": "vllm-node"}, "warn", {}),
    ("marlin-fallback", {"image": "vllm-node", "model": "x/y", "args": {"quantization": "mxfp4"}}, "warn", {}),
    ("marlin-fallback", {"image": "unheard/of"}, "", {}),
    ("marlin-fallback", {}, "", {}),
    ("mxfp4-memory", {"args": {"gpu-memory-utilization": 0.95}}, "refuse", {}),
    ("mxfp4-memory", {"args": {"gpu-memory-utilization": 0.91}}, "warn", {}),
    ("mxfp4-memory", {"args": {"gpu-memory-utilization": 0.95}, "image": "vllm-node"}, "", {}),
    ("mxfp4-memory", {}, "", {}),
    ("long-context-memory", {"args": {"gpu-memory-utilization": 0.85}}, "refuse", {}),
    ("long-context-memory", {}, "refuse", {}),
    (
        "long-context-memory",
        {"topology": "2x-solo", "args": {"max-model-len": 131072, "gpu-memory-utilization": 0.9}},
        "refuse",
        {},
    ),
    ("long-context-memory", {"args": {"gpu-memory-utilization": 0.9, "max-num-seqs": 2}}, "warn", {}),
    ("long-context-memory", {"args": {"gpu-memory-utilization": 0.7}}, "warn", {}),
    ("long-context-memory", {"args": {"gpu-memory-utilization": 0.9, "max-model-len": 4096}}, "", {}),
    ("long-context-memory", {"topology": "cluster", "args": {"gpu-memory-utilization": 0.8}}, "warn", {}),
    ("long-context-memory", {"topology": "cluster", "args": {"gpu-memory-utilization": 0.79}}, "", {}),
    ("long-context-memory", {"topology": "cluster"}, "warn", {}),
    ("long-context-memory", {"model": QWEN}, "", {}),
    ("env-per-image", {}, "fix", {**TIKTOKEN, MOE: "1"}),
    ("env-per-image", {"env": {"TIKTOKEN_ENCODINGS_BASE": "/t", MOE: "0"}}, "", {}),
    ("env-per-image", {"model": QWEN}, "", {}),
    ("env-per-image", {"image": "vllm-node", "env": {MOE: "1"}}, "fix", {MOE: None}),
    ("env-per-image", {"image": "vllm-node"}, "", {}),
    (
        "env-per-image",
        {"image": "nvcr.io/nvidia/vllm:26.04-py3", "env": {MOE: "1"}},
        "fix",
        {**TIKTOKEN, NGC_MOE: "1", MOE: None},
    ),
    ("env-per-image", {"image": "unheard/of", "env": {MOE: "1"}}, "warn", {}),
    (
        "mounts-required",
        {"mounts": ("huggingface", "/data/vllm:/root/.cache/vllm")},
        "fix",
        dict.fromkeys(("tiktoken_rs", "ccache", "flashinfer"), True),
    ),
    ("gpt-oss-parsers", {"args": {"tool-call-parser": "openai"}}, "", {}),
    ("gpt-oss-parsers", {"model": QWEN, "args": {"tool-call-parser": "hermes"}}, "", {}),
    (
        "qwen3-next",
        {
            "model": QWEN,
            "args": {"max-num-seqs": 32, "no-enable-chunked-prefill": True, "trust-remote-code": True},
            "env": {"VLLM_USE_DEEP_GEMM": "1", "VLLM_FLASHINFER_MOE_BACKEND": "latency"},
        },
        "fix",
        {"enable-chunked-prefill": True, "VLLM_USE_DEEP_GEMM": "0", "VLLM_FLASHINFER_MOE_BACKEND": None},
    ),
    ("qwen3-next", {}, "", {}),
    ("capture-sizes-useless", {"args": {"enforce-eager": True, "cudagraph-capture-sizes": [1, 2]}}, "warn", {}),
    ("capture-sizes-useless", {"args": {"enforce-eager": True}}, "", {}),
    (
        "benchmark-alignment",
        {
            "args": SIZES,
            "benchmark": (
                "--concurrency",
                "1",
                "5",
                "10",
                "--runs",
                "5",
            ),
        },
        "warn",
        {},
    ),
    (
        "benchmark-alignment",
        {
            "args": {"enforce-eager": True},
            "benchmark": (
                "--concurrency",
                "5",
            ),
        },
        "",
        {},
    ),
    (
        "benchmark-alignment",
        {
            "benchmark": (
                "--runs",
                "5",
                "--concurrency",
                "4",
            )
        },
        "",
        {},
    ),
    ("mxfp4-backend", {"args": {"mxfp4-backend": "TRITON"}}, "refuse", {}),
    ("mxfp4-backend", {"args": {"mxfp4-backend": "CUTLASS"}}, "", {}),
    ("mxfp4-backend", {}, "", {}),
    ("cutlass-graphs", {"args": {"quantization": "mxfp4"}}, "warn", {}),
    ("cutlass-graphs", {"args": {"mxfp4-backend": "MARLIN"}}, "", {}),
    ("cutlass-graphs", {"topology": "2x-solo", "args": {"compilation-config": {"cudagraph_mode": "NONE"}}}, "", {}),
    ("cutlass-graphs", {"topology": "2x-solo"}, "warn", {}),
    ("cutlass-graphs", {"topology": "cluster"}, "", {}),
    ("cutlass-graphs", {"image": "vllm-node"}, "", {}),
    ("cutlass-graphs", {"model": QWEN}, "", {}),
    ("eager-on-marlin", {"args": {"mxfp4-backend": "MARLIN", "enforce-eager": True}}, "warn", {}),
    ("eager-on-marlin", {"image": "vllm-node", "args": {"enforce-eager": True}, "model": QWEN}, "", {}),
    ("eager-on-marlin", {"image": "vllm-node", "args": {"enforce-eager": True}, "topology": "cluster"}, "", {}),
    ("mxfp4-lora", {"args": {"mxfp4-layers": "all", "enable-lora": True}}, "warn", {}),
    ("mxfp4-lora", {"args": {"mxfp4-layers": "moe,qkv,o"}}, "", {}),
    ("official-nccl", {"topology": "cluster", "image": "vllm-node"}, "", {}),
    ("async-with-ray", {"args": {"async-scheduling": True}}, "", {}),
    ("async-with-ray", {"topology": "cluster", "args": {"no-async-scheduling": True}}, "", {}),
    ("rolling-image", {"image": "eugr/spark-vllm"}, "warn", {}),
    ("rolling-image", {"image": "eugr/spark-vllm@sha256:abc"}, "", {}),
    ("rolling-image", {"image": "registry:5000/me/vllm-node:2026-03"}, "", {}),
    ("rolling-image", {"image": "vllm/vllm-openai:cu130-nightly"}, "warn", {}),
    ("rolling-image", {"image": "vllm-node:latest"}, "", {}),
    ("rolling-image", {}, "", {}),
    ("loader-installed", {"image": "vllm-node", "args": {"load-format": "instanttensor"}}, "", {}),
    ("loader-installed", {"args": {"load-format": "instanttensor"}}, "warn", {}),
    ("loader-installed", {"image": "unheard/of", "args": {"load-format": "instanttensor"}}, "", {}),
    ("loader-installed", {"image": "vllm/vllm-openai:v0.28.0", "args": {"load-format": "auto"}}, "", {}),
    ("env-literal", {"env": {"A": "${HOME}/x"}}, "warn", {}),
    ("env-literal", {"env": {"A": "$(date)"}}, "warn", {}),
    ("env-literal", {"env": {"A": "100$", "B": "a$1"}}, "", {}),
    ("network-per-node", {"topology": "cluster", "env": {"NCCL_IB_HCA": "rocep1s0f1"}}, "warn", {}),
    ("network-per-node", {"topology": "cluster", "env": {"RAY_ADDRESS": "a:1", "NCCL_IB_HCA": "x"}}, "refuse", {}),
    ("network-per-node", {"topology": "cluster", "env": {"NCCL_DEBUG": "INFO"}}, "", {}),
    ("network-per-node", {"env": {"NCCL_IB_HCA": "rocep1s0f1"}}, "", {}),
    ("utilization-unset", {"image": "vllm-node", "args": {"kv-cache-memory-bytes": 2**33}}, "", {}),
    ("utilization-unset", {"image": "vllm/vllm-openai:v0.28.0"}, "warn", {}),
    ("utilization-unset", {}, "", {}),
    ("memory-fits", {"image": "vllm-node", "model": MINIMAX}, "refuse", {}),
    ("memory-fits", {"image": "vllm-node", "model": MINIMAX, "topology": "cluster"}, "", {}),
    (
        "memory-fits",
        {"image": "vllm-node", "model": MINIMAX, "topology": "cluster", "args": {"gpu-memory-utilization": 0.7}},
        "warn",
        {},
    ),
    ("memory-fits", {"model": QWEN, "image": "vllm-node", "args": {"gpu-memory-utilization": 0.6}}, "warn", {}),
    ("memory-fits", {"model": "who/knows"}, "", {}),
    ("unknown-flag", {"args": {"enforce-eagre": True}}, "refuse", {}),
    ("unknown-flag", {"args": {"enforce-eagre": True}, "mods": ("m",)}, "warn", {}),
    ("unknown-flag", {"args": {"brand-new-thing": True}}, "warn", {}),
    ("unknown-flag", {"args": {"swap-space": 16}, "image": "vllm-node"}, "refuse", {}),
    ("unknown-flag", {"args": {"swap-space": 16}}, "warn", {}),
    ("unknown-flag", {"args": {"gpu-memory-utilization-gb": 110}}, "warn", {}),
    ("unknown-flag", {"args": {"gpu-memory-utilization-gb": 110}, "mods": ("m",)}, "", {}),
    ("unknown-flag", {"args": {"kv-cache-dtype": "fp9"}, "image": "vllm-node"}, "warn", {}),
    ("unknown-flag", {"args": {"kv-cache-dtype": "fp9"}}, "", {}),
    ("unknown-flag", {"args": {"mxfp4-backend": "CUTLAS"}}, "warn", {}),
    ("unknown-flag", {"args": {"mxfp4-layers": "moe, qvk"}}, "warn", {}),
    ("unknown-flag", {"args": {"no-enable-prefix-caching": True, "compilation-config": {"mode": 3}}}, "", {}),
]


@pytest.mark.parametrize(("name", "example", "action", "changes"), CASES)
def test_a_rule_judges(built: Built, name: str, example: dict[str, Any], action: str, changes: dict[str, Any]) -> None:
    found = said(built, name, **example)
    assert found[0] == action
    assert changes.items() <= found[1].items()
    if action != "fix":
        assert found[1] == {}


def test_an_indivisible_cluster_is_refused_with_the_numbers_that_work(built: Built) -> None:
    verdict = rule("cluster-backend").judge(*built(Example(topology="cluster", nodes=3)))
    assert verdict is not None
    assert "64 attention heads" in verdict.message
    assert verdict.hint.endswith("2, 4, 8, 16")


def test_a_vanished_flag_says_that_it_is_gone_and_a_slip_what_was_meant(built: Built) -> None:
    gone = rule("unknown-flag").judge(*built(Example(args={"swap-space": 16})))
    slip = rule("unknown-flag").judge(*built(Example(args={"enforce-eagre": True})))
    assert gone is not None
    assert slip is not None
    assert "removed from vLLM" in gone.message
    assert slip.hint == "did you mean --enforce-eager?"


def test_an_images_own_table_of_flags_decides_what_it_is(built: Built) -> None:
    settings, shape = built(Example(image="me/my-build:3", args={"mxfp4-layers": "moe"}))
    flags = settings.recipe.flags.flags
    lacking = replace(settings.recipe.flags, flags=flags, exact=True, image="me/my-build:3")
    having = replace(lacking, flags={**flags, "mxfp4-layers": Flag("mxfp4-layers")})
    said = {}
    for name, table in {"by name": settings.recipe.flags, "lacking": lacking, "having": having}.items():
        verdict = rule("mxfp4-image").judge(replace(settings, recipe=replace(settings.recipe, flags=table)), shape)
        said[name] = verdict.action if verdict else ""
    assert said == {"by name": "warn", "lacking": "refuse", "having": ""}


@pytest.mark.parametrize("args", [SIZES, {"cudagraph-capture-sizes": [1, 2, 4, 8]}], ids=["compilation config", "flag"])
def test_the_sizes_that_a_benchmark_wants_are_offered_as_words_that_add_them(
    built: Built, args: dict[str, Any]
) -> None:
    settings, shape = built(Example(args=args, benchmark=("--concurrency", "5", "10")))
    verdict = rule("benchmark-alignment").judge(settings, shape)
    assert verdict is not None
    words = shlex.split(verdict.hint)
    overrides = Overrides((words[1],)) if words[0] == "--set" else Overrides(extra=tuple(words[1:]))
    recipe = replace(settings.recipe, args=settings.args)
    again = effective(recipe, "solo", overrides)
    assert capture_sizes(again) == (1, 2, 4, 5, 8, 10)
    assert rule("benchmark-alignment").judge(again, shape) is None


def judged(name: str, topology: str, overrides: Overrides = Overrides(), *allow: str, nodes: int = 2) -> Any:  # noqa: B008
    placement = place(parse(topology), NODES[:nodes])
    settings = effective(load.recipe(name), placement.topology.kind, overrides)
    return rules.judge(settings, placement.shape, frozenset(allow))


def actions(findings: tuple[Finding, ...]) -> dict[str, str]:
    return {finding.id: finding.action for finding in findings}


@pytest.mark.parametrize("name", load.recipe_names())
@pytest.mark.parametrize("topology", ["solo", "2x-solo", "cluster"])
def test_a_second_pass_changes_nothing(name: str, topology: str) -> None:
    settings, _ = judged(name, topology)
    again, findings = rules.judge(settings, place(parse(topology), NODES[:2]).shape, frozenset())
    assert again == settings
    assert "fix" not in actions(findings).values()


def test_a_cluster_of_the_base_recipe_is_made_safe_and_says_so() -> None:
    settings, findings = judged("openai-gpt-oss-120b", "cluster")
    assert actions(findings) == {"cluster-backend": "fix", "cluster-lm-head": "fix"}
    line = " ".join(command_line(settings))
    assert "--mxfp4-layers moe,qkv,o --" in line
    assert "--enforce-eager" in line
    assert "--tensor-parallel-size 2 --distributed-executor-backend ray" in line
    assert settings.args["mxfp4-layers"].origin == "rule cluster-lm-head"


def test_the_packaged_recipes_need_nothing_on_one_node() -> None:
    for name in ("openai-gpt-oss-120b", "qwen3-next-80b-a3b-instruct-fp8"):
        assert judged(name, "solo")[1] == ()


def test_no_override_undoes_a_rule_by_accident() -> None:
    overrides = Overrides(("args.mxfp4-layers=all",), ("--no-enforce-eager", "-tp", "1"))
    settings, _ = judged("openai-gpt-oss-120b", "cluster", overrides)
    assert (settings.value("mxfp4-layers"), settings.value("enforce-eager")) == ("moe,qkv,o", True)
    assert settings.value("tensor-parallel-size") == 2
    assert "--no-enforce-eager" not in command_line(settings)


def test_an_allowed_rule_changes_nothing_and_is_named() -> None:
    settings, findings = judged("openai-gpt-oss-120b", "cluster", Overrides(), "cluster-lm-head")
    assert settings.value("mxfp4-layers") == "moe,qkv,o,lm_head"
    allowed = next(finding for finding in findings if finding.id == "cluster-lm-head")
    assert (allowed.action, allowed.changes) == ("allowed", ())


def test_a_refusal_that_is_allowed_lets_the_other_rules_work() -> None:
    settings, findings = judged("openai-gpt-oss-120b-claude", "solo", Overrides(), "topology-allowed")
    assert actions(findings)["topology-allowed"] == "allowed"
    assert settings.value("tensor-parallel-size") is None


def test_a_change_is_told_as_a_person_reads_it() -> None:
    _, findings = judged("openai-gpt-oss-120b-concurrency", "cluster")
    told = [str(change) for finding in findings for change in finding.changes]
    assert told == [
        "--tensor-parallel-size 2",
        "--distributed-executor-backend ray",
        "--enforce-eager",
        "--mxfp4-layers moe,qkv,o (was moe,qkv,o,lm_head)",
    ]
