"""Every fixing rule is needed: with it the recipe serves, without it the engine fails, is diagnosed and is undone."""

from __future__ import annotations

import re

import pytest
import yaml

from support.paths import RULE_RECIPES

ROWS = yaml.safe_load((RULE_RECIPES.parent / "fixing_rules.yml").read_text(encoding="utf-8"))
BEFORE = "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8"


def words(row):
    own = RULE_RECIPES / row["recipe"]
    sets = [word for item in row.get("set", ()) for word in ("--set", item)]
    return (row["topology"], "--recipe", own if own.is_file() else row["recipe"], *sets)


def title(row):
    return f"{row['rule']}-{row['recipe'].removesuffix('.yml')}"


@pytest.fixture(scope="module")
def labs(lab_with):
    """One node for solo rows, two for cluster rows; on both another model serves, to which an undo must go back."""
    both = {"solo": lab_with(nodes=1), "cluster": lab_with(nodes=2)}
    for lab in both.values():
        lab.deploy("solo", "--limit", "node1", "--recipe", "qwen3-next-80b-a3b-instruct-fp8")
    return both


@pytest.mark.parametrize("row", ROWS, ids=title)
def test_without_the_rule_the_deploy_fails_is_diagnosed_and_is_undone(labs, row):
    lab = labs[row["topology"]]
    before = lab.containers()
    assert lab.running() == before
    ran = lab.cli("deploy", "--json", "--topology", *words(row), "--allow", row["rule"], code=5)
    error = ran.document["error"]
    assert error["kind"] == "failed"
    assert re.search(row["failure"], ran.told), ran.told
    assert error["diagnosis"]["cause"], ran.told
    assert error["hint"]
    assert lab.running() == lab.containers() == before, "nothing of the failed revision is left"
    assert lab.serves(model=BEFORE), "what served before serves again"


@pytest.mark.parametrize("row", ROWS[2:5:2], ids=title)
def test_with_the_rule_the_same_serves(labs, row):
    lab = labs[row["topology"]]
    deployed = lab.deploy(*words(row))
    assert row["rule"] in {rule["id"] for rule in deployed["rules"] if rule["action"] == "fix"}
    assert lab.serves()
