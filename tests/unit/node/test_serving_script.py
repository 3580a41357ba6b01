"""`serving` asks an API as a client would; which key it sends is decided on the node."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

KEY = "sk-right"


class Api(BaseHTTPRequestHandler):
    """An engine that serves `m` to who has the key; `/posted` tells whether anything was asked of the model yet.

    Its health takes `busy` seconds.
    """

    def do_GET(self) -> None:
        if self.path == "/posted":
            self.send_response(200 if self.server.posted else 404)
            self.end_headers()
            return
        if self.path == "/health":
            time.sleep(self.server.busy)
        self.respond({"data": [{"id": "m"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted = True
        self.respond({"usage": {"completion_tokens": 4}})

    def respond(self, content: object) -> None:
        allowed = self.path == "/health" or self.headers["Authorization"] == f"Bearer {KEY}"
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(json.dumps(content if allowed else {}).encode())

    def log_message(self, *_words: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        server.posted, server.busy = False, 0
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def api(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def ask(node, api, key):
    words = ("--api", api, "--health", "/health", "--model", "m", "--key", str(key), "--container", "c")
    return node.run("serving", *words).stdout.splitlines()


def test_the_key_of_the_home_is_sent(node, api):
    (node.home / "key").write_text(f"{KEY}\n")
    node.tool("docker", "exit 1")
    assert ask(node, api, node.home / "key")[:4] == ["ready", "health 200", "model yes", "answer ok"]


@pytest.mark.parametrize(("seconds", "said"), [(30, "ready"), (5, "wait health: silent")])
def test_a_patient_look_waits_for_the_health_of_a_busy_engine(node, api, server, seconds, said):
    server.busy = 7
    (node.home / "key").write_text(f"{KEY}\n")
    words = ("--api", api, "--health", "/health", "--model", "m", "--key", str(node.home / "key"))
    assert node.run("serving", *words, "--seconds", str(seconds)).stdout.splitlines()[0] == said


@pytest.mark.parametrize("stale", [True, False])
def test_another_operators_key_is_taken_from_the_container(node, api, stale):
    if stale:
        (node.home / "key").write_text("sk-of-an-older-deployment\n")
    node.tool("docker", f'case "$*" in "exec c sh -c "*/run/sparkops/key*) echo {KEY} ;; esac')
    assert ask(node, api, node.home / "key")[0] == "ready"


def test_without_any_right_key_it_does_not_serve(node, api):
    node.tool("docker", "exit 1")
    assert ask(node, api, node.home / "key")[0].startswith("never the model m is not listed")


@pytest.mark.parametrize(
    ("told", "seconds", "verdict"),
    [
        ("echo Active:; echo ' 1 node_a'; echo ' 1 node_b'; echo Pending:; echo ' 0.0/2.0 GPU'", 30, "ready"),
        ("echo Active:; echo ' 1 node_a'; echo Pending:; echo ' 0.0/1.0 GPU'", 19, "wait Ray shows 1 nodes and 1 GPUs"),
        ("exit 1", 19, "ready"),
        ("exit 1", 30, "wait Ray does not tell its nodes"),
    ],
)
def test_ray_that_says_nothing_is_believed_to_be_whole_by_a_quick_look_alone(node, api, told, seconds, verdict):
    (node.home / "key").write_text(f"{KEY}\n")
    node.tool("docker", f'case "$*" in *"ray status") {told} ;; inspect*) echo running 0 ;; esac')
    words = ("--api", api, "--health", "/health", "--model", "m", "--key", str(node.home / "key"))
    said = node.run("serving", *words, "--container", "c", "--ray", "2", "--seconds", str(seconds)).stdout
    assert said.startswith(verdict)


def test_ray_is_asked_while_the_engine_is_asked(node, api):
    """Each may take all of its time, and a look may not take both."""
    (node.home / "key").write_text(f"{KEY}\n")
    whole = "echo Active:; echo ' 1 node_a'; echo ' 1 node_b'; echo Pending:; echo ' 0.0/2.0 GPU'"
    posted = f"until curl -fsS --noproxy '*' {api}/posted >&2; do sleep 0.1; done"
    node.tool("docker", f'case "$*" in *"ray status") {posted}; {whole} ;; inspect*) echo running 0 ;; esac')
    words = ("--api", api, "--health", "/health", "--model", "m", "--key", str(node.home / "key"))
    said = node.run("serving", *words, "--container", "c", "--ray", "2", "--seconds", "30").stdout.splitlines()
    assert (said[0], said[4]) == ("ready", "ray 2 2")
