"""What runs left on the nodes, read as runs."""

import json
from dataclasses import replace

import pytest

from sparkops.core.facts.access import admitted
from sparkops.core.history import cut_off, cut_off_text, runs, stopped_for, switched, unfinished_rollback
from sparkops.core.notes import OUTCOME, Load, NodeHistory, Note, line, notes


def begin(run: str, at: int, verb: str = "deploy") -> Note:
    return Note("begin", run, f"2026-11-25T12:{at:02}:00+00:00", "ann@laptop", verb, f"sparkops {verb}")


def end(run: str, at: int, verb: str = "deploy", code: int = 0, about: str = "", settled: tuple[str, ...] = ()) -> Note:
    note = Note("end", run, f"2026-11-25T12:{at:02}:00+00:00", verb=verb, exit_code=code, changed=code == 0)
    return replace(note, deployment=about, settled=settled)


def on(*of_nodes: tuple[Note, ...], holder: str | None = None) -> dict[str, NodeHistory]:
    return {f"node{at}": NodeHistory(found, holder) for at, found in enumerate(of_nodes, 1)}


def left(*of_nodes: tuple[Note, ...], holder: str | None = None) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.begin.run, one.nodes) for one in cut_off(on(*of_nodes, holder=holder))]


ACTS = "line\nprogram\nc chat\n@ 2026-11-29T12:00:00Z start chat\n@ soon start chat\n@ 2026-11-29T12:10:00Z stop chat"


def test_what_an_endpoint_does_on_two_nodes_at_a_time_is_one_row() -> None:
    doors = {"node1": {"gate": admitted(ACTS)}, "node2": {"gate": admitted(ACTS.replace(":00Z", ":09Z"))}}
    rows = [(row["began"], row["operator"], row["verb"], row["command"], row["nodes"]) for row in switched(doors)]
    assert rows == [
        ("2026-11-29T12:00:00+00:00", "gate", "model activate", "start chat", ["node1", "node2"]),
        ("2026-11-29T12:10:00+00:00", "gate", "model sleep", "stop chat", ["node1", "node2"]),
    ]
    assert [row["began"][11:16] for row in switched({"node1": doors["node1"]})] == ["12:00", "12:10"]
    assert doors["node1"]["gate"] == admitted("line\nprogram\nc chat"), "what it did is no difference"


SWAP = Note("about", "a", end("a", 3).at, started=("abc",), stopped=("def", "123"))
LOAD = Note("end", "a", end("a", 3).at, load=Load("tiny", "vllm-node", "solo", 61, "abc", 3072))


def test_a_note_is_a_line_of_json_with_a_schema_and_is_read_back() -> None:
    for note in (begin("a", 1), end("a", 2, code=5), CUT, end("a", 2, settled=("tiny", "*")), SWAP, LOAD):
        text = line(note)
        assert json.loads(text)["schema"] == 1
        assert "\n" not in text
        (found,) = notes(text)
        assert (found, repr(found)) == (note, repr(note))


def test_lines_that_are_damaged_or_of_no_known_kind_are_left_out() -> None:
    good = line(begin("a", 1))
    odd = [
        good[:30],
        "",
        "null",
        "[" * 100_000,
        '{"event":"begin"}',
        '{"event":"begin","run":7}',
        '{"run":"b"}',
        "\0\0",
    ]
    later = json.dumps({**json.loads(good), "schema": 9, "run": "later", "commit": {"of": "a catalogue"}})
    found = notes("\n".join([*odd, good, '{"event":"pause","run":"a"}', later]))
    assert [note.run for note in found] == ["a", "later"]


def test_what_a_node_says_cannot_steer_the_terminal_and_has_an_end() -> None:
    told = {
        "event": "end",
        "run": "a\x1b[2J",
        "at": 7,
        "exit_code": True,
        "changed": "yes",
        "outcome": "\u202e\n" + "x" * 999,
        "settled": ["tiny\x07", 7],
    }
    (note,) = notes(json.dumps(told))
    assert (note.run, note.at, note.exit_code, note.changed) == (r"a\x1b[2J", "", None, None)
    assert note.outcome.startswith(r"\u202e xxx")
    assert note.settled == (r"tiny\x07",)
    assert len(note.outcome) == OUTCOME


def test_a_run_is_one_over_all_its_nodes_newest_last_and_ended_if_one_of_them_knows_its_end() -> None:
    found = runs(on((begin("b", 5), end("b", 6)), (begin("a", 1), end("a", 2), begin("b", 5))))
    assert [(one.begin.run, one.nodes, one.state) for one in found] == [
        ("a", ("node2",), "ended"),
        ("b", ("node1", "node2"), "ended"),
    ]
    assert found[1].document["exit_code"] == 0
    assert left((begin("b", 5), end("b", 6)), (begin("b", 5),)) == []


def test_a_run_that_locks_nodes_in_turn_is_cut_off_if_its_last_begin_has_no_end() -> None:
    first, second = (begin("a", 1), end("a", 2)), (begin("a", 3),)
    assert left(first, second) == [("a", ("node2",))]
    assert left(first, second, holder="a") == []
    assert left(first, (*second, end("a", 4))) == []


CUT = replace(begin("a", 1), deployment="tiny")
SETTLED = {
    "the same command": (end("b", 3, about="tiny"), True),
    "the same command about another deployment": (end("b", 3, about="big"), False),
    "the same command, but it failed": (end("b", 3, about="tiny", code=5), False),
    "a command about something else": (end("b", 3, "cache schedule"), False),
    "a play that deployed it": (end("b", 3, "play", settled=("tiny",)), True),
    "a deploy whose benchmark failed": (end("b", 3, about="tiny", code=5, settled=("tiny",)), True),
    "a stop of everything": (end("b", 3, "stop", settled=("*",)), True),
    "a stop of another deployment": (end("b", 3, "stop", about="big", settled=("big",)), False),
    "a deploy that replaced it": (end("b", 3, about="big", settled=("big", "tiny")), True),
}


@pytest.mark.parametrize("after", SETTLED)
def test_a_run_that_was_cut_off_is_told_until_it_is_made_up_for_by(after: str) -> None:
    note, settles = SETTLED[after]
    assert left((CUT, begin("b", 2, note.verb), note)) == ([] if settles else [("a", ("node1",))])
    assert left((CUT, note)) == ([] if settles else [("a", ("node1",))]), "its begin is not among the last lines"
    assert left((begin("b", 0, note.verb), replace(note, at=begin("b", 0).at), CUT)) == [("a", ("node1",))], "before"


def test_a_settled_deployment_is_settled_on_all_nodes_everything_only_where_it_was_noted() -> None:
    assert left((CUT, end("b", 3, settled=("tiny",))), (CUT,)) == []
    assert left((CUT, end("b", 3, "stop", settled=("*",))), (CUT,)) == [("a", ("node2",))]
    assert left((end("b", 3, settled=("tiny",)),), (CUT,)) == [("a", ("node2",))], "it was on none of its nodes"
    anything = begin("a", 1, "stop")
    assert left((anything, end("b", 3, settled=("tiny",)))) == [], "what comes after it is known"
    assert left((anything, end("b", 3, "stop"))) == []


def test_the_run_that_holds_a_lock_is_under_way() -> None:
    found = runs(on((begin("a", 1), begin("b", 2)), holder="b"))
    assert [one.state for one in found] == ["cut off", "running"]
    assert 'run a by ann@laptop was cut off (2026-11-25 12:01 UTC, node1): "sparkops deploy".' in cut_off_text(
        found[0].document
    )


def test_a_run_that_begins_again_in_the_second_of_its_first_end_and_is_killed_was_cut_off() -> None:
    again = (begin("a", 1), end("a", 2), begin("a", 2))
    assert [one.state for one in runs(on(again))] == ["cut off"]
    assert left(again) == [("a", ("node1",))]
    assert [one.state for one in runs(on((*again, end("a", 2))))] == ["ended"]


def test_the_last_rollback_to_a_hash_tells_what_it_stopped() -> None:
    later = replace(SWAP, run="b", at=end("b", 4).at, stopped=("456",))
    assert stopped_for([NodeHistory((SWAP, end("c", 5)))], {"abc"}) == {"def", "123"}
    assert stopped_for([NodeHistory((SWAP,)), NodeHistory((later,))], {"abc"}) == {"456"}
    assert stopped_for([NodeHistory((SWAP,)), NodeHistory((later, end("b", 5, code=5)))], {"abc"}) == {"def", "123"}
    assert stopped_for([NodeHistory((SWAP,))], {"def"}) == frozenset()


def test_a_rollback_that_was_cut_off_tells_what_it_was_about_to_start() -> None:
    node = NodeHistory((begin("a", 2, "rollback"), SWAP))
    (cut,) = cut_off({"node1": node})
    assert unfinished_rollback([node], [cut], "") == SWAP
    assert unfinished_rollback([node], [cut], "tiny") is unfinished_rollback([node], [], "") is None
