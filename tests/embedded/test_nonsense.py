"""Wrong wishes: exit 2, one clear line on stderr, never a traceback, and the same document shape with --json."""

from __future__ import annotations

import pytest

KEYS = {"schema", "command", "ok", "exit_code", "run_log", "error"}
ERROR = {"kind", "message", "node", "step", "hint"}

NONSENSE = {
    "unknown topology": (("deploy", "--topology", "clutser"), "cluster"),
    "no topology": (("deploy",), "--topology"),
    "unknown recipe": (("deploy", "--topology", "cluster", "--recipe", "openai-gpt-oss-12b"), "openai-gpt-oss-120b"),
    "a recipe file that is not there": (("plan", "--topology", "solo", "--recipe", "./no such.yml"), "no such.yml"),
    "misspelt set": (("plan", "--topology", "cluster", "--set", "arg.x=1"), "args."),
    "set without a value": (("plan", "--topology", "cluster", "--set", "args.max-model-len"), "="),
    "misspelt rule": (("plan", "--topology", "cluster", "--allow", "cluster-eagre"), "cluster-eager"),
    "misspelt node": (("plan", "--topology", "cluster", "--limit", "nod1"), "node1"),
    "too few nodes": (("plan", "--topology", "3x-solo"), "3"),
    "unknown verb": (("deplyo",), "deploy"),
    "unknown option": (("deploy", "--topologie", "solo"), "--topology"),
    "unknown deployment's node": (("stop", "--limit", "nod1"), "node1"),
    "a bad time": (("deploy", "--topology", "cluster", "--stall", "soon"), "soon"),
    "a name that Docker would not take": (("deploy", "--topology", "cluster", "--name", "///"), "///"),
    "unknown node of facts": (("facts", "node9"), "node9"),
}  # fmt: skip


@pytest.mark.parametrize("name", NONSENSE)
def test_a_wrong_wish_is_named_in_one_line(lab, name):
    words, says = NONSENSE[name]
    ran = lab.cli(*words, code=2)
    assert "Traceback" not in ran.told
    assert ran.out == ""
    assert says in ran.err
    assert len(ran.err.strip().splitlines()) <= 4
    assert not lab.changed()


@pytest.mark.parametrize("name", ["unknown topology", "misspelt set", "misspelt node", "unknown option"])
def test_with_json_it_is_a_document(lab, name):
    words, says = NONSENSE[name]
    document = lab.json(*words, code=2)
    assert document.keys() >= KEYS
    assert document["error"].keys() >= ERROR
    assert (document["ok"], document["exit_code"], document["error"]["kind"]) == (False, 2, "usage")
    assert says in f"{document['error']['message']} {document['error']['hint']}"


@pytest.mark.parametrize(
    "words", [("--set", "args.max-modle-len=1"), ("--", "--max-modle-len", "1")], ids=["set", "--"]
)
def test_a_flag_that_the_engine_lacks_is_refused_by_its_rule_with_the_nearest_name(lab, words):
    error = lab.json("plan", "--topology", "cluster", *words, code=3)["error"]
    assert "unknown-flag" in error["message"]
    assert "--max-model-len" in error["hint"]
    assert not lab.received()


def test_a_deployment_that_is_not_there_is_named_and_stopping_it_is_no_failure(lab):
    for verb, code in (("stop", 0), ("status", 0), ("logs", 3)):
        assert "no deployment nothing-like-it" in lab.cli(verb, "nothing-like-it", code=code).err


INVENTORIES = {
    "a tab": ("all:\n  hosts:\n\tspark1: {address: 10.0.0.1}\n", "tab"),
    "a host name": ("all:\n  hosts:\n    spark1: {address: spark1.local}\n", "spark1.local"),
    "a misspelt key": ("all:\n  hosts:\n    spark1: {adress: 10.0.0.1}\n", "address"),
    "nothing": ("", "empty"),
    "one address twice": ("all:\n  hosts:\n    a: {address: 10.0.0.1}\n    b: {address: 10.0.0.1}\n", "10.0.0.1"),
}  # fmt: skip


@pytest.mark.parametrize("name", INVENTORIES)
def test_a_wrong_inventory_is_named_with_file_and_line(lab, name):
    text, says = INVENTORIES[name]
    path = lab.work / "a wrong inventory.yml"
    path.write_text(text)
    ran = lab.cli("-i", path, "status", lab=False, code=2)
    assert "Traceback" not in ran.told
    assert "a wrong inventory.yml" in ran.err
    assert says in ran.err


def test_no_inventory_says_how_to_make_one(lab):
    ran = lab.cli("status", lab=False, code=2)
    assert "init" in ran.err
    assert "Traceback" not in ran.err


def test_no_lab_says_how_to_start_one(lab):
    ran = lab.cli("status", code=2, SPARKOPS_LAB_DIR=str(lab.base / "nowhere"))
    assert "lab up" in ran.err


def test_a_recipe_file_in_a_path_with_spaces_serves_and_is_named_by_its_file(lab, until):
    place = lab.work / "my own recipes"
    place.mkdir()
    recipe = place / "short context.yml"
    recipe.write_text("extends: openai-gpt-oss-120b\nargs:\n  max-model-len: 2048\n")
    plan = lab.json("plan", "--topology", "solo", "--limit", "node1", "--recipe", recipe)
    assert [s["origin"] for s in plan["settings"] if s.get("flag") == "--max-model-len"][0].endswith(
        "short context.yml:3"
    )
    deployed = lab.deploy("solo", "--limit", "node1", "--recipe", recipe)
    assert lab.ask(deployed["endpoints"][0]["url"], lab.key())[0] == 200
    assert until(lambda: lab.state()[deployed["deployment"]] == "serving")
    lab.json("stop", deployed["deployment"])


def test_a_reader_that_goes_away_is_no_bug(lab):
    process = lab.start("rules", lab=False)
    process.stdout.close()
    with process.stderr as stream:
        told = stream.read()
    process.wait()
    assert "Traceback" not in told
    assert "bug" not in told
