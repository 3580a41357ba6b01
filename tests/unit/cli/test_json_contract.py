"""`--json`: one document on stdout, whatever happens."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from sparkops.report.answers import ANSWERS
from support.paths import ROOT

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("--json",), "sparkops"),
        (("frobnicate", "--json"), "sparkops"),
        (("plan", "--json"), "plan"),
        (("--json", "deploy", "--stall", "x", "--topology", "solo"), "deploy"),
        (("-i", "lab", "status", "--json"), "status"),
    ],
)
def test_a_usage_error_is_a_document_too(sparkops: Run, words: tuple[str, ...], command: str) -> None:
    told = sparkops(*words)
    document = told.document
    assert told.code == document["exit_code"] == 2
    assert document["command"] == command
    assert document["ok"] is False
    assert document["error"]["kind"] == "usage"
    assert set(document["error"]) >= {"kind", "message", "node", "step", "hint"}
    assert {"schema", "run_log"} <= set(document)


def test_json_among_the_engines_flags_is_not_ours(sparkops: Run) -> None:
    told = sparkops("plan", "--", "--json")
    assert told.code == 2
    assert told.out == ""
    assert "--topology" in told.err


def test_every_document_is_described() -> None:
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(ANSWERS) == sorted(name for row in rows for name in re.findall(r"`([a-z ]+)`", row))
