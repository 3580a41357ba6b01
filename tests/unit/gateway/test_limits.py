"""Limits of people, with clocks that a test sets: one that nobody sets, and one that jumps."""

import json
from pathlib import Path

import pytest

from sparkops.core.fleet.people import People, PersonKey, newest, read, written
from sparkops.core.fleet.usage import tokens, used
from sparkops.node.gatewaykeys import Denied, Limits, Person, people
from sparkops.node.gatewayusage import Counted, Usage

NOON = 1_795_953_600.0
"""2026-11-29 12:00 UTC."""


class Desk:
    """Where one person asks; `had` are the tokens of a day."""

    def __init__(self, **limits: int) -> None:
        self.had: dict[str, int] = {}
        self.limits = Limits(lambda _, date: self.had.get(date, 0))
        self.person = Person("anna", "0", None, **limits)

    def asks(self, clock: float, now: float = NOON) -> int:
        """0 if the request begins, else after how many seconds to ask again."""
        try:
            self.limits.enter(self.person, now, clock)
        except Denied as denied:
            return int(denied.after or 0) if denied.status == 429 else -1
        return 0

    def ends(self) -> None:
        self.limits.leave(self.person)


def test_requests_of_the_last_minute_count_whenever_they_ended() -> None:
    desk = Desk(rpm=3)
    assert [desk.asks(clock) for clock in (0, 10, 20, 30, 59)] == [0, 0, 0, 30, 1]
    desk.ends()
    assert [desk.asks(clock) for clock in (60, 61, 70, 79.5)] == [0, 9, 0, 1]


def test_a_refused_request_counts_for_nothing() -> None:
    desk = Desk(rpm=1, parallel=1)
    assert desk.asks(0) == 0
    assert [desk.asks(clock) for clock in range(1, 60)] == [1] * 59
    desk.ends()
    assert desk.asks(60) == 0


def test_a_clock_that_jumps_ends_no_minute_and_no_key_for_good() -> None:
    desk = Desk(rpm=1, tokens_per_day=100)
    assert desk.asks(0) == 0
    for jump in (-1e9, 1e9, 86400, -3600):
        assert desk.asks(30, NOON + jump) == 30
    desk.had = {"2026-11-29": 100}
    assert desk.asks(60) == 43200, "until midnight"
    assert desk.asks(60, NOON + 86400) == 0
    desk.ends()
    assert desk.asks(120) == 43200, "the day before is as full as it was"


@pytest.mark.parametrize(
    ("now", "over"), [(NOON - 86400, False), (NOON, False), (NOON + 43199, False), (NOON + 43200, True)]
)
def test_a_key_is_good_until_the_end_of_its_last_day(now: float, over: bool) -> None:
    assert Person("anna", "0", expires="2026-11-29").expired(now) is over


def test_the_endpoint_reads_what_sparkops_writes(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    limited = PersonKey("ab", "2026-11-01", ("coder",), 1, 2, 3, "2027-01-31")
    path.write_text(written(People({"anna": limited, "bob": PersonKey("cd", "2026-11-02")}, 7)))
    assert read(path.read_text()) == People({"anna": limited, "bob": PersonKey("cd", "2026-11-02")}, 7)
    assert people(str(path)) == {
        "ab": Person("anna", "ab", ("coder",), 1, 2, 3, "2027-01-31"),
        "cd": Person("bob", "cd"),
    }


def test_the_copy_that_changed_last_is_in_force() -> None:
    first = People().having("anna", PersonKey("ab", "2026-11-01"))
    then = first.without("anna")
    assert newest([written(first), written(then)]) == written(then)
    anew = People().having("bob", PersonKey("cd", "2026-11-02"), now=1_800_000_000)
    assert newest([written(then), written(anew)]) == written(anew)
    assert newest([written(then), "{"]) == "{", "nobody's keys are lost because of a guess"
    assert newest([]) == written(People())


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"keys": 3}', '{"keys": {"a": 3}}', '{"keys": {"a": {"digest": "x", "rpm": []}}}', "[" * 9999],
)
def test_any_text_as_keys_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        read(text)


def test_usage_is_kept_for_ninety_two_days_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "usage.json"
    days = {f"2026-{month:02}-{day:02}": {"anna": {"m": {"requests": 1}}} for month in range(1, 9) for day in (1, 15)}
    days |= {f"2025-01-{day:02}": {"anna": {"m": {"tokens_in": 5}}} for day in range(1, 32)}
    days |= {f"2025-02-{day:02}": {"anna": {"m": {"tokens_in": 5}}} for day in range(1, 29)}
    days |= {f"2025-03-{day:02}": {"anna": {"m": {"tokens_in": 5}}} for day in range(1, 32)}
    path.write_text(json.dumps({"days": days}))
    usage = Usage(str(path))
    assert usage.tokens("anna", "2025-01-31") == 5
    usage.add("anna", "m", requests=1, tokens_in=2)
    usage.save()
    kept = json.loads(path.read_text())["days"]
    assert len(kept) == 92
    ((today, people),) = json.loads(path.with_name("today.json").read_text())["days"].items()
    assert (today, people["anna"]) == (max(kept), kept[max(kept)]["anna"])
    assert "2025-01-01" not in kept
    for text in ("{", "[]", '{"days": {"x": {"anna": 3}}}', '{"days": {"x": {"a": {"m": {"requests": 1e999}}}}}'):
        path.write_text(text)
        assert Usage(str(path)).days == {}
        assert path.with_name("usage.json.bad").read_text() == text, "nothing is lost"


def test_what_a_node_says_was_used_is_only_added_up() -> None:
    entry = {"requests": 2, "tokens_in": 3, "tokens_out": "x", "seconds": -5, "refused": float("inf")}
    text = json.dumps({"days": {"2026-11-29": {"anna": {"m": entry}, "bob": 3}, "2026-11-27": {"anna": {"m": entry}}}})
    found = used(text, "2026-11-29")
    assert found == {("anna", "m"): {"requests": 2, "refused": 0, "tokens_in": 3, "tokens_out": 0, "seconds": 0}}
    assert tokens(used(text, "2026-11-29", days=3), "anna") == 6
    for broken in ("", "{", "[]", '{"days": []}', "[" * 9999):
        assert used(broken, "2026-11-29") == {}


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_a_stream_passes_whole_however_it_is_cut(size: int, end: bytes) -> None:
    said = [b'data: {"choices": [{"delta": {"content": "a \\"usage\\" b"}}]}', b": comment", b'data: {"usage": 3}']
    count = b'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}'
    text = end.join([*said, count, b"data: [DONE]", b"rest"])
    for hide in (True, False):
        counted = Counted()
        passed = (
            b"".join(counted.passing(text[at : at + size], hide) for at in range(0, len(text), size)) + counted.rest
        )
        assert passed == end.join([*said, *([] if hide else [count]), b"data: [DONE]", b"rest"])
        assert counted.last
        assert counted.sums == {"tokens_in": 5, "tokens_out": 2}


def test_an_endless_event_passes_without_being_kept() -> None:
    counted = Counted()
    passed = b"".join(counted.passing(b"x" * 100_000, hide=True) for _ in range(50)) + counted.rest
    assert passed == b"x" * 5_000_000
    assert len(counted.rest) <= 1 << 20
