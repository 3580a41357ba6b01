"""`--json`: one document on stdout, whatever happens; usage errors are in typed.txt."""

from __future__ import annotations

import re

from sparkops.report.answers import ANSWERS
from support.paths import ROOT


def test_every_document_is_described() -> None:
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(ANSWERS) == sorted(name for row in rows for name in re.findall(r"`([a-z ]+)`", row))
