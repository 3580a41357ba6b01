"""`recipe list`, `show` and `search`, `advise`, and `rules`: what a person and a script get from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparkops import rules

Run = Callable[..., Any]

THREE = "all: {hosts: {a: {address: 10.9.0.1}, b: {address: 10.9.0.2}, c: {address: 10.9.0.3}}}\n"


def fits(document: Any) -> dict[str, list[str]]:
    return {
        recipe["name"]: [one["topology"] for one in recipe["fits"] if one["fit"] != "no"]
        for recipe in document["recipes"]
    }


def test_the_list_says_which_topologies_each_recipe_fits(sparkops: Run) -> None:
    told = sparkops("recipe", "list", "--json").document
    assert told["nodes"] is None
    found = fits(told)
    assert len(found) == 10
    assert found["openai-gpt-oss-120b"] == ["solo", "2x-solo", "cluster"]
    assert found["openai-gpt-oss-120b-canonical"] == ["solo", "2x-solo"]
    assert found["openai-gpt-oss-120b-claude"] == found["minimax-m2.5-awq"] == ["cluster"]


def test_the_list_is_for_the_nodes_of_the_inventory(sparkops: Run, own_home: Path) -> None:
    (own_home / "nodes.yml").write_text(THREE)
    told = sparkops("-i", "nodes.yml", "recipe", "list", "--json").document
    assert told["nodes"] == ["a", "b", "c"]
    found = fits(told)
    assert found["openai-gpt-oss-120b"] == ["solo", "3x-solo"], "64 heads over 3 nodes do not go"
    one = sparkops("-i", "nodes.yml", "recipe", "list", "--limit", "b", "--json").document
    assert fits(one)["openai-gpt-oss-120b"] == ["solo"]
    assert fits(one)["minimax-m2.5-awq"] == []
    two = sparkops("-i", "nodes.yml", "recipe", "list", "--limit", "a,b", "--json").document
    assert fits(two)["minimax-m2.5-awq"] == ["cluster"]


def test_what_fits_none_says_what_the_largest_topology_lacks(sparkops: Run, own_home: Path) -> None:
    own = own_home / "recipes"
    own.mkdir()
    (own / "four.yml").write_text("extends: openai-gpt-oss-120b\nnodes: {min: 4}\nmetadata: {description: d}\n")
    (own / "one.yml").write_text("extends: openai-gpt-oss-120b\nnodes: {max: 1}\nmetadata: {description: d}\n")
    assert fits(sparkops("recipe", "list", "--json").document)["one"] == ["solo", "2x-solo"]
    assert "four as cluster: four spans at least 4 nodes, cluster gives it 2" in sparkops("recipe", "list").out


def test_the_usual_inventory_is_used_without_being_named_and_a_broken_one_is_a_warning(
    sparkops: Run, own_home: Path
) -> None:
    usual = own_home / "inventories" / "default.yml"
    usual.parent.mkdir()
    usual.write_text(THREE)
    assert sparkops("recipe", "list", "--json").document["nodes"] == ["a", "b", "c"]
    usual.write_text("all: [\n")
    told = sparkops("recipe", "list", "--json").document
    assert (told["nodes"], len(told["recipes"])) == (None, 10)
    assert [warning for warning in told["warnings"] if "inventories/default.yml:" in warning]


def test_an_inventory_that_was_named_must_be_there(sparkops: Run) -> None:
    assert sparkops("-i", "nowhere.yml", "recipe", "list").code == 2
    assert sparkops("recipe", "list", "--limit", "a").code == 2


def test_a_file_that_cannot_be_read_is_a_warning_and_the_others_are_listed(sparkops: Run, own_home: Path) -> None:
    own = own_home / "recipes"
    own.mkdir()
    (own / "broken.yml").write_text("model: [\n")
    (own / "mine.yml").write_text("extends: openai-gpt-oss-120b\nmetadata: {description: my very own}\n")
    (own / "nonsense.yaml").write_bytes(bytes(range(256)) * 40)
    told = sparkops("recipe", "list", "--json")
    assert told.code == 0
    assert "mine" in fits(told.document)
    warned = [warning.split(":")[0] for warning in told.document["warnings"]]
    assert warned == ["recipes/broken.yml", "recipes/nonsense.yaml"]
    text = sparkops("recipe", "list").out
    assert "my very own" in text
    assert text.count("warning:") == 2


@pytest.mark.parametrize("name", ["openai-gpt-oss-120b", "openai-gpt-oss-120b-concurrency", "openai-gpt-oss-120b-ngc"])
def test_a_recipe_is_shown_with_command_memory_uses_and_every_number(sparkops: Run, name: str) -> None:
    told = sparkops("recipe", "show", name, "--json").document
    assert told["topology"] == "solo"
    assert told["command"].startswith("vllm serve openai/gpt-oss-120b --")
    assert told["memory"]["fit"] == "fits"
    assert told["memory"]["weights"] == 61
    assert told["recipe"]["metadata"]["when"]
    assert told["recipe"]["metadata"]["when_not"]
    text = sparkops("recipe", "show", name).out
    for heading in ("flags", "environment", "command as solo", "memory of each node", "when to use it", "when not to"):
        assert heading in text
    lines = [line.split() for line in text.splitlines()]
    for table in told["reference"]:
        for row in table["rows"]:
            assert " ".join("-" if cell is None else str(cell) for cell in row).split() in lines


def test_a_topology_changes_what_it_changes(sparkops: Run) -> None:
    solo = sparkops("recipe", "show", "openai-gpt-oss-120b", "--topology", "solo", "--json").document
    cluster = sparkops("recipe", "show", "openai-gpt-oss-120b", "--topology", "cluster", "--json").document
    assert "--mxfp4-layers moe,qkv,o,lm_head" in solo["command"]
    assert "--mxfp4-layers moe,qkv,o --" in cluster["command"]
    assert (solo["memory"]["weights"], cluster["memory"]["weights"]) == (61, 30.5)
    assert cluster["nodes"] == 2


def test_a_recipe_for_clusters_only_is_shown_as_one(sparkops: Run) -> None:
    told = sparkops("recipe", "show", "minimax-m2.5-awq", "--json").document
    assert told["topology"] == "cluster"
    assert told["memory"]["fit"] == "fits"


def test_what_does_not_fit_is_shown_with_what_would(sparkops: Run) -> None:
    told = sparkops("recipe", "show", "minimax-m2.5-awq", "--topology", "solo").out
    assert "does not fit" in told
    assert "would fit: --topology cluster over 2 nodes" in told


def test_tables_inside_a_recipe_are_shown_too(sparkops: Run, own_home: Path) -> None:
    table = "{id: a, title: My run, source: me, date: today, columns: [{name: speed, unit: t/s}], rows: [[69.0]]}"
    path = own_home / "mine.yml"
    path.write_text(f"extends: openai-gpt-oss-120b\nmetadata: {{description: d, results: [{table}]}}\n")
    told = sparkops("recipe", "show", "./mine.yml")
    assert "My run" in told.out
    assert "69.0" in told.out
    path.write_text(path.read_text().replace("[[69.0]]", "[[69.0, 1]]"))
    wrong = sparkops("recipe", "show", "./mine.yml")
    assert (wrong.code, wrong.out) == (2, "")
    assert "mine.yml:2: metadata.results.rows: each must be a list of 1 values" in wrong.err


def test_search_finds_by_all_words_in_any_case(sparkops: Run) -> None:
    told = sparkops("recipe", "search", "CODING", "agents", "--json").document
    assert [recipe["name"] for recipe in told["recipes"]] == ["openai-gpt-oss-120b-claude", "qwen3-coder-next-fp8"]
    assert all(recipe["mentions"] for recipe in told["recipes"])
    assert "no recipe mentions zeppelin" in sparkops("recipe", "search", "zeppelin").out
    assert sparkops("recipe", "search").code == 2


def test_advice_is_one_topology_with_its_reasons_and_the_ceiling(sparkops: Run) -> None:
    told = sparkops("advise", "--for", "decode", "--concurrency", "64", "--json").document
    assert (told["topology"], told["agreed"]) == ("2x-solo", False)
    assert [opinion["basis"] for opinion in told["opinions"]] == ["measured", "article"]
    assert {one["topology"]: one["tokens_s"] for one in told["ceiling"]} == {"solo": 99, "2x-solo": 99, "cluster": 152}
    text = sparkops("advise", "--for", "decode", "--concurrency", "64").out
    assert text.startswith("2x-solo for decode at 64 requests at once")
    assert "sources differ" in text


def test_advice_for_a_recipe_of_one_topology_and_for_another_model_says_so(sparkops: Run) -> None:
    only = sparkops("advise", "--for", "decode", "--concurrency", "4", "--recipe", "openai-gpt-oss-120b-claude").out
    assert "not solo: openai-gpt-oss-120b-claude is for cluster only, not solo" in only
    other = sparkops("advise", "--for", "decode", "--concurrency", "4", "--recipe", "qwen3-coder-next-fp8").out
    assert "measured with openai/gpt-oss-120b; this recipe's model may differ" in other


def test_advice_is_for_the_nodes_of_the_inventory(sparkops: Run, own_home: Path) -> None:
    (own_home / "nodes.yml").write_text(THREE)
    words = ("-i", "nodes.yml", "advise", "--for", "decode", "--concurrency", "8")
    assert "on 3 it is 3x-solo" in sparkops(*words).out
    alone = sparkops(*words, "--limit", "a", "--json").document
    assert (alone["topology"], alone["nodes"]) == (None, ["a"])
    assert "the inventory has one node, a" in sparkops(*words, "--limit", "a").out


@pytest.mark.parametrize(
    "words", [(), ("--for", "speed", "--concurrency", "1"), ("--for", "ttft", "--concurrency", "0")]
)
def test_advice_needs_a_goal_and_a_number(sparkops: Run, words: tuple[str, ...]) -> None:
    told = sparkops("advise", *words)
    assert (told.code, told.out) == (2, "")


def test_rules_say_what_they_may_do_and_that_checks_are_listed_elsewhere(sparkops: Run) -> None:
    told = sparkops("rules", "--json").document
    assert {rule["id"]: rule["actions"] for rule in told["rules"]} == {one.id: list(one.actions) for one in rules.RULES}
    assert "`sparkops preflight --list`" in sparkops("rules").out.splitlines()[-1]
    assert "preflight --list" in sparkops("rules", "no-such-thing").err
