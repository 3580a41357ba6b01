"""Alerts for others: once each, in the shape of the receiver, none at night, and nothing of a node as markup."""

import json
from datetime import time

import pytest

from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.notice import Notice, QuietHours
from sparkops.core.watch.receiver import receiver
from sparkops.core.watch.telling import Telling

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
    ],
)
def test_the_shape_is_that_of_the_receiver(url, shape, plain):
    assert (receiver(url).shape, receiver(url).url) == (shape, plain)


@pytest.mark.parametrize(
    "url",
    ["ftp://a/b", "teams+https://a/b", "https:///b", "https://a/b c", "https://a:x/", "https://[/", "https://a/#x"],
)
def test_what_is_no_url_is_refused(url):
    with pytest.raises(ValueError, match="."):
        receiver(url)


@pytest.mark.parametrize(
    ("url", "header"),
    [("https://me:secret@ntfy.example/t", "Basic bWU6c2VjcmV0"), ("ntfy+https://:tk_1@ntfy.example/t", "Bearer tk_1")],
)
def test_a_password_or_token_goes_into_a_header_and_is_never_shown(url, header):
    found = receiver(url)
    assert found.post(Notice(HOSTILE), AT).headers["Authorization"] == header
    assert "@" not in found.url
    assert header.split()[1] not in repr(found)
    assert found.name == "https://ntfy.example"


@pytest.mark.parametrize("url", ["https://ntfy.sh/t", "slack+https://a/b", "https://a/b"])
def test_nothing_of_a_node_is_obeyed(url):
    made = receiver(url).post(Notice(HOSTILE), AT)
    assert all(text.isprintable() and text.isascii() for text in made.headers.values())
    assert b"\x1b" not in made.body
    told = json.loads(made.body) if "json" in made.headers.get("Content-Type", "") else {}
    assert "<script>" not in told.get("text", "") or told["alert"] == HOSTILE.id


def after(told: Telling, at: float, *alerts: Alert, quiet: bool = False) -> tuple[Telling, list[tuple[str, bool]]]:
    told, notices = told.after(alerts, at, 15.0, quiet)
    return told, [(one.alert.id, one.over) for one in notices]


def test_each_is_told_once_and_once_that_it_is_over():
    told, notices = after(Telling(), 0, HOSTILE)
    assert notices == [(HOSTILE.id, False)]
    told, notices = after(told, 2, HOSTILE)
    assert notices == []
    told, notices = after(told, 17)
    assert notices == [(HOSTILE.id, True)]
    assert after(told, 19)[1] == []


def test_one_that_comes_again_and_again_is_told_once():
    told, _ = after(Telling(), 0, HOSTILE)
    for at in range(2, 60, 2):
        told, notices = after(told, at, *([HOSTILE] if at % 10 == 0 else []))
        assert notices == []


def test_at_night_nobody_is_told_and_in_the_morning_of_what_is_still_wrong():
    told, notices = after(Telling(), 0, HOSTILE, quiet=True)
    assert notices == []
    assert len(after(told, 2, HOSTILE)[1]) == 1
    assert after(told, 2)[1] == []


def test_what_ends_at_night_is_told_to_be_over_in_the_morning():
    told, _ = after(Telling(), 0, HOSTILE)
    told, notices = after(told, 100, quiet=True)
    assert notices == []
    assert after(told, 200)[1] == [(HOSTILE.id, True)]


@pytest.mark.parametrize(
    ("hours", "held"),
    [(QuietHours(time(22), time(7)), [True, False, True]), (QuietHours(time(6), time(20)), [False, True, False])],
)
def test_quiet_hours_may_go_over_midnight(hours, held):
    assert [hours.hold(at) for at in (time(23, 30), time(12), time(3))] == held
