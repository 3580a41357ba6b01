"""JSON Schemas of our files: shipped as they are generated, true of all that is packaged, and strict."""

import json
import runpy
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import sparkops
from sparkops.cli.main import main
from sparkops.core.file_schemas import schemas
from sparkops.core.playbook.steps import KEYS
from sparkops.core.schema import plain
from sparkops.files import recipes
from sparkops.files.yaml_positions import parse
from sparkops.verbs.recipe.command import KINDS
from support import golden
from support.paths import ROOT

SHIPPED = Path(sparkops.__file__).parent / "data" / "schemas"
FOLDERS = {"playbook": "playbooks", "recipe": "recipes", "inventory": "inventories"}
PACKAGED = [(kind, path) for kind in FOLDERS for path in sorted(recipes.packaged(FOLDERS[kind]).glob("*.yml"))]


def wrong_in(kind, text):
    """The places of what its schema finds wrong."""
    found = Draft202012Validator(recipes.file_schema(kind)).iter_errors(plain(parse(text.encode(), kind)))
    return sorted({f"{error.json_path} ({error.validator})" for error in found})


def test_they_are_shipped_as_the_types_make_them():
    made = schemas(recipes.flag_table().flags)
    assert {path.stem: json.loads(path.read_text()) for path in SHIPPED.glob("*.json")} == made
    assert tuple(made) == KINDS


@pytest.mark.skipif(not (ROOT / "scripts" / "schemas.py").exists(), reason="the script is in the checkout alone")
def test_the_script_writes_what_is_shipped():
    written = runpy.run_path(str(ROOT / "scripts" / "schemas.py"))["written"]()
    assert {kind: (SHIPPED / f"{kind}.json").read_text() for kind in KINDS} == written, (
        "run `python scripts/schemas.py`"
    )


def test_all_that_is_packaged_holds_to_its_schema_and_every_kind_is_packaged():
    assert {kind for kind, _ in PACKAGED} == set(FOLDERS) == set(KINDS) - {"fleet"}
    found = {path: wrong_in(kind, path.read_text(encoding="utf-8")) for kind, path in PACKAGED}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_a_mistake_is_marked_and_what_the_reader_takes_is_not():
    golden.hold_lines(
        Path(__file__).parent / "schemas.txt", lambda line: "\n".join(wrong_in(*line.split(" ", 1))) or "taken"
    )


def test_an_editor_completes_every_key_of_a_step_with_a_word_about_it():
    steps = recipes.file_schema("playbook")["items"]["else"]["properties"]["steps"]
    assert {key for key, one in steps["items"]["properties"].items() if one["description"]} == set(KEYS)


def test_each_is_a_schema_and_the_verb_prints_it(capsys):
    for kind in KINDS:
        schema = recipes.file_schema(kind)
        Draft202012Validator.check_schema(schema)
        assert main(["schema", kind]) == 0
        assert json.loads(capsys.readouterr().out) == schema
        assert main(["schema", kind, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["json_schema"] == schema
