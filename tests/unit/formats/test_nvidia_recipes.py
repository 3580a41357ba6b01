"""Recipes in the form of NVIDIA/local-ai-inference-recipes: names, commands, exports, and what was measured with them.

`nvidia/` has two of our own; `said/nvidia.txt` what single keys become.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkops import rules
from sparkops.core import needs, reference
from sparkops.core.effective import Overrides, command_line, effective
from sparkops.core.formats.export import exported
from sparkops.core.recipe import RANKS, Recipe, written
from sparkops.core.topology import Shape
from sparkops.errors import UsageError
from sparkops.files import recipes
from sparkops.files import reference as published

HERE = Path(__file__).parent / "nvidia"
SOLO, PAIR = HERE / "tern-8b/dgx-spark/recipe.yaml", HERE / "marlin-70b/dgx-spark-2gpu/recipe.yaml"
Renderer = Callable[[str], list[str]]


@pytest.fixture(params=[SOLO, PAIR], ids=["one node", "two nodes"])
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def read(path: Path) -> Recipe:
    return recipes.recipe(str(path))


def test_a_file_called_recipe_is_named_by_what_it_says(tmp_path: Path) -> None:
    assert read(SOLO).name == "tern-8b-dgx-spark-nvfp4-draft"
    assert read(PAIR).name == "marlin-70b-dgx-spark-2gpu-128gb-fp8-fp4-mixed"
    shutil.copy(SOLO, tmp_path / "mine.yaml")
    assert read(tmp_path / "mine.yaml").name == "mine"


def test_its_words_are_those_that_a_shell_on_the_head_starts(path: Path, launched_by: Renderer) -> None:
    theirs = launched_by(yaml.safe_load(path.read_text(encoding="utf-8"))["serve"]["command"])
    ours = [word for word in written(read(path)) if not word.startswith("$")]
    assert ours == [word for word in theirs if word]


def test_the_engine_gets_all_but_the_ranks(path: Path) -> None:
    recipe = read(path)
    given = {one.name: one.value for one in recipe.flags.walk(written(recipe)[3:]) if "." not in one.name}
    assert {name: recipe.args[name].value for name in given if name not in RANKS} == {
        name: value for name, value in given.items() if name not in RANKS
    }
    assert not set(RANKS) & set(recipe.args)


def test_a_pair_is_a_cluster_of_its_own_ranks_and_one_spark_is_solo() -> None:
    pair, solo = effective(read(PAIR), "cluster", Overrides()), effective(read(SOLO), "solo", Overrides())
    assert (pair.span, pair.value("distributed-executor-backend"), pair.recipe.only) == (2, "mp", ("cluster",))
    assert (solo.span, solo.recipe.only) == (None, ("solo",))
    assert [one.name.model for one in needs.models(solo)] == ["acme/Tern-8B-NVFP4", "acme/Tern-8B-Draft"]


@pytest.mark.parametrize("schema", ["1", "2", "sparkops"])
def test_an_export_is_read_back_as_the_same_recipe(path: Path, schema: str, tmp_path: Path) -> None:
    recipe = read(path)
    copy = tmp_path / "copy.yaml"
    copy.write_text(exported(recipe, schema), encoding="utf-8")
    again = read(copy)
    for name in ("args", "env"):
        assert values(getattr(again, name)) == values(getattr(recipe, name))
    said = ("model", "container", "only", "nodes")
    assert {key: getattr(again, key) for key in said} == {key: getattr(recipe, key) for key in said}
    assert set(recipe.mounts) - {"huggingface"} <= set(again.mounts)
    shape = Shape("cluster", 2, "mp", "cluster") if path == PAIR else Shape("solo", 1, "mp", "solo")
    assert sorted(line(again, shape)) == sorted(line(recipe, shape))
    if schema == "sparkops":
        assert again.metadata == recipe.metadata


def test_an_export_names_no_rank_and_no_address(tmp_path: Path) -> None:
    for schema in ("1", "2", "sparkops"):
        text = exported(read(PAIR), schema).partition("# Not carried over:")[0]
        assert [word for word in ("nnodes", "node-rank", "master", "HEAD_IP", "<") if word in text] == []


def test_a_recipe_that_extends_one_keeps_its_settings_and_not_its_results(tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    own.write_text(f"extends: {SOLO}\nargs: {{max-num-seqs: 2}}\n", encoding="utf-8")
    shutil.copy(SOLO.with_name("performance.yaml"), tmp_path)
    child = read(own)
    assert child.args["max-model-len"].value == 65536
    assert published.of_recipe(child, tmp_path) == ()


def test_what_was_measured_is_theirs_and_comparable_only_for_one_request_at_a_time() -> None:
    (solo,), (pair,) = published.of_recipe(read(SOLO)), published.of_recipe(read(PAIR))
    assert solo.source.startswith("NVIDIA")
    points = {one.metric: (one.topology, one.concurrency, one.value) for one in reference.points([solo])}
    assert points == {"prefill": ("solo", 1, 3111.5), "decode": ("solo", 1, 61.25), "e2e": ("solo", 1, 3406.1)}
    assert list(reference.points([pair])) == []
    assert "several requests" in pair.reading
    assert [column.name for column in pair.columns][-2:] == ["whole request, by agentperf", "acceptance_rate"]


def test_results_of_a_recipe_that_changed_since_say_so(tmp_path: Path) -> None:
    for name in ("recipe.yaml", "performance.yaml"):
        shutil.copy(SOLO.with_name(name), tmp_path)
    assert (tmp_path / "recipe.yaml").read_text(encoding="utf-8").startswith("# ")
    (same,) = published.of_recipe(read(tmp_path / "recipe.yaml"))
    assert ("changed" in same.reading, same.args["max-model-len"]) == (False, 65536)
    text = SOLO.read_text(encoding="utf-8").replace("65536", "4096")
    (tmp_path / "recipe.yaml").write_text(text, encoding="utf-8")
    (other,) = published.of_recipe(read(tmp_path / "recipe.yaml"))
    assert ("changed" in other.reading, other.args) == (True, {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("profiles:", "profile:", r":1: profiles: is required"),
        ("  - id: long", "  - 3\n  - id: long", r":[0-9]+: profiles\[0\]: must be a mapping, not a number"),
        ("concurrency: 1", "concurrency: many", r":[0-9]+: concurrency: must be a whole number, not 'many'"),
        ("prefill_tokens", "\x07prefill", "has a character that YAML does not allow"),
    ],
)
def test_results_of_another_form_are_one_line_with_their_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    shutil.copy(SOLO, tmp_path)
    text = SOLO.with_name("performance.yaml").read_text(encoding="utf-8")
    (tmp_path / "performance.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError, match=said) as error:
        published.of_recipe(read(tmp_path / "recipe.yaml"))
    assert "performance.yaml:" in str(error.value)


def test_a_version_that_nobody_knows_is_read_with_a_word(tmp_path: Path) -> None:
    text = SOLO.read_text(encoding="utf-8").replace("schema_version: 3", "schema_version: 9")
    (tmp_path / "new.yaml").write_text(text, encoding="utf-8")
    foreign = read(tmp_path / "new.yaml").foreign
    assert foreign is not None
    assert "schema_version 9 is read as 4" in [caveat.text for caveat in foreign.caveats]


def test_another_engine_is_refused_by_its_name(tmp_path: Path) -> None:
    text = SOLO.read_text(encoding="utf-8").replace("backend: vllm", "backend: llama-cpp")
    (tmp_path / "new.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r":11: backend: the recipe serves with llama\.cpp"):
        read(tmp_path / "new.yaml")


def line(recipe: Recipe, shape: Shape) -> tuple[str, ...]:
    made, _ = rules.judge(effective(recipe, shape.kind, Overrides()), shape, frozenset())
    return command_line(made)


def values(items: Any) -> dict[str, Any]:
    return {name: setting.value for name, setting in items.items()}
