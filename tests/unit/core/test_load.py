"""Finding files: inventories in their usual places, recipes by name or path, parents of parents."""

import shlex
from pathlib import Path

import pytest

from sparkops.core.effective import Overrides, command_line, effective
from sparkops.core.inventory_file import VARS
from sparkops.errors import UsageError
from sparkops.files import inventory as load_inventory
from sparkops.files import recipes
from support import golden

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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.yml", "gone.yml: no such file"),
        (".", "directory"),
        ("large.yml", "larger than"),
        ("a\0b", "a b"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(here: Path, name: str, message: str) -> None:
    (here / "large.yml").write_bytes(b"a" * 10_000_000)
    assert message in golden.refusal(lambda: load_inventory.inventory(name).source)


def test_a_recipe_of_the_directory_wins_over_the_packaged_one(here: Path) -> None:
    assert recipes.recipe("openai-gpt-oss-120b").source == "recipes/openai-gpt-oss-120b.yml"
    write(here / "recipes/openai-gpt-oss-120b.yml", HEAD)
    assert recipes.recipe("openai-gpt-oss-120b").model == "m"


def test_a_recipe_may_extend_its_packaged_namesake(here: Path) -> None:
    write(here / "recipes/openai-gpt-oss-120b.yml", "extends: openai-gpt-oss-120b\nargs: {seed: 1}\n")
    found = recipes.recipe("openai-gpt-oss-120b")
    assert found.args["seed"].value == 1
    assert found.args["max-model-len"].value == 4096


def test_a_recipe_is_found_by_path_and_its_parents_beside_it(here: Path) -> None:
    write(here / "far/base.yml", HEAD + "args: {seed: 1}\n")
    write(here / "far/mine.yaml", "extends: base\nargs: {dtype: auto}\n")
    found = recipes.recipe(str(here / "far/mine.yaml"))
    assert (found.name, set(found.args)) == ("mine", {"seed", "dtype"})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a", "extends itself: a > b > a"),
        ("openai-gpt-oss-12b", "did you mean openai-gpt-oss-120b"),
        ("x/y.yml", "no such"),
        *((odd, "") for odd in ("a\nb", "a" * 5000, "a\0b", "..", "~nobody-here/x.yml", "")),
    ],
)
def test_a_recipe_that_cannot_be_found_is_one_line(here: Path, name: str, message: str) -> None:
    write(here / "recipes/a.yml", "extends: b\n")
    write(here / "recipes/b.yml", "extends: a\n")
    said = golden.refusal(lambda: recipes.recipe(name).source)
    assert said.startswith("refused: ")
    assert message in said


def test_every_packaged_recipe_is_read_and_documented(here: Path) -> None:
    for name in recipes.recipe_names():
        about = recipes.recipe(name).metadata
        needed = (about.description, about.source, about.verified, about.when, about.when_not, about.trade_offs)
        assert all(needed), name
        assert all(len(row) == len(results.columns) for results in about.results for row in results.rows), name


def test_packaged_recipes_run_what_their_file_says(here: Path) -> None:
    """Among them the articles' numbers: contexts, shares of the memory, the 85 sizes of graphs."""
    told = ""
    for name in recipes.recipe_names():
        for kind in ("solo", "cluster"):
            found = effective(recipes.recipe(name), kind, Overrides())
            told += f"{name} {kind}: {found.image}: {shlex.join(command_line(found))}\n"
            told += "".join(f"  {name}={setting.value}\n" for name, setting in found.env.items())
    golden.hold(Path(__file__).parent / "said" / "packaged.txt", told)


def test_the_example_inventory_is_read_and_mentions_every_key() -> None:
    path = recipes.packaged("inventories") / "example.yml"
    inventory = load_inventory.inventory(str(path))
    assert not inventory.warnings
    assert [node.name for node in inventory.nodes] == ["spark1", "spark2", "spark3", "spark4"]
    text = path.read_text(encoding="utf-8")
    assert [key for key in (*VARS, "vars:", "hosts:", "children:") if key not in text] == []


def test_a_recipe_of_another_tool_is_read_and_can_be_extended(here: Path) -> None:
    theirs = 'recipe_version: "1"\nname: X\ncontainer: c\nsolo_only: true\ncommand: vllm serve m --seed 1 -tp 2\n'
    write(here / "recipes/theirs.yaml", theirs)
    write(here / "recipes/mine.yml", "extends: theirs\nargs: {seed: 2}\n")
    found = recipes.recipe("theirs")
    assert (found.model, found.args["seed"].value, found.args["seed"].origin) == ("m", 1, "recipes/theirs.yaml:5")
    mine = recipes.recipe("mine")
    assert (mine.model, mine.only, mine.args["seed"].value) == ("m", ("solo",), 2)
    assert mine.args["tensor-parallel-size"].value == 2
