"""Every remedy that a rule prints as options is one that `plan` takes, and the rule is silent once it is taken."""

import re
import shlex

import pytest
import yaml

from sparkops.rules import RULES
from sparkops.rules.rule import Example
from support.paths import ROOT

OPTION = re.compile(r"--(?:set|topology|executor)(?: |=)(?:'[^']*'|[^\s;,`]+)(?= |;|,|$)")
CASES = yaml.safe_load((ROOT / "tests" / "unit" / "rules" / "cases.yml").read_text(encoding="utf-8"))
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


def findings(lab, path, example, *more):
    """What the rules say of a plan, by their id; the nodes lack images and models on purpose."""
    allowed = [word for check in ("image-present", "model-present", "image-ray") for word in ("--allow", check)]
    limit = ",".join(lab.names[: example.nodes])
    topology = () if "--topology" in more else ("--topology", example.topology)
    executor = () if "--executor" in more else ("--executor", example.executor)
    ran = lab.cli("plan", "--recipe", path, *topology, *executor, "--limit", limit, *allowed, *more, "--json")
    if ran.code == 2 and "are selected" in ran.err + ran.out:
        return {}  # the example needs more nodes than it names: that is said before the rules
    assert ran.code in (0, 3), f"{more}: {ran.err}"
    document = ran.document
    error = document.get("error", {"message": "", "hint": ""})
    names = re.findall(r"\[([a-z0-9-]+)\]", error["message"])
    return {name: error["hint"] if len(names) == 1 else "" for name in names} | {
        one["id"]: one["hint"] for one in document.get("findings", ())
    }


def remedy(hint):
    """The options of a remedy, up to its first alternative."""
    first = re.split(r", or |; or | or (?=--|MARLIN)", hint)[0]
    return [word for option in OPTION.findall(first) for word in shlex.split(option)]


def test_a_rule_is_silent_once_its_remedy_is_taken(lab_of, tmp_path):
    lab, tried, left = lab_of(4), set(), []
    for number, (name, example) in enumerate(examples()):
        path = recipe(tmp_path / f"example{number}.yml", example)
        if not (options := remedy(findings(lab, path, example).get(name) or "")):
            continue
        tried.add(name)
        after = findings(lab, path, example, *options)
        if name in after:
            left.append((name, options, after[name]))
    assert left == [], "\n".join(map(str, left))
    assert len(tried) >= 10


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_remedy_of_a_rule_has_a_placeholder(rule, lab_of, tmp_path):
    said = findings(lab_of(4), recipe(tmp_path / "example.yml", rule.example_hit), rule.example_hit)
    assert not re.search(r"\b(NAME|NODE|DIR|IMAGE|RECIPE)\b", said.get(rule.id) or "")
