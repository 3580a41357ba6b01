"""What runs for `rules` and `schema`: the rulebook and the kinds of files as they stand; no node."""

import difflib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sparkops import rules as rulebook
from sparkops.errors import UsageError
from sparkops.files import recipes
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.rules.rule import Example, Rule
from sparkops.verbs.recipe.options import RulesOptions, SchemaOptions


def rules(options: RulesOptions, report: Ending) -> Answer:
    """Every rule, or the one that was named."""
    known = {rule.id: rule for rule in rulebook.RULES}
    if not options.rule:
        return Answer({"rules": [_rule(rule) for rule in known.values()]})
    if options.rule not in known:
        near = difflib.get_close_matches(options.rule, known, n=1)
        hint = (
            f"did you mean {near[0]}?"
            if near
            else "list rules: `sparkops rules`; list checks: `sparkops preflight --list`"
        )
        raise UsageError(f"no such rule: {options.rule}", hint=hint)
    return Answer({"rules": [_rule(known[options.rule])]})


def _rule(rule: Rule) -> Mapping[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "actions": list(rule.actions),
        "why": rule.why,
        "source": rule.source,
        "example_hit": told(rule.example_hit),
        "example_miss": told(rule.example_miss),
    }


def told(example: Example) -> str:
    """One line: what differs from an example that says nothing."""
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


def schema(options: SchemaOptions, report: Ending) -> Answer:
    return Answer({"kind": options.kind, "json_schema": recipes.file_schema(options.kind)})
