"""Who may ask the page: a matrix of requests, and that a token opens once."""

import pytest

from sparkops.core.watch.door import Asked, Door

ORIGIN, HOST = "http://127.0.0.1:8799", "127.0.0.1:8799"


def door() -> Door:
    return Door(frozenset({ORIGIN, "http://localhost:8799"}), "token-1", sessions={"session-1"})


def asked(method="GET", path="/api/events", token="", cookie="session-1", **headers: str) -> Asked:
    told = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Asked(method, path, told, token, cookie)


@pytest.mark.parametrize(
    ("request_", "verdict"),
    [
        (asked(), "open"),
        (asked(host="localhost:8799"), "open"),
        (asked(origin=ORIGIN), "open"),
        (asked("POST", "/api/change", origin=ORIGIN), "open"),
        (asked(path="/", cookie="", token="token-1"), "enter"),
        (asked(path="/", cookie="", token="token-1", sec_fetch_site="cross-site"), "enter"),
        (asked(cookie=""), "refuse"),
        (asked(cookie="session-2"), "refuse"),
        (asked(path="/", cookie="", token="token-2"), "refuse"),
        (asked(path="/", token="token-2"), "refuse"),
        (asked(path="/api/events", cookie="", token="token-1"), "refuse"),
        (asked("POST", "/", cookie="", token="token-1", origin=ORIGIN), "refuse"),
        (asked(host="evil.example"), "refuse"),
        (asked(host="evil.example:8799", path="/", token="token-1"), "refuse"),
        (asked(host=""), "refuse"),
        (asked(origin="http://evil.example"), "refuse"),
        (asked(origin="null"), "refuse"),
        (asked(origin="https://127.0.0.1:8799"), "refuse"),
        (asked("POST", "/api/change"), "refuse"),
        (asked("POST", "/api/change", origin="http://evil.example"), "refuse"),
        (asked(sec_fetch_site="cross-site"), "refuse"),
        (asked(sec_fetch_site="same-site"), "refuse"),
    ],
)
def test_who_may_ask(request_, verdict):
    assert door().verdict(request_) == verdict


def test_a_token_that_was_used_is_refused_and_the_next_one_opens():
    one = door()
    one.entered("session-2", "token-2")
    assert one.verdict(asked(path="/", cookie="", token="token-1")) == "refuse"
    assert one.verdict(asked(path="/", cookie="", token="token-2")) == "enter"
    assert one.verdict(asked(cookie="session-2")) == "open"
