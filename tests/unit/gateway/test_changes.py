"""What changes while it serves: keys, routes, servers; and what it counts."""

import json
import socket

import pytest

from support.front import OWN, USAGE, Engine, Front, eventually

ASKED = {"model": "auto", "messages": [{"role": "user", "content": "Hello"}]}
STREAM = {**ASKED, "stream": True}
CHAT = "POST /v1/chat/completions"


def has(front: Front, *keys: str) -> bool:
    """Whether exactly these keys of people are in force, of those that tests give."""
    known = ("sk-anna", "sk-bob")
    return eventually(lambda: {key for key in known if front.ask("GET /v1/models", key=key).status == 200} == {*keys})


def told(front: Front, file: str, times: int) -> bool:
    """Whether it says so often that a file cannot be used."""
    return eventually(lambda: front.said().count(f"{file} cannot be used") == times)


def test_a_revoked_key_ends_with_its_streams_and_those_of_others_go_on(front: Front, engine: Engine) -> None:
    front.keys(anna={}, bob={})
    assert has(front, "sk-anna", "sk-bob")
    engine.hold = True
    hers, his, own = (front.ask(CHAT, STREAM, key) for key in ("sk-anna", "sk-bob", OWN))
    front.keys(bob={})
    assert "this API key was revoked" in hers.text().splitlines()[-2]
    assert front.ask(CHAT, ASKED, "sk-anna").status == 401
    assert eventually(lambda: engine.gone == 1), "the engine is told that nobody waits"
    engine.hold = False
    for stream in (his, own):
        assert stream.text().endswith("data: [DONE]\n\n")
    assert engine.gone == 1


def test_half_a_file_of_keys_changes_nothing_and_is_told(front: Front) -> None:
    front.keys(anna={}, bob={"rpm": 5})
    assert has(front, "sk-anna", "sk-bob")
    path = front.people / "keys.json"
    whole = path.read_text()
    broken = (whole[: len(whole) // 2], "", "[]", whole.replace('"rpm": 5', '"rpm": "5"'), '{"keys": {"x": 3}}')
    for count, text in enumerate(broken, 1):
        front._put(path, text)
        assert told(front, "keys.json", count), text
        assert has(front, "sk-anna", "sk-bob")
    front.keys(bob={})
    assert has(front, "sk-bob")
    path.unlink()
    assert has(front), "without the file nobody has a key"
    front.keys(anna={})
    assert has(front, "sk-anna")


def test_fifty_people_have_keys(front: Front) -> None:
    front.keys(**{f"p{number}": {"rpm": 1} for number in range(50)})
    assert eventually(lambda: front.ask("GET /v1/models", key="sk-p49").status == 200)
    for _ in range(2):
        found = [front.ask(CHAT, ASKED, f"sk-p{number}").status for number in range(50)]
    assert found == [429] * 50
    assert front.ask(CHAT, ASKED, OWN).status == 200


def test_requests_at_a_time_are_counted_until_they_end(front: Front, engine: Engine) -> None:
    front.keys(anna={"parallel": 2})
    assert has(front, "sk-anna")
    engine.hold = True
    held = [front.ask(CHAT, STREAM, "sk-anna") for _ in range(2)]
    refused = front.ask(CHAT, ASKED, "sk-anna")
    assert (refused.status, refused.after) == (429, "1")
    held[0].close()
    assert eventually(lambda: engine.gone == 1)
    assert eventually(lambda: front.ask(CHAT, ASKED, "sk-anna").status == 200)
    engine.hold = False
    assert held[1].text().endswith("data: [DONE]\n\n")


def test_what_was_used_is_summed_up_and_outlives_a_restart(front: Front, engine: Engine) -> None:
    front.keys(anna={"tokens_per_day": 29}, bob={"rpm": 1})
    assert has(front, "sk-anna", "sk-bob")
    front.ask(CHAT, ASKED, "sk-anna").text()
    front.ask(CHAT, STREAM, "sk-anna").text()
    for _ in range(3):
        front.ask("POST /v1/embeddings", {"model": "auto", "input": "Hello"}, "sk-bob").text()
    assert eventually(lambda: set(front.usage()) == {"anna", "bob"})
    front.end()
    found = {
        name: {key: value for key, value in one.items() if key != "seconds"} for name, one in front.usage().items()
    }
    assert found == {
        "anna": {"requests": 2, "refused": 0, "tokens_in": 14, "tokens_out": 6},
        "bob": {"requests": 1, "refused": 2, "tokens_in": 7, "tokens_out": 0},
    }
    assert "Hello" not in (front.people / "usage.json").read_text() + front.said()
    front.start()
    assert front.ask(CHAT, ASKED, "sk-anna").status == 200
    assert front.ask(CHAT, ASKED, "sk-anna").status == 429


@pytest.mark.parametrize("wants", [None, {}, {"include_usage": False}, {"include_usage": True}])
def test_a_stream_has_the_count_of_tokens_only_if_the_client_wants_it(
    front: Front, engine: Engine, wants: dict[str, bool] | None
) -> None:
    front.keys(anna={})
    assert has(front, "sk-anna")
    body = STREAM if wants is None else {**STREAM, "stream_options": wants}
    events = front.ask(CHAT, body, "sk-anna").text().split("\n\n")
    assert engine.asked[-1]["body"]["stream_options"]["include_usage"] is True
    found = [json.loads(one[6:]).get("usage") for one in events if one.startswith("data: {")]
    assert found == [None, None, None, *([USAGE] if wants and wants["include_usage"] else [])]
    assert events[-2:] == ["data: [DONE]", ""]


def test_servers_take_turns_and_one_that_fails_is_asked_last(front: Front, engine: Engine) -> None:
    other = Engine()
    front.route(engine, other)
    assert eventually(lambda: front.ask(CHAT, ASKED, OWN).status == 200 and engine.asked and other.asked)
    for status in (500, 503, 401):
        engine.status, engine.asked[:], other.asked[:] = status, [], []
        assert {front.ask(CHAT, ASKED, OWN).status for _ in range(20)} == {200}
        assert len(other.asked) == 20
        assert len(engine.asked) <= 2
        engine.status = 200
        assert eventually(lambda: front.ask(CHAT, ASKED, OWN).status == 200 and engine.asked)
    other.end()
    assert {front.ask(CHAT, ASKED, OWN).status for _ in range(20)} == {200}


def test_without_a_server_clients_are_told_to_come_back(front: Front, engine: Engine) -> None:
    engine.status = 503
    answer = front.ask(CHAT, ASKED, OWN)
    assert (answer.status, answer.after) == (503, "5")
    assert "sparkops status" in answer.json()["error"]["message"]
    engine.status, engine.key = 200, "sk-rotated"
    answer = front.ask(CHAT, ASKED, OWN)
    assert answer.status == 502
    assert "sparkops apply" in answer.json()["error"]["message"]


def test_a_request_that_ends_engines_ends_at_most_two(front: Front, engine: Engine) -> None:
    others = [Engine(), Engine()]
    front.route(engine, *others)
    engines = [engine, *others]
    assert eventually(lambda: front.ask(CHAT, ASKED, OWN).status == 200 and all(one.asked for one in engines))
    for one in engines:
        one.status, one.asked[:] = 500, []
    answer = front.ask(CHAT, ASKED, OWN)
    assert (answer.status, answer.json()) == (500, {"error": {"message": "no"}})
    assert sum(len(one.asked) for one in engines) == 2
    for one in others:
        one.end()


def test_a_key_that_is_revoked_while_its_request_comes_in_opens_nothing(front: Front, engine: Engine) -> None:
    front.keys(anna={}, bob={})
    assert has(front, "sk-anna", "sk-bob")
    body = json.dumps(ASKED).encode()
    with socket.create_connection(("127.0.0.1", front.port), 20) as link:
        lines = (
            "POST /v1/chat/completions HTTP/1.1",
            "Host: x",
            "Authorization: Bearer sk-anna",
            f"Content-Length: {len(body)}",
        )
        head = "\r\n".join(lines)
        link.sendall(f"{head}\r\n\r\n".encode() + body[:5])
        assert eventually(lambda: front.ask("GET /health").status == 200)
        front.keys(bob={})
        assert has(front, "sk-bob")
        assert b" 401 " in link.recv(4096)
    assert not engine.asked


def test_a_stream_that_the_client_leaves_counts_what_passed(front: Front, engine: Engine) -> None:
    front.keys(anna={})
    assert has(front, "sk-anna")
    engine.hold = True
    left = front.ask(CHAT, STREAM, "sk-anna")
    assert left.answer.readline()
    left.close()
    assert eventually(lambda: "anna" in front.usage())
    sums = front.usage()["anna"]
    assert sums["tokens_in"] > 0
    assert sums["tokens_out"] > 0


def test_what_the_client_did_wrong_is_told_as_the_engine_says_it(front: Front, engine: Engine) -> None:
    engine.status = 400
    answer = front.ask(CHAT, ASKED, OWN)
    assert (answer.status, answer.json()) == (400, {"error": {"message": "no"}})
    assert len(engine.asked) == 1


def test_routes_that_cannot_be_read_change_nothing(front: Front, engine: Engine) -> None:
    path = front.routes / "routes.json"
    for count, text in enumerate(("{", '{"routes": {"auto": {}}}', '{"routes": 3}'), 1):
        front._put(path, text)
        assert told(front, "routes.json", count)
        assert front.ask(CHAT, ASKED, OWN).status == 200
    front._put(path, '{"routes": {}}')
    assert eventually(lambda: front.ask(CHAT, ASKED, OWN).status == 401)
