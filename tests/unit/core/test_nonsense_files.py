"""Inventories, recipes and overrides made of nonsense are read or refused in one line; nothing else escapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
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


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a tab": (b"model: m\n\tcontainer: c\n", "f.yml:2: a tab where spaces are needed"),
    "a key twice": (b"model: m\ncontainer: c\nmodel: n\n", "f.yml:3: model: is given twice (first on line 1)"),
    "a key twice below": (b"args:\n  seed: 1\n  seed: 2\n", "f.yml:3: seed: is given twice"),
    "one flag in two spellings": (
        b"model: m\ncontainer: c\nargs:\n  max-num-seqs: 1\n  max_num_seqs: 2\n",
        "f.yml:5: args.max_num_seqs: --max-num-seqs is given twice (f.yml:4)",
    ),
    "ten to the ninth by aliases": (
        b"a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 10)) for i in range(8)),
        "f.yml:5: has more than 100000 values",
    ),
    "an alias of itself": (b"a: &a [*a]\n", "f.yml:1: contains itself by an alias"),
    "ten megabytes of nonsense": (bytes(range(256)) * 40_000, "f.yml:1: is larger than 1000 kB"),
    "a megabyte of brackets": (b"[" * 900_000, "f.yml:1: is nested too deeply"),
    "deep nesting": (b"args: " + b"{a: " * 500 + b"1" + b"}" * 500, "f.yml:1: is nested too deeply"),
    "a list for a text": (b"model: [m]\ncontainer: c\n", "f.yml:1: model: must be text, not a list"),
    "a list for a mapping": (b"model: m\ncontainer: c\nargs: [1]\n", "f.yml:3: args: must be a mapping, not a list"),
    "a text for a number": (
        b"model: m\ncontainer: c\nargs: {max-num-seqs: many}\n",
        "f.yml:3: args.max-num-seqs: must be a number, not 'many'",
    ),
    "a number of 5000 digits": (
        b"model: m\ncontainer: c\nargs: {seed: " + b"9" * 5000 + b"}\n",
        "f.yml:3: args.seed: must",
    ),
    "another encoding": ("model: m\n# caf\xe9\n".encode("latin-1"), "f.yml:2: is not UTF-8 text"),
    "two bytes a letter": ("model: m\n".encode("utf-16"), "f.yml:1: is not UTF-8 text"),
    "a control character": (b"model: m\0\n", "f.yml:1: has a character that YAML does not allow"),
    "nothing": (b"", "f.yml:1: is empty"),
    "a word": (b"hello", "f.yml:1: must be a mapping, not text"),
    "two documents": (b"model: m\n---\nmodel: n\n", "f.yml:2: has a second document"),
    "a key that is a list": (b"? [a]\n: b\n", "f.yml:1: a key must be a word"),
    "a thousand flags": (
        b"model: m\ncontainer: c\nargs:\n" + b"".join(b"  flag-%d: 1\n" % i for i in range(1500)),
        "f.yml:4: args: has more than 1000 flags",
    ),
    "a command of thousands of words": (
        b"model: m\ncontainer: c\ncommand: vllm serve m " + b"--a b " * 3000,
        "f.yml:3: command: has more than 2000 words",
    ),
    "a command that grows": (
        b"recipe_version: 1\nname: n\ncontainer: c\ndefaults: {a: "
        + b"x" * 300_000
        + b"}\ncommand: vllm serve {a}{a}{a}\n",
        "f.yml:5: command: is longer than any command",
    ),
}


@pytest.mark.parametrize(("data", "said"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_one_short_line_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.yml").write_bytes(data)
    message = refused(lambda: load.recipe("f.yml"))
    assert said in message
    assert "\n" not in message
    assert len(message) < 300


@pytest.mark.parametrize(
    "data",
    [b"model: m\r\ncontainer: c\r\nargs:\r\n  seed: 1\r\n", b"\xef\xbb\xbfmodel: m\ncontainer: c\nargs: {seed: 1}"],
)
def test_windows_line_ends_and_a_mark_before_are_no_mistakes(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "f.yml").write_bytes(data)
    assert load.recipe(str(tmp_path / "f.yml")).args["seed"].value == 1
