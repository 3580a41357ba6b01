"""Recipes of others with anything wrong in them are read, or refused in one line with its place."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sparkops import rules
from sparkops.core import formats, recipe_file
from sparkops.core.effective import Overrides, command_line, effective
from sparkops.core.formats.export import SCHEMAS, exported
from sparkops.core.recipe import Recipe, written
from sparkops.core.topology import Shape
from sparkops.errors import UsageError
from sparkops.files import recipes
from sparkops.files.yaml_positions import parse
from support import golden

SOUND = r"""# how it is served
recipe_version: "1"
name: N
description: "d: e"
model: a/b
container: vllm-node
cluster_only: true
mods:
  - mods/fix-it
build_args: [--tf5]
defaults:
  port: 8000
  host: 0.0.0.0
  tensor_parallel: 2
  gpu_memory_utilization: 0.70
env:
  A: "1"
command: |
  vllm serve a/b \
    --port {port} --host {host} \
    -tp {tensor_parallel} \
    --speculative-config '{{"method":"mtp","n":{{"a":[1,2]}}}}' \
    --hf-overrides.x.y=1 --no-enable-prefix-caching \
    --gpu-memory-utilization {gpu_memory_utilization}
"""
BOMB = "a: &a [x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{above}'] * 10)}]\n" for above, name in zip("abcdefg", "bcdefgh", strict=True)
)
WORDS = r"""{ } {{ }} ' " \ # $ ` & | ; < > ( ! {port} {model} -- - = . : *a ~ vllm serve --port command: defaults: env:
0x 1e999 .inf --model= -O -cc.a no- é"""
PIECES = [
    *WORDS.split(), "9" * 400, "[" * 70, "\n", "\r\n", "\t", " ", "  ", "\0", "\ufeff", "\u2028", "|\n", ">-\n",
    "- ", "? ", "&a ", "<<: ", "!!int ", "!x ", "vllm serve c", "runtime: sglang\n", "--api-key x", "bash -c ",
    "export ", "${A:-${B-", "}}", '"$port"', "x-vllm serve ", "env exec vllm serve ",
    "--nnodes 2 ", "/cache/huggingface/hub/models--a--b/",
]  # fmt: skip
SHAPES = (Shape("solo", 1, "ray", "solo"), Shape("cluster", 2, "mp", "cluster"))
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(PIECES))
TREE = st.recursive(
    SCALAR, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3)
)
KEYS = (*formats.spark_vllm_docker.READ, *formats.sparkrun.MEANT, *formats.parts.USED, "patches", "x")
NVIDIA = (Path(__file__).parent / "nvidia/marlin-70b/dgx-spark-2gpu/recipe.yaml").read_text(encoding="utf-8")
NVIDIAS = ("serve", "runtime", *formats.nvidia.READ)

USUAL = {"name": "n", "model": "m", "container": "c", "command": "vllm serve m"}


def all_of_it(data: bytes) -> str:
    """Everything that is done with a recipe; the message if it was refused."""
    try:
        document = parse(data, "f.yaml")
        recipe_file.parent(document)
        if not recipe_file.is_foreign(document):
            return ""
        recipe = formats.read("f", document, recipes.flag_table())
    except UsageError as error:
        return str(error) if str(error).startswith("f.yaml:") else f"no place:\n{error}"
    used(recipe)
    return ""


def used(recipe: Recipe) -> None:
    assert all(isinstance(word, str) for word in written(recipe))
    for shape in SHAPES:
        made, _ = rules.judge(effective(recipe, shape.kind, Overrides()), shape, frozenset())
        assert all(isinstance(word, str) for word in command_line(made))
    for schema in SCHEMAS:
        text = exported(recipe, schema)
        again = parse(text.encode(), "again.yaml")
        if schema != "sparkops" and recipe.foreign.schema != formats.nvidia.SCHEMA:
            words = written(formats.read("again", again, recipes.flag_table()))
            assert words == written(recipe)


@given(st.data())
def test_a_recipe_with_pieces_put_in_or_taken_out(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([SOUND, NVIDIA]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.sampled_from([0, 0, 0, 1, 2, 7, 40]))
        text = text[:at] + data.draw(st.sampled_from(["", *PIECES])) + text[at + gone :]
    said = all_of_it(text.encode("utf-8", "surrogatepass"))
    assert "\n" not in said


@given(st.dictionaries(st.sampled_from(KEYS), TREE, max_size=6), st.sampled_from(["1", "2", "4", None]))
def test_a_recipe_with_anything_under_its_keys(tree: dict[str, Any], version: str | None) -> None:
    assert "\n" not in all_of_it(json.dumps({**USUAL, "recipe_version": version, **tree}).encode())


@given(
    st.dictionaries(st.sampled_from(NVIDIAS), TREE, max_size=5),
    st.dictionaries(st.sampled_from([*formats.nvidia.RUNTIME, *formats.nvidia.SERVE]), TREE, max_size=3),
)
def test_a_recipe_of_nvidia_with_anything_under_its_keys(tree: dict[str, Any], below: dict[str, Any]) -> None:
    serve, runtime = {"command": "vllm serve m", **below}, {"image": "i", **below}
    usual = {"backend": "vllm", "hardware": "dgx-spark-2gpu", "serve": serve, "runtime": runtime}
    assert "\n" not in all_of_it(json.dumps({**usual, "schema_version": 3, **tree}).encode())


@given(
    st.lists(st.sampled_from([*PIECES, "m", "--seed", "1", "\n", " "]), max_size=12).map("".join), st.sampled_from("12")
)
def test_a_command_of_anything(command: str, version: str) -> None:
    recipe = {**USUAL, "recipe_version": version, "command": f"vllm serve m {command}"}
    assert "\n" not in all_of_it(json.dumps(recipe).encode())


def test_others_recipes_cut_anywhere(theirs: Path) -> None:
    whole = theirs.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        assert "\n" not in all_of_it(whole[:at])
    assert all_of_it(whole.replace(b"\n", b"\r\n")) == all_of_it(whole)
    assert all_of_it(b"\xef\xbb\xbf" + whole) == all_of_it(whole)


def test_each_of_the_usual_slips_is_one_line_with_its_place() -> None:
    """Behind the line, the text of SOUND that is replaced and what stands there instead; `$` is its end."""

    def told(line: str) -> str:
        old, _, new = line.replace("\\n", "\n").replace("\\t", "\t").partition(" => ")
        assert old == "$" or old in SOUND
        return all_of_it((SOUND + new if old == "$" else SOUND.replace(old, new)).encode())

    golden.hold_lines(Path(__file__).parent / "said" / "slips.txt", told)


def test_what_is_no_text_or_too_much_names_the_line() -> None:
    said = {
        "f.yaml:1: is empty": b"",
        "f.yaml:4: is not UTF-8 text": SOUND.replace("d: e", "d\udce9").encode("utf-8", "surrogateescape"),
        "f.yaml:1: is not UTF-8 text": SOUND.encode("utf-16"),
        "f.yaml:3: has a character that YAML does not allow": SOUND.replace("name: N", "name: \x07").encode(),
        "f.yaml:6: has more than 100000 values": (BOMB + SOUND).encode(),
        "f.yaml:16: is nested too": SOUND.replace("env:\n", "env: " + "[" * 99 + "]" * 99 + "\nx:\n").encode(),
    }
    assert {start: told for start, data in said.items() if not (told := all_of_it(data)).startswith(start)} == {}


def test_the_sound_one_is_read_with_either_line_end_and_a_mark_before() -> None:
    for data in (SOUND, SOUND.replace("\n", "\r\n"), "\ufeff" + SOUND):
        assert all_of_it(data.encode()) == ""
