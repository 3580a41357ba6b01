"""Each rule speaks when it must and is silent when it must; together they leave nothing for a second pass."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkops import rules
from sparkops.core.effective import Effective, Overrides, command_line, effective
from sparkops.core.flags import Flag
from sparkops.core.inventory import Node
from sparkops.core.topology import Shape, parse, place
from sparkops.files import recipes
from sparkops.rules.graphs import capture_sizes
from sparkops.rules.rule import Example, Rule, verdicts
from support import golden

Built = Callable[[Example], tuple[Effective, Shape]]

NODES = tuple(Node(f"spark{n}", f"10.0.0.{n}") for n in range(1, 5))
SIZES = {"compilation-config": {"cudagraph_capture_sizes": [1, 2, 4, 8]}}


CASES: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("cases.yml").read_text(encoding="utf-8")
)
TUPLES = ("only", "mods", "mounts", "benchmark")


def rule(name: str) -> Rule:
    return next(rule for rule in rules.RULES if rule.id == name)


def example_of(row: dict[str, Any]) -> Example:
    return Example(**{k: tuple(v) if k in TUPLES else v for k, v in row.items() if k not in ("says", "changes")})


def said(built: Built, name: str, example: Example) -> tuple[str, dict[str, Any]]:
    """What one rule does to an example, and the settings it changes."""
    found = verdicts(rule(name), *built(example))
    changes = {change.key: change.after for verdict in found for change in verdict.changes}
    return (found[0].action if found else ""), changes


@pytest.mark.parametrize("one", rules.RULES, ids=lambda one: one.id)
def test_a_rule_speaks_to_its_first_example_and_not_to_its_second(built: Built, one: Rule) -> None:
    assert verdicts(one, *built(one.example_hit))
    assert not verdicts(one, *built(one.example_miss))
    assert one.title
    assert one.why
    assert one.source


def test_a_rule_does_only_what_it_says_it_does() -> None:
    for one in rules.RULES:
        assert {action for row in CASES.get(one.id, ()) if (action := row.get("says"))} <= set(one.actions), one.id


def test_ids_are_unique() -> None:
    assert len({one.id for one in rules.RULES}) == len(rules.RULES)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_judges_each_of_its_cases(built: Built, name: str) -> None:
    assert [wrong for row in CASES[name] if (wrong := misjudged(built, name, row))] == []


def misjudged(built: Built, name: str, row: dict[str, Any]) -> str:
    """What the rule says otherwise than its case expects; nothing where it is right."""
    action, changes = row.get("says", ""), row.get("changes", {})
    found = said(built, name, example_of(row))
    right = found[0] == action and changes.items() <= found[1].items() and (changes or action == "fix" or not found[1])
    return "" if right else f"{row}: expected {action, changes}, found {found}"


def test_rules_say_to_the_letter_what_their_file_has(built: Built) -> None:
    told = "".join(f"{one.id}: its first example\n{spoken(built, one.id, one.example_hit)}" for one in rules.RULES)
    rows = [(name, row) for name, rows in CASES.items() for row in rows]
    told += "".join(f"{name} {row}\n{spoken(built, name, example_of(row))}" for name, row in rows)
    golden.hold(Path(__file__).with_name("said.txt"), told)


def spoken(built: Built, name: str, example: Example) -> str:
    """All verdicts on an example as text."""
    found = verdicts(rule(name), *built(example))
    lines = (line for one in found for line in (f"{one.action}: {one.message}", one.hint, *map(str, one.changes)))
    return "".join(f"  {line}\n" for line in lines if line)


def test_an_images_own_table_of_flags_decides_what_it_is(built: Built) -> None:
    settings, shape = built(Example(image="me/my-build:3", args={"mxfp4-layers": "moe"}))
    flags = settings.recipe.flags.flags
    lacking = replace(settings.recipe.flags, flags=flags, exact=True, image="me/my-build:3")
    having = replace(lacking, flags={**flags, "mxfp4-layers": Flag("mxfp4-layers")})
    said = {}
    for name, table in {"by name": settings.recipe.flags, "lacking": lacking, "having": having}.items():
        found = verdicts(rule("mxfp4-image"), replace(settings, recipe=replace(settings.recipe, flags=table)), shape)
        said[name] = "".join(one.action for one in found)
    assert said == {"by name": "warn", "lacking": "refuse", "having": ""}


@pytest.mark.parametrize("args", [SIZES, {"cudagraph-capture-sizes": [1, 2, 4, 8]}], ids=["compilation config", "flag"])
def test_the_sizes_that_a_benchmark_wants_are_offered_as_words_that_add_them(
    built: Built, args: dict[str, Any]
) -> None:
    settings, shape = built(Example(args=args, benchmark=("--concurrency", "5", "10")))
    verdict = rule("benchmark-alignment").judge(settings, shape)
    assert verdict is not None
    words = shlex.split(verdict.hint)
    overrides = Overrides((words[1],)) if words[0] == "--set" else Overrides(extra=tuple(words[1:]))
    recipe = replace(settings.recipe, args=settings.args)
    again = effective(recipe, "solo", overrides)
    assert capture_sizes(again) == (1, 2, 4, 5, 8, 10)
    assert rule("benchmark-alignment").judge(again, shape) is None


def judged(name: str, topology: str, *sets: str, extra: Sequence[str] = (), allow: Sequence[str] = ()) -> Any:
    placement = place(parse(topology), NODES[:2])
    settings = effective(recipes.recipe(name), placement.topology.kind, Overrides(sets, tuple(extra)))
    return rules.judge(settings, placement.shape, frozenset(allow))


@pytest.mark.parametrize("name", recipes.recipe_names())
@pytest.mark.parametrize("topology", ["solo", "2x-solo", "cluster"])
def test_a_second_pass_changes_nothing(name: str, topology: str) -> None:
    settings, _ = judged(name, topology)
    again, findings = rules.judge(settings, place(parse(topology), NODES[:2]).shape, frozenset())
    assert again == settings
    assert "fix" not in {finding.action for finding in findings}


def test_packaged_recipes_are_judged_as_their_file_says() -> None:
    """`RECIPE TOPOLOGY [allow=RULE] [KEY=VALUE] [-- FLAGS]`."""

    def outcome(line: str) -> str:
        words, _, extra = line.partition(" -- ")
        name, topology, *more = words.split()
        allow = [word.removeprefix("allow=") for word in more if word.startswith("allow=")]
        sets = [word for word in more if not word.startswith("allow=")]
        settings, findings = judged(name, topology, *sets, extra=extra.split(), allow=allow)
        told = [shlex.join(command_line(settings))]
        for one in findings:
            told += [f"  {one.id} {one.action}: {one.message}", *(f"    {change}" for change in one.changes)]
            told += [f"    do: {one.hint}"] if one.hint else []
        by_rules = {name: one.origin for name, one in settings.args.items() if one.origin.startswith("rule ")}
        return "\n".join([*told, *(f"  --{name} from {origin}" for name, origin in by_rules.items())])

    golden.hold_lines(Path(__file__).with_name("judged.txt"), outcome)
