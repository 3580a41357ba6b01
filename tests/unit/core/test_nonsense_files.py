"""Inventories, recipes and overrides made of nonsense are read or refused in one line; nothing else escapes."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkops import rules
from sparkops.core import inventory_file, recipe_file
from sparkops.core.effective import Overrides, command_line, effective
from sparkops.core.topology import Shape
from sparkops.errors import UsageError
from sparkops.files import recipes
from sparkops.files.yaml_positions import parse
from support import golden

WORDS = [
    *("all", "hosts", "vars", "children", "address", "ansible_host", "port", "become", "recipe", "a[1:3]", "10.0.0.1"),
    *("model", "container", "args", "env", "mounts", "topologies", "solo", "cluster", "only", "nodes", "min", "max"),
    *("metadata", "results", "rows", "columns", "extends", "revision", "max-model-len", "tensor-parallel-size"),
    *("compilation-config", "compilation-config.a.b", "no-enforce-eager", "enforce-eager", "mxfp4-layers", "all,x"),
    *("served-model-name", "cudagraph-capture-sizes", "gpu-memory-utilization", "openai/gpt-oss-120b"),
    "vllm-node-mxfp4",
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


@settings(max_examples=160, deadline=None)
@given(MAPPING, st.sampled_from(["inventory", "recipe"]))
def test_a_file_of_nonsense(tree: dict[str, Any], kind: str) -> None:
    document = parse(json.dumps(tree).encode(), "f.yml")
    if kind == "inventory":
        golden.refusal(lambda: str(inventory_file.read(document)))
    else:
        golden.refusal(lambda: str(recipe_file.read([("f", document)], recipes.flag_table())))


@settings(max_examples=120, deadline=None)
@given(RECIPE, st.lists(st.sampled_from(WORDS), max_size=4), st.sampled_from(SHAPES))
def test_what_can_be_read_can_be_judged_and_rendered(tree: dict[str, Any], extra: list[str], shape: Shape) -> None:
    document = parse(json.dumps(tree | {"container": "vllm-node-mxfp4"}).encode(), "f.yml")

    def all_of_it() -> str:
        recipe = recipe_file.read([("f", document)], recipes.flag_table())
        settled, _ = rules.judge(effective(recipe, shape.kind, Overrides((), tuple(extra))), shape, frozenset())
        again, findings = rules.judge(settled, shape, frozenset())
        assert again == settled
        assert "fix" not in {finding.action for finding in findings}
        return " ".join(command_line(settled))

    golden.refusal(all_of_it)


HEAD = b"model: m\ncontainer: c\n"
HOSTILE: dict[str, tuple[bytes, str]] = {
    "one flag in two spellings": (
        HEAD + b"args:\n  max-num-seqs: 1\n  max_num_seqs: 2\n",
        "f.yml:5: args.max_num_seqs: --max-num-seqs is given twice (first in f.yml:4)",
    ),
    "ten megabytes of nonsense": (bytes(range(256)) * 40_000, "f.yml:1: is larger than 1000 kB"),
    "a megabyte of brackets": (b"[" * 900_000, "f.yml:1: is nested too deeply"),
    "deep nesting": (b"args: " + b"{a: " * 500 + b"1" + b"}" * 500, "f.yml:1: is nested too deeply"),
    "a number of 5000 digits": (HEAD + b"args: {seed: " + b"9" * 5000 + b"}\n", "f.yml:3: args.seed: must"),
    "a thousand flags": (
        HEAD + b"args:\n" + b"".join(b"  flag-%d: 1\n" % i for i in range(1001)),
        "f.yml:4: args: has more than 1000 flags",
    ),
    "a command of thousands of words": (
        HEAD + b"command: vllm serve m " + b"--a b " * 3000,
        "f.yml:3: command: has more than 2000 words",
    ),
    "a command that grows": (
        b"recipe_version: 1\nname: n\ncontainer: c\ndefaults: {a: "
        + b"x" * 300_000
        + b"}\ncommand: vllm serve {a}{a}{a}\n",
        "f.yml:5: command: is longer than 200000 characters after its placeholders are filled",
    ),
    "half a recipe": (b"model: m\n", "f.yml:1: container: is required"),
}


@pytest.mark.parametrize(("data", "said"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_one_short_line_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.yml").write_bytes(data)
    message = golden.refusal(lambda: str(recipes.recipe("f.yml")))
    assert said in message
    assert len(message) < 300


def test_as_many_flags_as_are_allowed_are_read(tmp_path: Path) -> None:
    (tmp_path / "f.yml").write_bytes(HEAD + b"args:\n" + b"".join(b"  flag-%d: 1\n" % i for i in range(1000)))
    assert len(recipes.recipe(str(tmp_path / "f.yml")).args) == 1000


def test_a_long_chain_of_groups_is_read_whichever_group_the_file_has_first() -> None:
    chain = [f"c{one}: {{children: {{c{one + 1}: }}}}" for one in range(3000)]
    for lines in (chain, chain[::-1]):
        text = "\n".join([*lines, "c3000: {hosts: {a: {address: 10.0.0.1}}}"])
        assert len(inventory_file.read(parse(text.encode(), "f.yml")).groups["c0"]) == 1


def test_a_long_circle_of_groups_is_named_by_some_of_them() -> None:
    circle = [f"c{one}: {{children: {{c{(one + 1) % 3000}: }}}}" for one in range(3000)]
    with pytest.raises(UsageError, match=r"this group contains itself: c\d+ > c\d+ > c\d+ > ... > c\d+ > c\d+$"):
        inventory_file.read(parse("\n".join(circle).encode(), "f.yml"))
