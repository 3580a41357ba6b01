"""Who may ask what: each state of a key, each model, each kind of request; and the error in the client's own shape."""

import http.client
import itertools
from typing import Any

import pytest

from support.front import OWN, REQUESTS, Engine, Front, eventually

KEYS = {
    "sk-anna": 200,
    OWN: 200,
    "sk-bob": 403,
    "sk-old": 401,
    "sk-nobody": 401,
    "": 401,
    "sk-busy": 429,
}
STATES = {
    "anna": {},
    "bob": {"models": ("auto",)},
    "old": {"expires": "2026-01-31"},
    "busy": {"tokens_per_day": 1},
}
TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


def told(path: str, found: Any) -> tuple[str, str]:
    """Type and message of an error; raises if it has not the shape of the path's clients."""
    if path == "/v1/messages":
        assert found["type"] == "error"
        return found["error"]["type"], found["error"]["message"]
    assert set(found["error"]) == {"message", "type", "param", "code"}
    return found["error"]["type"], found["error"]["message"]


def test_each_state_of_a_key_gets_its_answer_from_each_kind_of_request(front: Front, engine: Engine) -> None:
    front.keys(**STATES)
    assert eventually(lambda: front.ask("GET /v1/models", key="sk-busy").status == 200)
    front.ask("POST /v1/completions", {"model": "auto", "prompt": "Hello"}, "sk-busy").text()
    for (path, body), (key, status) in itertools.product(REQUESTS.items(), KEYS.items()):
        for header in ("Authorization", "x-api-key"):
            answer = front.ask(f"POST {path}", {**body, "model": "coder"}, key, header)
            assert answer.status == status, (path, key, header)
            found = answer.json()
            if status == 200:
                assert engine.asked[-1] == {
                    "path": path if path[:2] == "/v" else f"/v1{path}",
                    "body": {**body, "model": "org/model"},
                    "key": f"Bearer {OWN}",
                }
            else:
                assert told(path, found)[0] == TYPES[status]
                assert (answer.after is not None) == (status == 429)
    assert len(engine.asked) == 1 + 2 * len(REQUESTS) * 2


@pytest.mark.parametrize("path", REQUESTS)
def test_a_model_that_is_not_there_is_told(front: Front, engine: Engine, path: str) -> None:
    for model, status in (("nothing", 404), ("", 400), (None, 400), (["auto"], 400)):
        answer = front.ask(f"POST {path}", {**REQUESTS[path], "model": model}, OWN)
        assert answer.status == status
        assert "/v1/models" in told(path, answer.json())[1]
    assert not engine.asked


def test_the_models_of_a_key_are_listed_as_both_kinds_of_clients_read_them(front: Front) -> None:
    front.keys(**STATES)
    assert eventually(lambda: front.ask("GET /v1/models", key="sk-bob").status == 200)
    for key, names in (("sk-anna", ["auto", "coder"]), ("sk-bob", ["auto"]), (OWN, ["auto", "coder"])):
        found = front.ask("GET /v1/models", key=key).json()
        assert [one["id"] for one in found["data"]] == names
        assert {(one["object"], one["type"]) for one in found["data"]} == {("model", "model")}
    assert front.ask("GET /v1/models/auto", key="sk-bob").json()["id"] == "auto"
    assert front.ask("GET /v1/models/coder", key="sk-bob").status == 404
    assert front.ask("GET /v1/models", key="sk-nobody").status == 401


@pytest.mark.parametrize(
    ("line", "body", "status"),
    [
        ("POST /v1/completions", b"{", 400),
        ("POST /v1/completions", b"[]", 400),
        ("POST /v1/completions", b"[" * 100_000, 400),
        ("POST /v1/completions", b"\xff\xfe", 400),
        ("POST /v1/completions", b" " * ((64 << 20) + 1), 413),
        ("POST /v1/completions", b'{"model": "auto", "stream": 1}', 400),
        ("POST /v1/completions", b'{"model": "auto", "stream": "true"}', 400),
        ("POST /v1/completions", b'{"model": "auto", "stream": true, "stream_options": 3}', 400),
        ("POST /v1/completions", b'{"model": "auto", "stream_options": {"include_usage": "false"}}', 400),
        ("GET /v1/completions", None, 405),
        ("POST /v1/nothing", b"{}", 404),
        ("POST /v1/models", b"{}", 405),
        ("GET /", None, 404),
        ("POST /../etc/passwd", b"{}", 404),
    ],
)
def test_nonsense_gets_a_plain_answer(front: Front, engine: Engine, line: str, body: Any, status: int) -> None:
    answer = front.ask(line, body, OWN)
    assert answer.status == status
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert not engine.asked


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Authorization", "Bearer \xff\xfe", 401),
        ("Authorization", "Basic sk-own", 401),
        ("Authorization", "Bearer " + "x" * 7000, 401),
        ("Content-Type", "application/json; charset=punycode", 200),
        ("Content-Type", "application/json; charset=nope", 200),
        ("Content-Encoding", "gzip", 400),
    ],
)
def test_headers_of_any_kind_are_read_as_what_they_are(
    front: Front, engine: Engine, header: str, value: str, status: int
) -> None:
    link = http.client.HTTPConnection("127.0.0.1", front.port, timeout=300)
    headers = {"Authorization": f"Bearer {OWN}", header: value.encode("latin-1")}
    link.request("POST", "/v1/completions", b'{"model": "auto", "prompt": "Hello"}', headers)
    answer = link.getresponse()
    assert (answer.status, len(engine.asked)) == (status, status == 200)
    answer.close()
    link.close()


def test_a_body_of_any_depth_is_answered(front: Front) -> None:
    for depth in range(900, 1100, 7):
        body = b'{"model": "auto", "x": %s%s}' % (b"[" * depth, b"]" * depth)
        answer = front.ask("POST /v1/completions", body, OWN)
        assert answer.status in (200, 400)
        answer.close()


def test_a_deployment_without_a_key_is_open_to_all_and_no_key_of_it_is_sent(front: Front, engine: Engine) -> None:
    text = (front.routes / "routes.json").read_text()
    engine.key = "none"
    front._put(front.routes / "routes.json", text.replace(front_digest(text), ""))
    assert eventually(lambda: front.ask("GET /v1/models").status == 200)
    for key in ("", "sk-nobody"):
        assert front.ask("POST /v1/completions", {"model": "auto", "prompt": "Hello"}, key).status == 200
    assert {one["key"] for one in engine.asked} == {"Bearer none"}


def front_digest(text: str) -> str:
    return text.split('"key": "')[1].partition('"')[0]
