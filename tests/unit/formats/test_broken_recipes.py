"""Recipes of others with anything wrong in them are read, or refused in one line with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkops import load, rules
from sparkops.core import formats, recipe_file
from sparkops.core.formats.export import SCHEMAS, exported
from sparkops.core.recipe import Overrides, Recipe, command_line, effective, written
from sparkops.core.topology import Shape
from sparkops.errors import UsageError
from sparkops.located import parse

SOUND = r"""# how it is served
recipe_version: "1"
name: N
description: "d: e"
model: a/b
container: vllm-node
cluster_only: true
mods:
  - mods/fix-it
build_args: [--tf5]
defaults:
  port: 8000
  host: 0.0.0.0
  tensor_parallel: 2
  gpu_memory_utilization: 0.70
env:
  A: "1"
command: |
  vllm serve a/b \
    --port {port} --host {host} \
    -tp {tensor_parallel} \
    --speculative-config '{{"method":"mtp","n":{{"a":[1,2]}}}}' \
    --hf-overrides.x.y=1 --no-enable-prefix-caching \
    --gpu-memory-utilization {gpu_memory_utilization}
"""
BOMB = "a: &a [x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{above}'] * 10)}]\n" for above, name in zip("abcdefg", "bcdefgh", strict=True)
)
PIECES = [
    *(
        "{",
        "}",
        "{{",
        "}}",
        "'",
        '"',
        "\\",
        "\n",
        "\r\n",
        "\t",
        " ",
        "#",
        "$",
        "`",
        "&",
        "|",
        ";",
        "<",
        ">",
        "(",
        "!",
        "\0",
    ),
    *(
        "{port}",
        "{model}",
        "--",
        "-",
        "=",
        ".",
        ":",
        "- ",
        "? ",
        "*a",
        "&a ",
        "<<: ",
        "!!int ",
        "!x ",
        "|\n",
        ">-\n",
        "~",
    ),
    *(
        "vllm",
        "serve",
        "vllm serve c",
        "--port",
        "command:",
        "defaults:",
        "env:",
        "runtime: sglang\n",
        "\ufeff",
        "é",
        "\u2028",
    ),
    *(
        "9" * 400,
        "0x",
        "1e999",
        ".inf",
        "[" * 70,
        "--model=",
        "--api-key x",
        "-O",
        "-cc.a",
        "no-",
        "  ",
        "bash -c ",
        "export ",
    ),
]
SHAPES = (Shape("solo", 1, "ray", "solo"), Shape("cluster", 2, "mp", "cluster"))
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(PIECES))
TREE = st.recursive(
    SCALAR, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3)
)
KEYS = (*formats.spark_vllm_docker.READ, *formats.sparkrun.READ, "include", "pre_exec", "overrides", "x")


def all_of_it(data: bytes) -> str:
    """Everything that is done with a recipe; the message if it was refused."""
    try:
        document = parse(data, "f.yaml")
        recipe_file.parent(document)
        if not recipe_file.is_foreign(document):
            return ""
        recipe = formats.read("f", document, load.flag_table())
    except UsageError as error:
        return str(error) if str(error).startswith("f.yaml:") else f"no place:\n{error}"
    used(recipe)
    return ""


def used(recipe: Recipe) -> None:
    assert all(isinstance(word, str) for word in written(recipe))
    for shape in SHAPES:
        made, _ = rules.judge(effective(recipe, shape.kind, Overrides()), shape, frozenset())
        assert all(isinstance(word, str) for word in command_line(made))
    for schema in SCHEMAS:
        text = exported(recipe, schema)
        again = parse(text.encode(), "again.yaml")
        if schema != "sparkops":
            words = written(formats.read("again", again, load.flag_table()))
            assert words == written(recipe)


@given(st.data())
def test_a_recipe_with_pieces_put_in_or_taken_out(data: st.DataObject) -> None:
    text = SOUND
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.sampled_from([0, 0, 0, 1, 2, 7, 40]))
        text = text[:at] + data.draw(st.sampled_from(["", *PIECES])) + text[at + gone :]
    said = all_of_it(text.encode("utf-8", "surrogatepass"))
    assert "\n" not in said


@given(st.dictionaries(st.sampled_from(KEYS), TREE, max_size=6), st.sampled_from(["1", "2", None]))
def test_a_recipe_with_anything_under_its_keys(tree: dict[str, Any], version: str | None) -> None:
    usual = {"name": "n", "model": "m", "container": "c", "command": "vllm serve m", "recipe_version": version}
    assert "\n" not in all_of_it(json.dumps({**usual, **tree}).encode())


@given(
    st.lists(st.sampled_from([*PIECES, "m", "--seed", "1", "\n", " "]), max_size=12).map("".join), st.sampled_from("12")
)
def test_a_command_of_anything(command: str, version: str) -> None:
    recipe = {
        "recipe_version": version,
        "name": "n",
        "model": "m",
        "container": "c",
        "command": f"vllm serve m {command}",
    }
    assert "\n" not in all_of_it(json.dumps(recipe).encode())


def test_others_recipes_cut_anywhere(theirs: Path) -> None:
    whole = theirs.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        assert "\n" not in all_of_it(whole[:at])
    assert all_of_it(whole.replace(b"\n", b"\r\n")) == all_of_it(whole)
    assert all_of_it(b"\xef\xbb\xbf" + whole) == all_of_it(whole)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("  port", "\tport"), "f.yaml:12: a tab where spaces are needed"),
        (lambda text: text + "name: M\n", "f.yaml:25: name: is given twice (first on line 3)"),
        (lambda text: text.replace("  port: 8000", "  port: 8000\n  port: 9000"), "f.yaml:13: port: is given twice"),
        (lambda text: text.replace("cluster_only: true", "cluster_only: [1]"), "f.yaml:7: cluster_only: must be"),
        (lambda text: text.replace("- mods/fix-it", "- {a: 1}"), "f.yaml:9: mods[0]: must be text, not a mapping"),
        (lambda text: text.replace("a/b \\", "a/b \\\n    --x '"), "f.yaml:"),
        (lambda text: BOMB + text, "f.yaml:6: has more than 100000 values"),
        (lambda text: text.replace("env:\n", "env: " + "[" * 99 + "]" * 99 + "\nx:\n"), "f.yaml:16: is nested too"),
        (lambda text: text + "---\na: 1\n", "has a second document"),
        (lambda text: "", "f.yaml:1: is empty"),
        (lambda text: text.replace('"1"\n', '"1'), "f.yaml:"),
    ],
)  # fmt: skip
def test_each_of_the_usual_slips_is_one_line_with_its_place(change: Callable[[str], str], said: str) -> None:
    found = all_of_it(change(SOUND).encode())
    assert said in found
    assert "\n" not in found


def test_what_is_no_text_names_the_line() -> None:
    assert (
        all_of_it(SOUND.replace("d: e", "d\udce9").encode("utf-8", "surrogateescape")) == "f.yaml:4: is not UTF-8 text"
    )
    assert all_of_it(SOUND.encode("utf-16")) == "f.yaml:1: is not UTF-8 text"
    assert "a character that YAML does not allow" in all_of_it(SOUND.replace("name: N", "name: \x07").encode())


def test_the_sound_one_is_read_with_either_line_end_and_a_mark_before() -> None:
    for data in (SOUND, SOUND.replace("\n", "\r\n"), "\ufeff" + SOUND):
        assert all_of_it(data.encode()) == ""
