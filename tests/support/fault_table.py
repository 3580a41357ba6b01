"""The table in docs/reference/lab.md: which checks find a fault of the lab."""

import re

from support.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "lab.md").read_text()
ROWS = re.findall(r"^\| `([a-z0-9-]+)` \| (.+) \| (`.+`) \|$", PAGE, re.MULTILINE)
"""(fault, what happens, checks)."""

CABLES = frozenset(re.findall(r"^\| `([a-z0-9-]+)` \| .+ \| [^|]+: [^|]+ \|$", PAGE, re.MULTILINE))
"""Faults of cables; tests/embedded/test_cabling.py finds them."""

FOUND = {fault: re.findall(r"`([a-z0-9-]+)`", checks) for fault, _, checks in ROWS}
"""By fault, the check that names the cause, then those whose findings follow from it."""
