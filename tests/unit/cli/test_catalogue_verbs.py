"""`recipe list`, `show` and `search`, `advise`, and `rules`: what a person and a script get from them."""

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
    assert len(found) == 11
    assert found["openai-gpt-oss-120b"] == ["solo", "2x-solo", "cluster"]
    assert found["openai-gpt-oss-120b-canonical"] == ["solo", "2x-solo"]
    assert found["openai-gpt-oss-120b-claude"] == found["minimax-m2.5-awq"] == ["cluster"]


def test_the_usual_inventory_is_used_without_being_named_and_a_broken_one_is_a_warning(
    sparkops: Run, own_home: Path
) -> None:
    usual = own_home / "inventories" / "default.yml"
    usual.parent.mkdir()
    usual.write_text(THREE)
    assert sparkops("recipe", "list", "--json").document["nodes"] == ["a", "b", "c"]
    usual.write_text("all: [\n")
    told = sparkops("recipe", "list", "--json").document
    assert (told["nodes"], len(told["recipes"])) == (None, 11)
    assert [warning for warning in told["warnings"] if "inventories/default.yml:" in warning]


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


def test_rules_say_what_they_may_do_and_that_checks_are_listed_elsewhere(sparkops: Run) -> None:
    told = sparkops("rules", "--json").document
    assert {rule["id"]: rule["actions"] for rule in told["rules"]} == {one.id: list(one.actions) for one in rules.RULES}
    assert "`sparkops preflight --list`" in sparkops("rules").out.splitlines()[-1]
