"""`--json`: one document on stdout, whatever happens; usage errors are in typed.txt."""

import re

from sparkops.cli.registry import VERBS
from support.paths import ROOT


def test_every_document_is_described() -> None:
    page = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    described = sorted(name for row in rows for name in re.findall(r"`([a-z ]+)`", row))
    assert described == sorted(name for name, verb in VERBS.items() if verb.run)
