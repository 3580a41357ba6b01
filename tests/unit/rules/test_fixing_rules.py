"""The table of fixing rules holds: each row's rule fixes its recipe there, and allowed it lets the failure through."""

import re
from pathlib import Path
from typing import Any

import pytest

from sparkops import rules
from sparkops.core import schema
from sparkops.core.effective import Overrides, effective
from sparkops.core.inventory import Node
from sparkops.core.topology import parse, place
from sparkops.files import recipes

HERE = Path(__file__).parent
ROWS: list[dict[str, Any]] = schema.plain(recipes.document(HERE / "fixing_rules.yml"))
NODES = (Node("spark1", "10.0.0.1"), Node("spark2", "10.0.0.2"))


def judged(row: dict[str, Any], *allow: str) -> Any:
    own = HERE / "recipes" / row["recipe"]
    recipe = recipes.recipe(str(own) if own.is_file() else row["recipe"])
    placement = place(parse(row["topology"]), NODES)
    settings = effective(recipe, placement.topology.kind, Overrides(tuple(row.get("set", ()))))
    return rules.judge(settings, placement.shape, frozenset(allow))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['rule']}-{row['recipe']}" for row in ROWS])
def test_a_row_names_a_recipe_that_needs_the_rule(row: dict[str, Any]) -> None:
    settings, findings = judged(row)
    assert row["rule"] in {finding.id for finding in findings if finding.changes}
    bare, without = judged(row, row["rule"])
    assert row["rule"] in {finding.id for finding in without if finding.action == "allowed"}
    assert "refuse" not in {finding.action for finding in without}
    assert bare != settings
    re.compile(row["failure"])


def test_every_rule_that_fixes_has_a_row() -> None:
    assert {row["rule"] for row in ROWS} == {rule.id for rule in rules.RULES if "fix" in rule.actions}
