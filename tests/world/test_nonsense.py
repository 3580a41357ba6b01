"""Wrong wishes: exit 2, one clear line on stderr, never a traceback, and the same document shape with --json."""

from __future__ import annotations

from support.world import Lab

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


def test_a_wrong_wish_is_named_in_one_line_and_with_json_in_a_document(lab: Lab) -> None:
    for name, (words, says) in NONSENSE.items():
        ran = lab.cli(*words, code=2)
        assert "Traceback" not in ran.told, name
        assert ran.out == "", name
        assert says in ran.err, name
        assert len(ran.err.strip().splitlines()) <= 4, name
        document = lab.json(*words, code=2)
        error = document["error"]
        assert document.keys() >= KEYS, name
        assert error.keys() >= ERROR, name
        assert (document["ok"], document["exit_code"], error["kind"]) == (False, 2, "usage"), name
        assert says in f"{error['message']} {error['hint']}", name
    assert not lab.changed()


def test_a_flag_that_the_engine_lacks_is_refused_by_its_rule_with_the_nearest_name(lab: Lab) -> None:
    for words in (("--set", "args.max-modle-len=1"), ("--", "--max-modle-len", "1")):
        error = lab.json("plan", "--topology", "cluster", *words, code=3)["error"]
        assert "unknown-flag" in error["message"]
        assert "--max-model-len" in error["hint"]
    assert not lab.received()


def test_a_deployment_that_is_not_there_is_named_and_stopping_it_is_no_failure(lab: Lab) -> None:
    for verb, code in (("stop", 0), ("status", 0), ("logs", 3)):
        assert "no deployment nothing-like-it" in lab.cli(verb, "nothing-like-it", code=code).err


INVENTORIES = {
    "a tab": ("all:\n  hosts:\n\tspark1: {address: 10.0.0.1}\n", "tab"),
    "a host name": ("all:\n  hosts:\n    spark1: {address: spark1.local}\n", "spark1.local"),
    "a misspelt key": ("all:\n  hosts:\n    spark1: {adress: 10.0.0.1}\n", "address"),
    "nothing": ("", "empty"),
    "one address twice": ("all:\n  hosts:\n    a: {address: 10.0.0.1}\n    b: {address: 10.0.0.1}\n", "10.0.0.1"),
}  # fmt: skip


def test_a_wrong_inventory_is_named_with_file_and_line(lab: Lab) -> None:
    path = lab.work / "a wrong inventory.yml"
    for name, (text, says) in INVENTORIES.items():
        path.write_text(text)
        ran = lab.cli("-i", path, "status", lab=False, code=2)
        assert "Traceback" not in ran.told, name
        assert "a wrong inventory.yml" in ran.err, name
        assert says in ran.err, name


def test_no_inventory_and_no_lab_say_how_to_make_one(lab: Lab) -> None:
    for words, says in ((("status",), "init"), (("-i", "lab", "status"), "lab up")):
        ran = lab.cli(*words, lab=False, code=2)
        assert says in ran.err
        assert "Traceback" not in ran.err
