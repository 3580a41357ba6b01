"""Every recipe that others wrote is read into the command line that their own launcher starts, or refused by name."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkops import rules
from sparkops.core import needs
from sparkops.core.effective import Overrides, command_line, effective
from sparkops.core.flags import FlagTable
from sparkops.core.formats.export import exported
from sparkops.core.recipe import Recipe, Setting, written
from sparkops.core.topology import Shape
from sparkops.errors import UsageError
from sparkops.files import recipes

Renderer = Callable[[str], list[str]]
Read = Callable[[str], Recipe]
SHAPES = (Shape("solo", 1, "ray", "solo"), Shape("cluster", 2, "ray", "cluster"), Shape("cluster", 4, "mp", "cluster"))


def vllm(path: Path) -> bool:
    """Whether the file is for vLLM, seen with no reader of ours."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    return str(document.get("runtime", "vllm")).startswith("vllm")


def settings(flags: FlagTable, words: list[str] | tuple[str, ...]) -> dict[str, Any]:
    """A command line as the engine takes it: one spelling, the last of several, nothing of order."""
    found: dict[str, Any] = {"": words[2]}
    for given in flags.walk(words[3:]):
        name, *below = given.name.split(".")
        found.pop(name.removeprefix("no-") if name.startswith("no-") else f"no-{name}", None)
        if below:
            tree = found[name] = dict(found.get(name) or {})
            for key in below[:-1]:
                tree[key] = tree = dict(tree.get(key) or {})
            tree[below[-1]] = given.value
        else:
            found[name] = given.value
    return found


def test_the_words_are_those_that_the_launcher_passes(theirs: Path, launched: Renderer) -> None:
    if not vllm(theirs):
        with pytest.raises(UsageError, match="sparkops serves with vLLM only"):
            recipes.recipe(str(theirs))
        return
    recipe = recipes.recipe(str(theirs))
    assert list(written(recipe)) == launched(theirs.read_text(encoding="utf-8"))


def test_the_settings_are_those_of_the_words(theirs: Path) -> None:
    if not vllm(theirs):
        return
    recipe = recipes.recipe(str(theirs))
    ours = {"": recipe.model, **{name: setting.value for name, setting in recipe.args.items()}}
    assert ours == settings(recipe.flags, written(recipe))


@pytest.mark.parametrize("schema", ["1", "2"])
def test_an_export_starts_the_same_engine_by_its_launcher(theirs: Path, schema: str, launched: Renderer) -> None:
    if not vllm(theirs):
        return
    recipe = recipes.recipe(str(theirs))
    assert launched(exported(recipe, schema)) == list(written(recipe))


@pytest.mark.parametrize("schema", ["1", "2", "sparkops"])
def test_an_export_is_read_back_as_the_same_recipe(theirs: Path, schema: str, tmp_path: Path) -> None:
    if not vllm(theirs):
        return
    recipe = recipes.recipe(str(theirs))
    copy = tmp_path / f"{recipe.name}.yaml"
    copy.write_text(exported(recipe, schema), encoding="utf-8")
    again = recipes.recipe(str(copy))
    assert values(again.args) == values(recipe.args)
    assert list(again.args) == list(recipe.args)
    assert values(again.env) == values(recipe.env)
    said = ("model", "revision", "container", "mods", "build", "only", "nodes")
    assert {key: getattr(again, key) for key in said} == {key: getattr(recipe, key) for key in said}
    assert " ".join(again.metadata.description.split()) == " ".join(recipe.metadata.description.split())
    for shape in SHAPES:
        assert settled(again, shape) == settled(recipe, shape)


@pytest.mark.parametrize("schema", ["1", "2"])
@pytest.mark.parametrize("host", ["0{{.0", "a b", "$x", "{port}", "::", "0.0.0.0"])
def test_an_export_keeps_a_word_that_a_template_or_shell_would_read_otherwise(
    schema: str, host: str, read: Read, launched: Renderer
) -> None:
    head = "model: a/b\nruntime: vllm\ncontainer: c\nrecipe_version: '2'\n"
    recipe = read(f"{head}command: vllm serve a/b --enforce-eager\n")
    recipe = replace(recipe, args={**recipe.args, "host": Setting(host, "here")}, foreign=None)
    text = exported(recipe, schema)
    assert written(read(text)) == written(recipe)
    assert launched(text) == list(written(recipe))


@pytest.mark.parametrize("schema", ["1", "2"])
def test_keys_that_nobody_knows_are_kept(theirs: Path, schema: str, read: Read) -> None:
    if not vllm(theirs):
        return
    text = theirs.read_text(encoding="utf-8") + '\nwhatever:\n  deep: [1, "two", {three: true}]\n  wide: "yes"\n'
    kept = yaml.safe_load(exported(read(text), schema))["whatever"]
    assert kept == {"deep": [1, "two", {"three": True}], "wide": "yes"}


def values(items: Any) -> dict[str, Any]:
    return {name: json.loads(json.dumps(setting.value)) for name, setting in items.items()}


def settled(recipe: Recipe, shape: Shape) -> Any:
    made, found = rules.judge(effective(recipe, shape.kind, Overrides()), shape, frozenset())
    return command_line(made), values(made.env), made.image, [(one.id, one.action) for one in found]


def test_the_second_model_of_a_recipe_is_needed(theirs: Path) -> None:
    """`model` inside the JSON of a flag or default names it; another launcher's keys do not count."""
    if not vllm(theirs):
        return
    recipe = recipes.recipe(str(theirs))
    named = {name for name in re.findall(r'"model": *"([^"]+)"', " ".join(written(recipe))) if name != recipe.model}
    assert {str(one.name) for one in needs.models(effective(recipe, "solo", Overrides()))[1:]} == named
