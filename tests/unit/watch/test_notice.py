"""Alerts for others: once each, in the shape of the receiver, none at night, and nothing of a node as markup."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import time

import pytest

from sparkops.core.stored import Stored
from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.node import WatchedNode, heard
from sparkops.core.watch.notice import Notice, QuietHours
from sparkops.core.watch.picture import Picture, picture
from sparkops.core.watch.receiver import receiver
from sparkops.core.watch.telling import Telling
from support.frames import a_deployment, a_frame, watched_node

HOSTILE = Alert(
    "engine-wedged", "2 running <script>\x1b[2J\nX-Header: 1", "`sparkops restart chat`", "spark1", "chat", grave=True
)
AT = "2026-11-28T20:00:00+00:00"


@pytest.mark.parametrize(
    ("url", "shape", "plain"),
    [
        ("https://ntfy.sh/topic", "ntfy", "https://ntfy.sh/topic"),
        ("ntfy+http://10.0.0.9/topic", "ntfy", "http://10.0.0.9/topic"),
        ("https://hooks.slack.com/services/T/B/X", "slack", "https://hooks.slack.com/services/T/B/X"),
        ("slack+https://chat.example/hook", "slack", "https://chat.example/hook"),
        ("https://example.org/hook?a=b", "json", "https://example.org/hook?a=b"),
        ("https://[fe80::1]:8443/hook", "json", "https://[fe80::1]:8443/hook"),
        ("HTTPS://NTFY.sh/Topic", "ntfy", "https://ntfy.sh/Topic"),
    ],
)
def test_the_shape_is_that_of_the_receiver(url, shape, plain):
    assert (receiver(url).shape, receiver(url).url) == (shape, plain)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a/b",
        "teams+https://a/b",
        "https:///b",
        "https://a/b c",
        "https://a:x/",
        "https://[/",
        "https://a/#x",
        "https://h/tö",
        "https://:t%C3%B6@h/",
    ],
)
def test_what_is_no_url_is_refused(url):
    with pytest.raises(ValueError, match="."):
        receiver(url)


@pytest.mark.parametrize(
    ("url", "header"),
    [
        ("https://me:secret@ntfy.example/t", "Basic bWU6c2VjcmV0"),
        ("https://me:%C3%A9%40@ntfy.example?t=1", "Basic bWU6w6lA"),
        ("ntfy+https://:tk_1@ntfy.example/t", "Bearer tk_1"),
    ],
)
def test_a_password_or_token_goes_into_a_header_and_is_never_shown(url, header):
    found = receiver(url)
    assert found.post(Notice(HOSTILE), AT).headers["Authorization"] == header
    assert "@" not in found.url
    assert header.split()[1] not in repr(found)
    assert "/t" not in repr(found)
    assert found.name == "https://ntfy.example"


@pytest.mark.parametrize("url", ["https://ntfy.sh/t", "slack+https://a/b", "https://a/b"])
def test_nothing_of_a_node_is_obeyed(url):
    made = receiver(url).post(Notice(HOSTILE), AT)
    assert all(text.isprintable() and text.isascii() for text in made.headers.values())
    assert b"\x1b" not in made.body
    told = json.loads(made.body) if "json" in made.headers.get("Content-Type", "") else {}
    assert "<script>" not in told.get("text", "") or told["alert"] == HOSTILE.id


class Teller:
    """Looks once a second, and keeps what was told as (second, ID, how)."""

    def __init__(self, lasting: float = 15.0) -> None:
        self.telling, self.lasting, self.now = Telling(), lasting, 0.0
        self.before = Picture()
        self.told: list[tuple[float, str, str]] = []

    def look(
        self,
        seconds: int,
        *alerts: Alert,
        quiet: bool = False,
        nodes: dict[str, WatchedNode] | None = None,
        deployments: Sequence[Stored] = (),
    ) -> None:
        for _ in range(seconds):
            self.before = picture(self.now, nodes or {}, deployments, alerts, self.before)
            self.telling, notices = self.telling.after(self.before, self.lasting, quiet)
            how = [(one.alert.id, "over" if one.over else "grave" if one.alert.grave else "began") for one in notices]
            self.told += [(self.now, *one) for one in how]
            self.now += 1


MILD = replace(HOSTILE, grave=False)
BEGAN, OVER = (15.0, HOSTILE.id, "grave"), (45.0, HOSTILE.id, "over")


def test_each_is_told_once_and_once_that_it_is_over():
    teller = Teller()
    teller.look(31, HOSTILE)
    teller.look(60)
    assert teller.told == [BEGAN, OVER]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "1 s"), (7, "7 s"), (59.6, "60 s"), (61, "1 min"), (5399, "90 min"), (5400, "1.5 h")]
)
def test_the_end_says_how_long_it_was(seconds, text):
    assert Notice(HOSTILE, over=True, seconds=seconds).text == f"over after {text}"


def test_how_long_it_was_counts_from_its_begin():
    shown, telling = Picture(), Telling()
    for now in range(60):
        shown = picture(now, {}, [], [HOSTILE] if 5 <= now < 40 else [], shown)
        telling, notices = telling.after(shown, 15.0)
        assert [one.seconds for one in notices if one.over] == ([34.0] if now == 54 else [])


def test_one_that_gets_worse_is_told_again_and_one_that_gets_better_is_not():
    teller = Teller()
    teller.look(20, MILD)
    teller.look(20, HOSTILE)
    teller.look(20, MILD)
    assert [how for _, _, how in teller.told] == ["began", "grave"]


@pytest.mark.parametrize(("on", "off", "times"), [(14, 1, 0), (20, 2, 1), (16, 14, 1)])
def test_one_that_comes_again_and_again_is_told_at_most_once(on, off, times):
    teller = Teller()
    for _ in range(10):
        teller.look(on, HOSTILE)
        teller.look(off)
    assert len(teller.told) == times


def test_at_night_nobody_is_told_and_in_the_morning_of_what_is_still_wrong():
    teller = Teller()
    teller.look(50, HOSTILE, quiet=True)
    assert teller.told == []
    teller.look(5, HOSTILE)
    assert teller.told == [(50.0, HOSTILE.id, "grave")]


def test_what_ends_at_night_is_told_to_be_over_in_the_morning():
    teller = Teller()
    teller.look(20, HOSTILE)
    teller.look(40, quiet=True)
    assert teller.told == [BEGAN]
    teller.look(1)
    assert teller.told[1:] == [(60.0, HOSTILE.id, "over")]


def test_nothing_is_over_on_a_node_that_tells_nothing():
    there, gone = {"spark1": watched_node(a_frame())}, {"spark1": WatchedNode("spark1", problem="it is away")}
    slow = Alert("link-slow", "", "", "spark1")
    teller = Teller()
    teller.look(16, slow, nodes=there)
    teller.look(100, nodes=gone)
    assert [one for one in teller.told if one[1] == "link-slow"] == [(15.0, "link-slow", "began")]
    for _ in range(60):
        there = {"spark1": heard(there["spark1"], a_frame(), teller.now)}
        teller.look(1, nodes=there)
    assert {one[1:] for one in teller.told[-2:]} == {("link-slow", "over"), ("node-away", "over")}


def test_a_deployment_of_which_only_some_nodes_are_watched_is_over_too():
    nodes, teller = {"spark1": watched_node(a_frame())}, Teller(lasting=0.0)
    silent = Alert("engine-silent", "", "", "spark1", "chat")
    teller.look(1, silent, nodes=nodes, deployments=[a_deployment()])
    teller.look(1, nodes=nodes, deployments=[a_deployment()])
    assert [how for _, name, how in teller.told if name == silent.id] == ["began", "over"]


def test_lines_without_a_terminal_tell_at_once():
    teller = Teller(lasting=0.0)
    teller.look(2, HOSTILE)
    teller.look(2)
    assert teller.told == [(0.0, HOSTILE.id, "grave"), (2.0, HOSTILE.id, "over")]


@pytest.mark.parametrize(
    ("hours", "held"),
    [(QuietHours(time(22), time(7)), [True, False, True]), (QuietHours(time(6), time(20)), [False, True, False])],
)
def test_quiet_hours_may_go_over_midnight(hours, held):
    assert [hours.hold(at) for at in (time(23, 30), time(12), time(3))] == held
