"""`rules`: show the rules; no node."""

import difflib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sparkops import rules as rulebook
from sparkops.core.target import NameOptions
from sparkops.errors import UsageError
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.rules.rule import Example, Rule


def rules(options: NameOptions, report: Ending) -> Answer:
    """Show every rule, or the named one."""
    known = {rule.id: rule for rule in rulebook.RULES}
    if not options.name:
        return Answer({"rules": [_rule(rule) for rule in known.values()]})
    if options.name not in known:
        near = difflib.get_close_matches(options.name, known, n=1)
        lists = "list rules: `sparkops rules`; list checks: `sparkops preflight --list`"
        raise UsageError(f"no such rule: {options.name}", hint=f"did you mean {near[0]}?" if near else lists)
    return Answer({"rules": [_rule(known[options.name])]})


def _rule(rule: Rule) -> Mapping[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "actions": list(rule.actions),
        "why": rule.why,
        "source": rule.source,
        "example_hit": example_text(rule.example_hit),
        "example_miss": example_text(rule.example_miss),
    }


def example_text(example: Example) -> str:
    """Return an example as one line, without the fields that have their defaults."""
    plain, shown = asdict(Example()), asdict(example)
    always = ("topology", "model", "image")
    parts = [str(shown[name]) for name in always]
    for name, value in shown.items():
        if name not in always and value != plain[name]:
            parts.append(f"{name} {_flat(value)}")
    return ", ".join(parts)


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key}={item}" for key, item in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
