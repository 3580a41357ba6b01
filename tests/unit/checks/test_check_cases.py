"""Every capture gets the verdicts that `cases.yml` says, and no other of weight. A failure names the rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparkops.checks import CHECKS
from support import golden

ELSEWHERE = {"names-free", "image-ray", "graphs-hung", "cache-scheduled"}
"""Tested by values in test_checks.py: no capture holds a revision's hash, a schedule, or a label of ours."""

Wrong = dict[str, Any]


def verdicts(case: Any, stock: set[str]) -> Wrong:
    """What differs from the table: a verdict that it lists, or one that weighs and that it does not list."""
    found = {(one.node, one.id): one.status for one in case.findings}
    more = {
        key: status
        for key, status in found.items()
        if key not in case.expected and (status == "fail" or (status == "warn" and key[1] not in stock))
    }
    return more | {key: found.get(key) for key, status in case.expected.items() if found.get(key) != status}


def messages(case: Any, _stock: set[str]) -> Wrong:
    """What lacks the words that the table wants; no remedy for what is held against a node, no reason for a skip."""
    found = {(one.node or "cluster", one.id): one for one in case.findings}
    wanted = ((node, check, words) for node, row in case.data.get("says", {}).items() for check, words in row.items())
    lacking = {(node, check): words for node, check, words in wanted if words not in found[node, check].message}
    return lacking | {
        key: one.status
        for key, one in found.items()
        if (one.status != "pass" and not one.message) or (one.status in ("fail", "warn") and not one.hint)
    }


def alone(case: Any, _stock: set[str]) -> Wrong:
    """What a check says otherwise where only the probes that it names were read: what `--only` asks for is enough."""
    whole = {(one.node, one.id): (one.status, one.message) for one in case.findings if one.id != "answers"}
    apart = case.alone()
    return {key: apart.get(key) for key in whole.keys() | apart.keys() if whole.get(key) != apart.get(key)}


@pytest.mark.parametrize("differs", [verdicts, messages, alone])
def test_no_capture_differs_from_its_row_of_the_table(
    differs: Callable[[Any, set[str]], Wrong], table: list[Any], stock: set[str]
) -> None:
    wrong = {case.name: found for case in table if (found := differs(case, stock))}
    assert wrong == {}


def test_each_check_has_a_healthy_and_a_broken_case(table: list[Any]) -> None:
    said: dict[str, set[str]] = {check.id: set() for check in CHECKS}
    for case in table:
        for (_, check), status in case.expected.items():
            said[check].add(status)
    asked = [check for check in CHECKS if check.id not in ELSEWHERE]
    assert [check.id for check in asked if "pass" not in said[check.id] or not said[check.id] & {"fail", "warn"}] == []
    assert [check.id for check in CHECKS if check.severity != "fail" and "fail" in said[check.id]] == []


def test_checks_say_to_the_letter_what_their_file_has(table: list[Any]) -> None:
    """Each sentence of each check once, with the first case that it is said in."""
    said: dict[str, str] = {}
    for case in table:
        for one in case.findings:
            lines = (f"{one.id} {one.action}: {one.message}", one.hint, one.evidence)
            said.setdefault("".join(f"  {line}\n" for line in lines if line)[2:], case.name)
    told = "".join(f"# {name}\n{text}" for text, name in sorted(said.items()))
    golden.hold(Path(__file__).with_name("said.txt"), told)
