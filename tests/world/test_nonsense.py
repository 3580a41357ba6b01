"""Wrong wishes: exit 2, one clear line on stderr, never a traceback, and the same document shape with --json.

What they are told stands in `transcripts/wrong-wishes.txt`.
"""

import shlex
from pathlib import Path

from support.world import Lab

KEYS = {"schema", "command", "ok", "exit_code", "run_log", "error"}
ERROR = {"kind", "message", "node", "step", "hint"}
WISHES = Path(__file__).parent / "transcripts/wrong-wishes.txt"


def test_a_wrong_wish_is_named_in_one_line_and_with_json_in_a_document(lab: Lab) -> None:
    lines = WISHES.read_text(encoding="utf-8").splitlines()
    wishes = [shlex.split(line[2:]) for line in lines if line.startswith("$ ")]
    assert len(wishes) > 10
    for words in wishes:
        ran = lab.cli(*words, code=2)
        assert ("Traceback" in ran.told, ran.out) == (False, ""), words
        assert len(ran.err.strip().splitlines()) <= 4, words
        document = lab.json(*words, code=2)
        assert document.keys() >= KEYS, words
        assert document["error"].keys() >= ERROR, words
        assert (document["ok"], document["exit_code"], document["error"]["kind"]) == (False, 2, "usage"), words
        message = document["error"]["message"].partition("`")[0]  # a command line has no `-i` there
        assert message, words
        assert " ".join(message.split()) in " ".join(ran.err.split()), words
    assert not lab.changed()


def test_no_inventory_and_no_lab_say_how_to_make_one(lab: Lab) -> None:
    for words, says in ((("status",), "init"), (("-i", "lab", "status"), "lab up")):
        ran = lab.cli(*words, lab=False, code=2)
        assert says in ran.err
        assert "Traceback" not in ran.err


def test_an_address_with_a_port_is_told_where_the_port_belongs(lab: Lab) -> None:
    ran = lab.cli("init", "192.0.2.1:2222", "192.0.2.2", lab=False, code=2)
    assert "192.0.2.1 --port 2222" in ran.err
