"""Inventories, recipes and overrides made of nonsense are read or refused in one line; nothing else escapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkops import load, rules
from sparkops.core import inventory_file, recipe_file
from sparkops.core.recipe import Overrides, command_line, effective
from sparkops.core.topology import Shape
from sparkops.errors import UsageError
from sparkops.located import parse

WORDS = [
    *("all", "hosts", "vars", "children", "address", "ansible_host", "port", "become", "recipe", "a[1:3]", "10.0.0.1"),
    *("model", "container", "args", "env", "mounts", "topologies", "solo", "cluster", "only", "nodes", "min", "max"),
    *("metadata", "results", "rows", "columns", "extends", "revision", "max-model-len", "tensor-parallel-size"),
    *("compilation-config", "compilation-config.a.b", "no-enforce-eager", "enforce-eager", "mxfp4-layers", "all,x"),
    *(
        "served-model-name",
        "cudagraph-capture-sizes",
        "gpu-memory-utilization",
        "openai/gpt-oss-120b",
        "vllm-node-mxfp4",
    ),
    *("cudagraph_capture_sizes", "128k", "0.95", "auto", "-1", "--x", "", " ", "\n", "~", "on", "1e9", "é", "\u2028"),
]
SCALAR = st.one_of(st.sampled_from(WORDS), st.none(), st.booleans(), st.integers(-9, 9**12), st.floats(-9, 9))
KEY = st.sampled_from(WORDS)
TREE = st.recursive(SCALAR, lambda below: st.lists(below, max_size=3) | st.dictionaries(KEY, below, max_size=5))
MAPPING = st.dictionaries(KEY, TREE, max_size=6)
RECIPE = st.fixed_dictionaries(
    {"model": st.sampled_from(["openai/gpt-oss-120b", "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8", "m"])},
    optional={
        "args": MAPPING,
        "env": MAPPING,
        "only": TREE,
        "nodes": TREE,
        "topologies": MAPPING,
        "benchmark": MAPPING,
    },
)
SHAPES = [Shape("solo", 1, "ray", "solo"), Shape("cluster", 2, "ray", "cluster"), Shape("cluster", 3, "mp", "cluster")]


def refused(work: Callable[[], Any]) -> str:
    """The message if it was refused."""
    try:
        work()
    except UsageError as error:
        return str(error)
    return ""


@settings(max_examples=80, deadline=None)
@given(MAPPING)
def test_an_inventory_of_nonsense(tree: dict[str, Any]) -> None:
    document = parse(json.dumps(tree).encode(), "f.yml")
    assert "\n" not in refused(lambda: inventory_file.read(document))


@settings(max_examples=80, deadline=None)
@given(MAPPING)
def test_a_recipe_of_nonsense(tree: dict[str, Any]) -> None:
    document = parse(json.dumps(tree).encode(), "f.yml")
    assert "\n" not in refused(lambda: recipe_file.read([("f", document)], load.flag_table()))


@settings(max_examples=120, deadline=None)
@given(RECIPE, st.lists(st.sampled_from(WORDS), max_size=4), st.sampled_from(SHAPES))
def test_what_can_be_read_can_be_judged_and_rendered(tree: dict[str, Any], extra: list[str], shape: Shape) -> None:
    document = parse(json.dumps(tree | {"container": "vllm-node-mxfp4"}).encode(), "f.yml")

    def all_of_it() -> None:
        recipe = recipe_file.read([("f", document)], load.flag_table())
        settled, _ = rules.judge(effective(recipe, shape.kind, Overrides((), tuple(extra))), shape, frozenset())
        words = command_line(settled)
        assert all(isinstance(word, str) for word in words)
        again, findings = rules.judge(settled, shape, frozenset())
        assert again == settled
        assert "fix" not in {finding.action for finding in findings}

    assert "\n" not in refused(all_of_it)
