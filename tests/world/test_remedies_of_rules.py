"""Every remedy that a rule prints as options is one that `plan` takes, and the rule is silent once it is taken."""

import re
import shlex

import yaml

from sparkops.rules import RULES
from sparkops.rules.rule import Example
from support.paths import ROOT

OPTION = re.compile(r"--(?:set|topology|executor)(?: |=)(?:'[^']*'|[^\s;,`]+)(?=[\s;,]|$)")
CASES = yaml.safe_load((ROOT / "tests" / "unit" / "rules" / "cases.yml").read_text(encoding="utf-8"))
NOT_THE_RULES = ("image-present", "model-present", "memory-fits", "disk-room")
"""What the simulated nodes lack on purpose."""

PLACEHOLDER = re.compile(r"\b(?:NAME|NODE|DIR|IMAGE|RECIPE)\b")
KEYS = {"image": "container", "only": "only", "model": "model", "args": "args", "env": "env", "mods": "mods"}


def examples():
    """Each rule with its own example and the cases in which it does more than a fix."""
    for rule in RULES:
        yield rule.id, rule.example_hit
        for row in CASES.get(rule.id, ()):
            if row.get("says") in ("warn", "refuse"):
                yield rule.id, Example(**{key: value for key, value in row.items() if key not in ("says", "changes")})


def recipe(path, example):
    given = {ours: getattr(example, theirs) for theirs, ours in KEYS.items()}
    given |= {"nodes": {"max": example.most}} if example.most else {}
    given |= {"benchmark": {"args": list(example.benchmark)}} if example.benchmark else {}
    path.write_text(yaml.safe_dump({key: list(v) if isinstance(v, tuple) else v for key, v in given.items() if v}))
    return path


def said(lab, path, example, rule, *more):
    """The remedy of what a rule warns of in a plan, or refuses it for; None if it is silent. Others may not refuse."""
    topology = () if "--topology" in more else ("--topology", example.topology)
    executor = () if "--executor" in more else ("--executor", example.executor)
    limit = ("--limit", ",".join(lab.names[: example.nodes]))
    allowed = [word for one in NOT_THE_RULES if one != rule for word in ("--allow", one)]
    allowed += [word for one in RULES if one.id != rule and "refuse" in one.actions for word in ("--allow", one.id)]
    ran = lab.cli("plan", "--recipe", path, *topology, *executor, *limit, *allowed, *more, "--json")
    if ran.code == 2 and "are selected" in ran.document["error"]["message"]:
        return None  # the example needs more nodes than it has, which is said before the rules judge
    assert ran.code in (0, 3), f"{more}: {ran.err}"
    if ran.code:
        assert f"[{rule}]" in ran.document["error"]["message"], ran.document["error"]["message"]
        return ran.document["error"]["hint"]
    warned = {one["id"]: one["hint"] for one in ran.document["rules"] if one["action"] == "warn"}
    return warned.get(rule)


def remedy(hint):
    """The options of a remedy, up to its first alternative."""
    first = re.split(r", or |; or | or (?=--|MARLIN)", hint)[0]
    return [word for option in OPTION.findall(first) for word in shlex.split(option)]


def test_a_rule_is_silent_once_its_remedy_is_taken(lab_of, tmp_path):
    lab, tried, left = lab_of(4), set(), []
    for number, (rule, example) in enumerate(examples()):
        path = recipe(tmp_path / f"example{number}.yml", example)
        hint = said(lab, path, example, rule) or ""
        assert not PLACEHOLDER.search(hint), (rule, hint)
        if options := remedy(hint):
            tried.add(rule)
            if (after := said(lab, path, example, rule, *options)) is not None:
                left.append((rule, options, after))
    assert left == [], "\n".join(map(str, left))
    assert len(tried) >= 10
