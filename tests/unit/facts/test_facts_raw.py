"""The capture format: what is written is read, and nothing that arrives instead can do harm."""

import json
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkops.core.facts import PROBES, Facts, Unread, Unreadable, parse
from sparkops.core.facts.raw import HEADER, Probe, parts, read, write, write_parts
from sparkops.core.facts.reading import plain
from support.captures import raw_of

NAMES = st.text(string.ascii_lowercase + "-", min_size=1, max_size=12).filter(lambda name: name != "end")
OUTPUTS = st.dictionaries(NAMES, st.tuples(st.integers(0, 255), st.text()), max_size=6)
ANSWERS = st.dictionaries(st.sampled_from(sorted(PROBES)), st.tuples(st.sampled_from((0, 1, 124, 127)), st.text()))


@given(OUTPUTS)
def test_what_is_written_is_read(outputs: dict[str, tuple[int, str]]):
    found = read(write(outputs))
    assert {name: (probe.exit, probe.text) for name, probe in found.items() if name != "end"} == outputs


@given(st.dictionaries(st.text(string.ascii_letters + "/:@. "), st.tuples(st.integers(0, 255), st.text())))
def test_parts_of_a_payload_are_read_as_written(outputs: dict[str, tuple[int, str]]):
    assert {part.name: (part.exit, part.text) for part in parts(write_parts(outputs))} == outputs


@given(st.text())
def test_any_text_is_facts_or_a_clear_error(text: str):
    with pytest.raises(Unreadable, match=r"unexpected output|format"):
        parse(text if not text.startswith(HEADER) else f"x{text}")
    assert isinstance(parse(f"{HEADER}\n{text}"), Facts)


@given(ANSWERS)
def test_any_output_of_any_probe_is_a_value_or_unread(answers: dict[str, tuple[int, str]]):
    facts = parse(write(answers))
    assert facts.identity.verdict in ("certain", "broken-driver", "not")
    assert isinstance(facts.containers, tuple)
    assert isinstance(facts.find_link(), object)
    assert isinstance(plain(facts), dict)


@given(st.data())
def test_a_probe_with_random_json_is_a_value_or_unread(data: st.DataObject):
    leaf = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
    keys = st.sampled_from(
        ["ID", "Id", "State", "Config", "Labels", "addr_info", "local", "prefixlen", "ifname", "Server"]
    )
    value = data.draw(st.recursive(leaf, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=8))
    text = json.dumps(value)
    names = [
        "docker-version",
        "docker-info",
        "docker-ps",
        "docker-ours",
        "ip-addr",
        "routes",
        "docker-strangers",
        "lock",
    ]
    facts = parse(write(dict.fromkeys(names, (0, text)) | {"images": (0, write_parts({"x": (0, text)}))}))
    assert isinstance(facts.containers, tuple)
    assert isinstance(facts.interfaces, tuple)
    assert isinstance(facts.image("x"), object)


def test_a_capture_cut_off_anywhere_keeps_what_came_before():
    raw = raw_of("serving-head")
    whole = read(raw)
    for end in range(len(HEADER), len(raw), 97):
        found = read(raw[:end])
        assert isinstance(parse(raw[:end]), Facts)
        assert [whole[name] for name in list(found)[:-1]] == list(found.values())[:-1]
    assert parse(raw[:200]).nvidia_smi == Unread("the node's output was cut off before this value")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("sparkops-facts 2\n", "the facts have format version 2; this sparkops reads version 1"),
        ("Welcome to DGX OS\nsparkops-facts 1\n", "Welcome to DGX"),
    ],
)
def test_what_is_no_capture_is_named(raw: str, said: str):
    with pytest.raises(Unreadable, match=said):
        parse(raw)


def test_bytes_lost_in_decoding_do_not_lose_the_next_frame():
    sent = b"sparkops-facts 1\n== dmi 0 0 6\nx\xff\xc3\xfe=1\n== linger 0 0 3\nyes\n== end 0 0 0\n\n"
    for text in (sent.decode("utf-8", "replace"), sent.decode("utf-8", "surrogateescape")):
        assert read(text)["linger"] == Probe("linger", 0, "yes")
        assert parse(text).linger is True


def test_bytes_lost_in_decoding_do_not_lose_the_next_part():
    sent = b"-- 0 3 one\na\xffb\n-- 1 2 two\nno"
    assert [(part.name, part.text[-1]) for part in parts(sent.decode("utf-8", "replace"))] == [
        ("one", "b"),
        ("two", "o"),
    ]


def test_a_payload_that_looks_like_a_frame_is_a_payload():
    text = "== linger 0 0 2\nno\n== end 0 0 0\n"
    assert read(write({"os-release": (0, text), "linger": (0, "yes")}))["linger"].text == "yes"


def test_a_failed_probe_says_why():
    assert Probe("x", 124, "", 10020).unread == Unread("no answer within the time limit (10 s)")
    assert Probe("x", 127, "ibdev2netdev: not found").unread == Unread("ibdev2netdev: not found")
    assert Probe("x", 1, '{"Client":{}}\nno daemon\n').unread == Unread("no daemon (exit 1)")
    assert Probe("x", 3, "").unread == Unread("nothing was printed (exit 3)")


def test_a_capture_that_went_through_windows_is_read_as_it_was(capture: Path):
    raw = capture.read_text()
    assert parse(raw.replace("\n", "\r\n")) == parse(raw)
