"""The hub over real HTTP on this machine: a model's description, and each way in which it is refused."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sparkops.core.hub_access import Access
from sparkops.core.model_name import model_name
from sparkops.errors import SparkopsError, Unreachable, UsageError
from sparkops.remote.model_hub import LARGEST_FILE, ModelHub
from support.model_hub import STRANGER, TOKEN, StandInHub, serve

COMMIT, OLDER = "a" * 40, "b" * 40
FILES = {
    "config.json": json.dumps({"model_type": "qwen3", "padding": "x" * 2000}).encode(),
    "tokenizer_config.json": b"{}",
    "model.safetensors": b"w" * 5000,
    "original/model.safetensors": b"w" * 3000,
}
NAME = "acme/any"


@pytest.fixture
def hub() -> StandInHub:
    made = StandInHub()
    made.add(NAME, COMMIT, FILES)
    made.add(NAME, OLDER, {"config.json": b"{}"}, "v1")
    return made


@pytest.fixture
def url(hub: StandInHub) -> Iterator[str]:
    server = serve(hub)
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def refused(endpoint: str, name: str = NAME, token: str | None = None) -> SparkopsError:
    with pytest.raises((UsageError, Unreachable)) as error:
        ModelHub(Access(token, endpoint)).snapshot(model_name(name))
    assert error.value.hint
    assert "\n" not in error.value.message
    return error.value


def test_a_model_is_known_by_its_files_and_no_weights_are_read(hub: StandInHub, url: str) -> None:
    found = ModelHub(Access(None, f"{url}/")).snapshot(model_name(NAME))
    assert (found.commit, found.origin, found.revision) == (COMMIT, url, "")
    assert found.files == {name: len(content) for name, content in FILES.items()}
    assert found.types == ("qwen3",)
    assert found.weights_bytes == 5000
    assert [path for _, path in hub.seen if "safetensors" in path] == []
    assert ModelHub(Access(None, url)).snapshot(model_name(f"{NAME}@v1")).commit == OLDER


def test_a_token_goes_to_the_hub_and_opens_a_gated_model(hub: StandInHub, url: str) -> None:
    hub.gated.add(NAME)
    assert ModelHub(Access(TOKEN, url)).snapshot(model_name(NAME)).types == ("qwen3",)
    assert set(hub.tokens) == {TOKEN}
    assert refused(url).message == f"{NAME} is gated: you must accept its licence"
    assert f"{url}/{NAME}" in (refused(url).hint or "")
    assert "$HF_TOKEN" in (refused(url).hint or "")
    assert refused(url, token=STRANGER).message == f"{NAME} is gated: this token's account has no access to it"


def test_what_does_not_exist_is_said(hub: StandInHub, url: str) -> None:
    assert refused(url, "acme/none").message == f"{url} has no model acme/none"
    assert refused(url, f"{NAME}@v9").message == f"{NAME} has no revision v9"


def test_without_a_connection_the_next_step_is_a_directory() -> None:
    error = refused("http://127.0.0.1:9")
    assert (error.exit_code, error.message) == (
        4,
        "the model hub http://127.0.0.1:9 cannot be reached: Connection refused",
    )
    assert "--from DIR" in (error.hint or "")
    for address in ("file:///etc", "nonsense", "http://", "ftp://example.org"):
        assert "$HF_ENDPOINT" in refused(address).message


@pytest.fixture
def answers() -> Iterator[Callable[[Callable[[Any], None]], str]]:
    """Start a server that answers every request by a function; its address."""
    servers = []

    def start(answer: Callable[[Any], None]) -> str:
        handler = type("Odd", (BaseHTTPRequestHandler,), {"do_GET": answer, "log_message": lambda *_: None})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def saying(body: bytes, status: int = 200, **headers: str) -> Callable[[Any], None]:
    def answer(request: Any) -> None:
        request.send_response(status)
        for key, value in headers.items():
            request.send_header(key, value)
        request.end_headers()
        request.wfile.write(body)

    return answer


def test_an_answer_that_is_none_of_a_hub_is_refused(answers: Callable[[Callable[[Any], None]], str]) -> None:
    listed = {"sha": COMMIT, "siblings": [{"rfilename": "config.json", "size": 1}]}
    for body in (b"<html>", b"[]", b"{}", b'{"sha": 5}', b"[" * 100_000, b'{"sha": "../../x"}', b"\xff\xfe"):
        assert "does not answer like a model hub" in refused(answers(saying(body))).message
    assert "HTTP 500" in refused(answers(saying(b"", 500))).message
    whole = json.dumps(listed).encode() + b" " * LARGEST_FILE
    assert "is larger than 16 MB" in refused(answers(saying(whole))).message
    strange = {**listed, "siblings": [5, {"rfilename": 5}, {"rfilename": "a", "size": "x"}, {"rfilename": "b"}]}
    found = ModelHub(Access(None, answers(saying(json.dumps(strange).encode())))).snapshot(model_name(NAME))
    assert found.files == {"a": 0, "b": 0}


def test_a_redirect_to_another_host_does_not_get_the_token(
    hub: StandInHub, url: str, answers: Callable[[Callable[[Any], None]], str]
) -> None:
    def elsewhere(request: Any) -> None:
        saying(b"", 307, Location=f"{url}{request.path}")(request)

    assert ModelHub(Access(TOKEN, answers(elsewhere))).snapshot(model_name(NAME)).commit == COMMIT
    assert set(hub.tokens) == {""}
