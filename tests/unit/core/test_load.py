"""Finding files: inventories in their usual places, recipes by name or path, parents of parents."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkops import load, load_inventory
from sparkops.core.inventory_file import VARS
from sparkops.core.recipe import Overrides, effective
from sparkops.errors import UsageError

ONE = "all: {hosts: {a: {address: 10.0.0.1}}}\n"
HEAD = "model: m\ncontainer: c\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of one's own with nothing in it, and no inventory anywhere else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPARKOPS_INVENTORY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "recipes").mkdir()
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_inventory_is_looked_for_in_its_usual_places_in_order(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here / "config/sparkops/inventory.yml", ONE)
    assert load_inventory.inventory().source == str(here / "config/sparkops/inventory.yml")
    write(here / "inventories/default.yml", ONE)
    assert load_inventory.inventory().source == str(Path("inventories/default.yml"))
    monkeypatch.setenv("SPARKOPS_INVENTORY", str(write(here / "other.yml", ONE)))
    assert load_inventory.inventory().source == str(here / "other.yml")
    assert load_inventory.inventory(str(write(here / "named.yml", ONE))).source == str(here / "named.yml")


def test_without_an_inventory_every_place_is_named_with_the_way_out(here: Path) -> None:
    with pytest.raises(UsageError) as error:
        load_inventory.inventory()
    assert str(Path("inventories/default.yml")) in str(error.value)
    assert str(here / "config/sparkops/inventory.yml") in str(error.value)
    assert error.value.hint is not None
    assert "sparkops init" in error.value.hint


def test_a_file_that_cannot_be_read_is_one_line(here: Path) -> None:
    large = here / "large.yml"
    large.write_bytes(b"a" * 10_000_000)
    for name, message in (("gone.yml", "no such file"), (".", "directory"), ("large.yml", "larger than"), ("a\0b", "")):
        with pytest.raises(UsageError) as error:
            load_inventory.inventory(name)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


def test_a_recipe_of_the_directory_wins_over_the_packaged_one(here: Path) -> None:
    assert load.recipe("openai-gpt-oss-120b").source == "recipes/openai-gpt-oss-120b.yml"
    write(here / "recipes/openai-gpt-oss-120b.yml", HEAD)
    assert load.recipe("openai-gpt-oss-120b").model == "m"


def test_a_recipe_may_extend_its_packaged_namesake(here: Path) -> None:
    write(here / "recipes/openai-gpt-oss-120b.yml", "extends: openai-gpt-oss-120b\nargs: {seed: 1}\n")
    found = load.recipe("openai-gpt-oss-120b")
    assert found.args["seed"].value == 1
    assert found.args["max-model-len"].value == 4096


def test_a_recipe_is_found_by_path_and_its_parents_beside_it(here: Path) -> None:
    write(here / "far/base.yml", HEAD + "args: {seed: 1}\n")
    write(here / "far/mine.yaml", "extends: base\nargs: {dtype: auto}\n")
    found = load.recipe(str(here / "far/mine.yaml"))
    assert (found.name, set(found.args)) == ("mine", {"seed", "dtype"})


def test_recipes_that_extend_each_other_are_refused(here: Path) -> None:
    write(here / "recipes/a.yml", "extends: b\n")
    write(here / "recipes/b.yml", "extends: a\n")
    with pytest.raises(UsageError, match="extends itself: a > b > a"):
        load.recipe("a")


@pytest.mark.parametrize(
    ("name", "message"), [("openai-gpt-oss-12b", "did you mean openai-gpt-oss-120b"), ("x/y.yml", "no such")]
)
def test_an_unknown_recipe_is_refused_with_the_nearest(here: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        load.recipe(name)
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["a\nb", "a" * 5000, "a\0b", "..", "~nobody-here/x.yml", ""])
def test_a_name_that_is_no_name_is_one_line(here: Path, name: str) -> None:
    with pytest.raises(UsageError) as error:
        load.recipe(name)
    assert "\n" not in str(error.value)


def test_every_packaged_recipe_is_read_and_documented(here: Path) -> None:
    names = load.recipe_names()
    assert {"openai-gpt-oss-120b", "openai-gpt-oss-120b-claude"} <= set(names)
    assert {"openai-gpt-oss-120b-concurrency", "qwen3-next-80b-a3b-instruct-fp8"} <= set(names)
    for name in names:
        about = load.recipe(name).metadata
        assert about.description, name
        assert about.source, name
        assert about.verified, name
        assert about.when, name
        assert about.when_not, name
        assert about.trade_offs, name
        for results in about.results:
            assert all(len(row) == len(results.columns) for row in results.rows), name


@pytest.mark.parametrize(
    ("name", "kind", "context", "utilization"),
    [
        ("openai-gpt-oss-120b", "solo", 4096, 0.9),
        ("openai-gpt-oss-120b", "cluster", 32768, 0.7),
        ("openai-gpt-oss-120b-claude", "cluster", 131072, 0.75),
    ],
)
def test_the_articles_recipes_have_the_articles_numbers(name: str, kind: str, context: int, utilization: float) -> None:
    found = effective(load.recipe(name), "cluster" if kind == "cluster" else "solo", Overrides())
    assert (found.value("max-model-len"), found.value("gpu-memory-utilization")) == (context, utilization)
    assert found.value("enforce-eager") is True


def test_the_concurrency_recipe_captures_five_and_ten_and_is_not_eager() -> None:
    found = effective(load.recipe("openai-gpt-oss-120b-concurrency"), "solo", Overrides())
    sizes = found.value("compilation-config")["cudagraph_capture_sizes"]
    assert {5, 10} <= set(sizes)
    assert (len(sizes), sizes[0], sizes[-1]) == (85, 1, 1024)
    assert found.value("enforce-eager") is None
    assert found.value("max-num-seqs") == 256


def test_the_example_inventory_is_read_and_mentions_every_key() -> None:
    path = load.packaged("inventories") / "example.yml"
    inventory = load_inventory.inventory(str(path))
    assert not inventory.warnings
    assert [node.name for node in inventory.nodes] == ["spark1", "spark2", "spark3", "spark4"]
    text = path.read_text(encoding="utf-8")
    assert [key for key in (*VARS, "vars:", "hosts:", "children:") if key not in text] == []


def test_a_recipe_of_another_tool_is_read_and_can_be_extended(here: Path) -> None:
    theirs = 'recipe_version: "1"\nname: X\ncontainer: c\nsolo_only: true\ncommand: vllm serve m --seed 1 -tp 2\n'
    write(here / "recipes/theirs.yaml", theirs)
    write(here / "recipes/mine.yml", "extends: theirs\nargs: {seed: 2}\n")
    found = load.recipe("theirs")
    assert (found.model, found.args["seed"].value, found.args["seed"].origin) == ("m", 1, "recipes/theirs.yaml:5")
    mine = load.recipe("mine")
    assert (mine.model, mine.only, mine.args["seed"].value) == ("m", ("solo",), 2)
    assert mine.args["tensor-parallel-size"].value == 2
