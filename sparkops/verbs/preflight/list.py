"""`preflight --list` and `--explain`: show the checks; reads no file and no node."""

from typing import Any

from sparkops.checks import CHECKS, chosen
from sparkops.checks.check import Check
from sparkops.core.target import NameOptions
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending


def listed(options: NameOptions, report: Ending) -> Answer:
    """List all checks."""
    return Answer({"checks": [described(check) for check in CHECKS]})


def explained(options: NameOptions, report: Ending) -> Answer:
    """Explain one check."""
    return Answer({"checks": [described(check) for check in chosen((options.name,), ())], "explain": options.name})


def described(check: Check) -> dict[str, Any]:
    return {
        "id": check.id,
        "title": check.title,
        "why": check.why,
        "source": check.source,
        "hint": check.hint,
        "severity": check.severity,
        "topologies": list(check.topologies) or ["any"],
        "compares": "all nodes" if check.together else "each node",
        "deploy": check.deploys,
        "fix": check.fixable,
        "reads": list(check.reads),
    }
