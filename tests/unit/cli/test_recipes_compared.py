"""Recipes beside each other and in other forms, as a person asks for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
GPT = "openai-gpt-oss-120b"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/mine.yml").write_text(
        f"extends: {GPT}\nargs: {{max-num-seqs: 8, compilation-config.mode: 3}}\nenv: {{A: b}}\nmounts: [vllm]\n"
        "container: vllm-node-mxfp4:other\n"
    )
    return tmp_path


def names(document: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(one["part"], one["key"], one["by"]) for one in document["differences"]}


def test_a_recipe_is_equal_to_itself(sparkops: Run) -> None:
    ran = sparkops("recipe", "diff", GPT, GPT, "--json")
    assert (ran.code, ran.document["equal"], ran.document["differences"]) == (0, True, [])


def test_only_what_differs_is_shown_with_where_it_comes_from(sparkops: Run, mine: Path) -> None:
    found = sparkops("recipe", "diff", GPT, "mine", "--topology", "solo", "solo", "--json").document
    assert names(found) == {
        ("command", "max-num-seqs", "recipe"),
        ("command", "compilation-config.mode", "recipe"),
        ("env", "A", "recipe"),
        ("image", "image", "recipe"),
    }
    (seqs,) = [one for one in found["differences"] if one["key"] == "max-num-seqs"]
    assert seqs["a"]["value"] is None
    assert seqs["b"] == {"value": 8, "origin": "recipes/mine.yml:2"}


def test_one_recipe_under_two_topologies_differs_by_topology_alone(sparkops: Run) -> None:
    ran = sparkops("recipe", "diff", GPT, GPT, "--topology", "cluster", "2x-solo", "--only", "topology", "--json")
    assert ran.code == 0
    found = names(ran.document)
    assert ("command", "tensor-parallel-size", "topology") in found
    assert {by for _, _, by in found} == {"topology"}


def test_anything_beside_what_was_named_is_refused_by_name(sparkops: Run, mine: Path) -> None:
    words = ("recipe", "diff", GPT, "mine", "--topology", "cluster", "2x-solo", "--only", "topology")
    ran = sparkops(*words)
    assert ran.code == 3
    assert "differ in more than topology: --compilation-config.mode, --max-num-seqs, A, image" in ran.err
    assert sparkops(*words, "--only", "command", "--only", "env", "--only", "image").code == 0


@pytest.mark.parametrize("schema", ["1", "2", "sparkops"])
def test_an_export_can_be_linted_and_is_equal_to_what_it_was_made_of(
    sparkops: Run, tmp_path: Path, schema: str
) -> None:
    text = sparkops("recipe", "export", GPT, "--schema", schema, "--topology", "cluster").out
    (tmp_path / "copy.yml").write_text(text)
    assert sparkops("lint", "copy.yml", "--topology", "cluster").code == 0
    found = sparkops("recipe", "diff", GPT, "copy.yml", "--topology", "cluster", "cluster", "--json")
    assert {part for part, _, _ in names(found.document)} <= {"mounts"}


def test_a_recipe_of_another_launcher_shows_its_own_command_line(sparkops: Run, tmp_path: Path) -> None:
    command = "defaults: {port: 9000}\ncommand: vllm serve m --port {port} -tp 1\n"
    (tmp_path / "theirs.yaml").write_text(f'recipe_version: "1"\nname: N\ncontainer: c\n{command}')
    found = sparkops("recipe", "show", "theirs.yaml", "--json").document
    assert found["written"] == "vllm serve m --port 9000 -tp 1"
    ran = sparkops("recipe", "export", "theirs.yaml", "--schema", "2", "--json").document
    assert (ran["recipe_schema"], ran["command"]) == ("2", "vllm serve m --port 9000 -tp 1")
    assert 'recipe_version: "2"' in ran["text"]


def test_an_unreadable_recipe_ends_these_verbs_in_one_line(sparkops: Run, tmp_path: Path) -> None:
    (tmp_path / "x.yml").write_text("runtime: sglang\n")
    for words in (("diff", GPT, "x.yml"), ("export", "x.yml", "--schema", "1"), ("show", "x.yml")):
        ran = sparkops("recipe", *words)
        assert ran.code == 2
        assert "x.yml:1: runtime: is sglang" in ran.err
