"""JSON Schemas of our files: shipped as they are generated, true of all that is packaged, and strict."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import sparkops
from sparkops import load
from sparkops.cli.main import main
from sparkops.cli.verbs.schema import KINDS
from sparkops.core.file_schemas import schemas
from sparkops.core.playbook.steps import KEYS
from sparkops.core.schema import plain
from sparkops.located import parse
from support.paths import ROOT

SHIPPED = Path(sparkops.__file__).parent / "data" / "schemas"
FOLDERS = {"playbook": "playbooks", "recipe": "recipes", "inventory": "inventories"}
PACKAGED = [(kind, path) for kind in KINDS for path in sorted(load.packaged(FOLDERS[kind]).glob("*.yml"))]


def problems(kind, text):
    found = Draft202012Validator(load.file_schema(kind)).iter_errors(plain(parse(text.encode(), kind)))
    return [f"{error.json_path}: {error.message}" for error in found]


def test_they_are_shipped_as_the_types_make_them():
    made = schemas(load.flag_table().flags)
    assert {path.stem: json.loads(path.read_text()) for path in SHIPPED.glob("*.json")} == made
    assert tuple(made) == KINDS


@pytest.mark.skipif(not (ROOT / "scripts" / "schemas.py").exists(), reason="the script is in the checkout alone")
def test_the_script_writes_what_is_shipped():
    written = runpy.run_path(str(ROOT / "scripts" / "schemas.py"))["written"]()
    assert {kind: (SHIPPED / f"{kind}.json").read_text() for kind in KINDS} == written, (
        "run `python scripts/schemas.py`"
    )


def test_all_that_is_packaged_holds_to_its_schema_and_every_kind_is_packaged():
    assert {kind for kind, _ in PACKAGED} == set(KINDS)
    found = {path: problems(kind, path.read_text(encoding="utf-8")) for kind, path in PACKAGED}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


MISTAKES = [
    ("playbook", "name: x"),
    ("playbook", "[]"),
    ("playbook", "- name: x"),
    ("playbook", "- {run: stop, steps: [{message: x}]}"),
    ("playbook", "- {steps: [{comand: ls}]}"),
    ("playbook", "- {steps: [{command: {a: b}}]}"),
    ("playbook", "- {steps: [{command: ls, become: 1}]}"),
    ("playbook", "- {steps: [{copy: {content: x}}]}"),
    ("playbook", "- {steps: [{command: ls}], serial: some}"),
    ("playbook", "- {steps: [{command: ls}], on_failure: later}"),
    ("recipe", "model: a"),
    ("recipe", "{model: a, container: b, arg: {}}"),
    ("recipe", "{model: a, container: b, only: [both]}"),
    ("recipe", "{model: a, container: b, topologies: {pair: {}}}"),
    ("inventory", "[]"),
    ("inventory", "all: {host: {}}"),
    ("inventory", "all: {hosts: {a: {port: ssh}}}"),
    ("inventory", "all: {children: {g: {vars: {become: su}}}}"),
]
TAKEN = [
    ("playbook", "- {steps: [{command: [sleep, 1], when: [true, a == 1], tags: x}], vars: {a: 1}}"),
    ("playbook", "- {run: deploy, with: {topology: solo}}"),
    ("recipe", "{extends: a, args: }"),
    ("recipe", "{model: a, recipe_version: '1', command: vllm serve}"),
    ("inventory", "all: {hosts: {a: , b: {ansible_port: '22', somebody_elses: [1]}}}"),
]


def test_a_mistake_is_marked_and_what_the_reader_takes_is_not():
    assert [(kind, text) for kind, text in MISTAKES if not problems(kind, text)] == []
    assert [(kind, text) for kind, text in TAKEN if problems(kind, text)] == []


def test_an_editor_completes_every_key_of_a_step_with_a_word_about_it():
    steps = load.file_schema("playbook")["items"]["else"]["properties"]["steps"]
    assert {key for key, one in steps["items"]["properties"].items() if one["description"]} == set(KEYS)


def test_each_is_a_schema_and_the_verb_prints_it(capsys):
    for kind in KINDS:
        schema = load.file_schema(kind)
        Draft202012Validator.check_schema(schema)
        assert main(["schema", kind]) == 0
        assert json.loads(capsys.readouterr().out) == schema
        assert main(["schema", kind, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["json_schema"] == schema
