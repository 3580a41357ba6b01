"""Recipes of autumn 2026: each is read as its author's launcher renders it, or refused with the reason."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sparkops import rules
from sparkops.core.effective import Overrides, effective
from sparkops.core.recipe import PLACED, Recipe, written
from sparkops.core.topology import Shape
from sparkops.errors import UsageError
from sparkops.files import recipes
from support.paths import CORPUS

AUTUMN = CORPUS / "autumn-2026"
EXPECTED: dict[str, Any] = json.loads((AUTUMN / "expected.json").read_text(encoding="utf-8")) if AUTUMN.is_dir() else {}
SHAPES = (Shape("solo", 1, "mp", "solo"), Shape("cluster", 2, "mp", "cluster"), Shape("cluster", 4, "ray", "cluster"))
OTHER_ENGINE = r":[0-9]+: (runtime|command): .*sparkops serves with vLLM only$"

pytestmark = pytest.mark.skipif(not EXPECTED, reason=f"no recipes of autumn 2026 in {CORPUS}")


@pytest.fixture(params=sorted(EXPECTED), ids=lambda name: Path(name).stem)
def autumn(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read(name: str) -> Recipe:
    return recipes.recipe(str(AUTUMN / name))


def settings(recipe: Recipe, words: list[str]) -> dict[str, Any]:
    """The flags of a command line from `serve` on, in one spelling; the model has no name."""
    walked = recipe.flags.walk(words[words.index("serve") + 1 :])
    return {given.name: given.value for given in walked}


def differing(a: dict[str, Any], b: dict[str, Any]) -> set[str]:
    return {name for name in {*a, *b} if a.get(name) != b.get(name)}


def test_each_is_read_or_refused_for_its_engine(autumn: str) -> None:
    if EXPECTED[autumn].get("commands"):
        assert read(autumn).model
        return
    recipe, reason = readable(autumn)
    assert recipe or re.search(OTHER_ENGINE, reason), reason


def test_flags_and_variables_are_those_of_the_launcher_or_a_caveat_names_them(autumn: str) -> None:
    for command in EXPECTED[autumn].get("commands", ()):
        recipe = read(autumn)
        assert recipe.foreign is not None
        ours = {name: setting.value for name, setting in recipe.env.items()}
        wrong = differing(settings(recipe, list(written(recipe))), settings(recipe, command["argv"]))
        wrong |= differing(ours, command["env"])
        said = " ".join(caveat.text for caveat in recipe.foreign.caveats)
        assert [name for name in wrong if name not in said and "after a blank line" not in said] == []
        assert recipe.model == settings(recipe, command["argv"])[""] or f"served as {recipe.model}" in said


def test_every_change_of_a_plan_names_its_rule(autumn: str) -> None:
    recipe, _ = readable(autumn)
    for shape in SHAPES if recipe else ():
        before = effective(recipe, shape.kind, Overrides())
        after, findings = rules.judge(before, shape, frozenset())
        named = {change.key for finding in findings for change in finding.changes}
        assert differing(values(before.args), values(after.args)) <= named
        assert differing(values(before.env), values(after.env)) <= named
        dropped = [name for name in recipe.args if name in PLACED and recipe.args[name].value not in (8000, "0.0.0.0")]
        messages = " ".join(finding.message for finding in findings)
        assert [name for name in dropped if f"--{name}" not in messages] == []


def test_no_finding_about_a_setting_points_at_the_key_command(autumn: str) -> None:
    recipe, _ = readable(autumn)
    if recipe and recipe.foreign and recipe.places["command"] not in {one.origin for one in recipe.args.values()}:
        places = {caveat.where for caveat in recipe.foreign.caveats}
        assert recipe.places["command"] not in places


def test_no_plan_mounts_a_path_that_is_only_the_containers(autumn: str) -> None:
    recipe, _ = readable(autumn)
    if recipe and recipe.model.startswith("/"):
        targets = [mount.split(":")[1] for mount in recipe.mounts if ":" in mount]
        assert any(recipe.model == target or recipe.model.startswith(f"{target}/") for target in targets)


def readable(name: str) -> tuple[Any, str]:
    """The recipe, or None and why it is refused."""
    try:
        return read(name), ""
    except UsageError as error:
        return None, error.message


def values(items: Any) -> dict[str, Any]:
    return {name: setting.value for name, setting in items.items()}
