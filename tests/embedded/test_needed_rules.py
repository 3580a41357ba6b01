"""Every fixing rule is needed: with it the recipe serves, without it the engine fails, is diagnosed and is undone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

RULES = Path(__file__).resolve().parents[1] / "rules"
ROWS = yaml.safe_load((RULES / "fixing_rules.yml").read_text(encoding="utf-8"))
QWEN = "qwen3-next-80b-a3b-instruct-fp8"


def words(row):
    own = RULES / "recipes" / row["recipe"]
    sets = [word for item in row.get("set", ()) for word in ("--set", item)]
    return (row["topology"], "--recipe", own if own.is_file() else row["recipe"], *sets)


@pytest.fixture(scope="module")
def serving(shared):
    """What served before, so that there is something to go back to: another model."""
    deployed = shared.deploy("solo", "--limit", "node1", "--recipe", QWEN)
    return shared.running(), deployed["endpoints"][0]["model"]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['rule']}-{row['recipe'].removesuffix('.yml')}" for row in ROWS])
def test_without_the_rule_the_deploy_fails_is_diagnosed_and_is_undone(lab, serving, row):
    before, model = serving
    assert lab.running() == lab.containers() == before
    limit = ("--limit", "node1") if row["topology"] == "solo" else ()
    ran = lab.cli("deploy", "--json", "--topology", *words(row), *limit, "--allow", row["rule"], code=5)
    error = ran.document["error"]
    assert error["kind"] == "failed"
    assert re.search(row["failure"], ran.told), ran.told
    assert error["diagnosis"]["cause"], ran.told
    assert error["hint"]
    assert lab.running() == lab.containers() == before, "nothing of the failed revision is left"
    assert lab.serves(model=model), "what served before serves again"


@pytest.mark.parametrize("row", ROWS[2:5:2], ids=lambda row: f"{row['rule']}-{row['recipe']}")
def test_with_the_rule_the_same_serves(lab, row):
    limit = ("--limit", "node1") if row["topology"] == "solo" else ()
    deployed = lab.deploy(*words(row), *limit)
    assert row["rule"] in {rule["id"] for rule in deployed["rules"] if rule["action"] == "fix"}
    assert lab.serves()
