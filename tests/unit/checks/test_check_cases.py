"""Every capture gets the verdicts that `cases.yml` says, and no other of weight."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkops.checks import CHECKS

TABLE = yaml.safe_load((Path(__file__).parent / "cases.yml").read_text())
ELSEWHERE = {"names-free", "image-ray", "cache-scheduled"}
"""Tested by values in test_checks.py: no capture holds a revision's hash, a schedule, or a label of ours."""


def test_the_verdicts_are_those_of_the_table(case: Any) -> None:
    found = {(one.node, one.id): one for one in case.findings}
    wrong = {
        key: (found[key].status if key in found else None, found[key].message if key in found else "")
        for key, status in case.expected.items()
        if key not in found or found[key].status != status
    }
    assert not wrong


def test_nothing_else_is_held_against_a_node(case: Any) -> None:
    more = {
        (one.node, one.id): one.message
        for one in case.findings
        if (one.node, one.id) not in case.expected
        and (one.status == "fail" or (one.status == "warn" and one.id not in TABLE["stock"]))
    }
    assert not more


def test_the_messages_say_what_the_table_wants(case: Any) -> None:
    found = {(one.node or "cluster", one.id): one for one in case.findings}
    for node, checks in case.data.get("says", {}).items():
        for check, words in checks.items():
            assert words in found[node, check].message


def test_what_is_held_against_a_node_has_a_remedy(case: Any) -> None:
    assert not [one.id for one in case.findings if one.status in ("fail", "warn") and not (one.message and one.hint)]


def test_what_was_skipped_has_a_reason(case: Any) -> None:
    assert not [one.id for one in case.findings if one.status == "skip" and not one.message]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_has_a_healthy_and_a_broken_case(check: Any, table: list[Any]) -> None:
    said = {status for case in table for (_, name), status in case.expected.items() if name == check.id}
    assert said & {"fail", "warn"} or check.id in ELSEWHERE
    assert "pass" in said or check.id in ELSEWHERE
    assert check.severity == "fail" or "fail" not in said


def test_a_check_needs_no_probe_but_those_that_it_names(case: Any, situated: Callable[..., Any]) -> None:
    """What `--only` asks for is enough."""
    whole = {(one.node, one.id): (one.status, one.message) for one in case.findings}
    assert case.alone() == {key: value for key, value in whole.items() if key[1] != "answers"}
