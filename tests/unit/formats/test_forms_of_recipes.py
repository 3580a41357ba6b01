"""The ways in which people write recipes of other launchers: what each becomes, and what is refused with its line.

Each file below `said` is a list of one launcher's recipes, without the keys that all have, and with what comes of them.
"""

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from sparkops.core.effective import Overrides, effective
from sparkops.core.formats.export import exported
from sparkops.core.recipe import Recipe, written
from support import golden
from support.values import fields_said, told

Read = Callable[[str], Recipe]
SAID = Path(__file__).parent / "said"
HEADS = {
    "spark-vllm-docker": 'recipe_version: "1"\nname: N\ncontainer: c\n',
    "sparkrun": 'recipe_version: "2"\nmodel: a/b\nruntime: vllm\ncontainer: c\n',
    "nvidia": "schema_version: 3\nmodel: acme/m\nbackend: vllm\n",
}


def outcome(read: Read, head: str, block: str) -> str:
    """All that a recipe is read as; behind `$ SCHEMA [TOPOLOGY]` what it is exported as."""
    lines = block.splitlines()
    text = "".join(f"{line}\n" for line in lines if not line.startswith("$ "))
    recipe = read(text if "container:" in text else head + text)
    known = {
        key: value for key, value in fields_said(recipe).items() if key not in ("name", "source", "flags", "places")
    }
    shown = [f"{key} {told(value)}" for key, value in known.items() if key not in ("args", "env", "foreign")]
    shown += [f"args.{key} {told(one.value)} [{one.origin}]" for key, one in recipe.args.items()]
    shown += [f"env.{key} {told(one.value)} [{one.origin}]" for key, one in recipe.env.items()]
    shown += [f"foreign {told(recipe.foreign)}", f"written {shlex.join(written(recipe))}"]
    return "\n".join([*shown, *(export(recipe, *line.split()[1:]) for line in lines if line.startswith("$ "))])


def export(recipe: Recipe, schema: str, topology: str = "") -> str:
    made = effective(recipe, topology, Overrides()) if topology else None  # type: ignore[arg-type]
    return f"$ {schema} {topology}\n{exported(recipe, schema, made)}"


@pytest.mark.parametrize("launcher", HEADS)
def test_a_recipe_becomes_what_its_file_says(read: Read, launcher: str) -> None:
    golden.hold_blocks(SAID / f"{launcher}.txt", partial(golden.refusal, partial(outcome, read, HEADS[launcher])))


def test_a_secret_is_nowhere_in_what_was_read(read: Read) -> None:
    text = f"{HEADS['sparkrun']}env: {{HF_TOKEN: hf_xyz}}\ncommand: vllm serve m\n"
    assert "hf_xyz" not in str(read(text))
