"""`serving` asks an API as a client would; which key it sends is decided on the node."""

import json
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

KEY = "sk-right"
WHOLE = "echo Active:; echo ' 1 node_a'; echo ' 1 node_b'; echo Pending:; echo ' 0.0/2.0 GPU'"
MORE = "echo Active:; echo ' 1 node_a'; echo ' 1 node_b'; echo ' 1 node_c'; echo Pending:; echo ' 0.0/3.0 GPU'"
HALF = "echo Active:; echo ' 1 node_a'; echo Pending:; echo ' 0.0/1.0 GPU'"


class Api(BaseHTTPRequestHandler):
    """An engine that serves `m` to who has the key; `/posted` answers once something was asked of the model.

    Its health may be silent.
    """

    def do_GET(self) -> None:
        if self.path == "/posted":
            self.send_response(200 if self.server.posted.wait(60) else 404)
            self.end_headers()
            return
        if self.path == "/health" and self.server.silent.is_set():
            self.server.over.wait(60)
        self.respond({"data": [{"id": "m"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted.set()
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
        server.posted, server.silent, server.over = Event(), Event(), Event()
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()


@pytest.fixture
def ask(server):
    """What a look at the API says, line by line."""

    def look(node, *words, key=KEY):
        if key:
            (node.home / "key").write_text(f"{key}\n")
        place = ("--api", f"http://127.0.0.1:{server.server_port}", "--health", "/health", "--model", "m")
        return node.run("serving", *place, "--key", f"{node.home}/key", "--container", "c", *words).stdout.splitlines()

    return look


def test_the_key_of_the_home_is_sent_and_else_that_of_the_container(node, ask):
    node.tool("docker", "exit 1")
    assert ask(node, key=None)[0].startswith("never the API does not list the model m")
    assert ask(node)[:4] == ["ready", "health 200", "model yes", "answer ok"]
    node.tool("docker", f'case "$*" in "exec c sh -c "*/run/sparkops/key*) echo {KEY} ;; esac')
    assert ask(node, key="sk-of-an-older-deployment")[0] == "ready"
    (node.home / "key").unlink()
    assert ask(node, key=None)[0] == "ready"


def test_a_look_waits_for_the_health_of_a_busy_engine_as_long_as_its_patience_lasts(node, ask, server):
    """Up to 30 seconds; the node's curl notes how long it may take, and waits but a moment for one that is silent."""
    real = f'exec {shutil.which("curl")} "$@"'
    node.tool("docker", "exit 1")
    node.tool("curl", f'case "$*" in */health) echo "$5" >>"$HOME/patience" ;; esac; {real}')
    assert [ask(node, "--seconds", seconds)[0] for seconds in ("5", "30", "60")] == ["ready"] * 3
    assert (node.home / "patience").read_text().split() == ["5", "30", "30"]
    server.silent.set()
    node.tool("curl", f'case "$*" in */health) shift 5; set -- -sS --noproxy "*" -m 0.1 "$@" ;; esac; {real}')
    assert "the API hangs" in ask(node)[0]
    server.silent.clear()


def test_ray_that_says_nothing_is_believed_to_be_whole_by_a_quick_look_alone(node, ask):
    looks = {
        (WHOLE, "30"): "ready",
        (MORE, "19"): "ready",
        (HALF, "19"): "wait Ray shows 1 of 2 nodes and 1 of 2 GPUs",
        ("exit 1", "19"): "ready",
        ("exit 1", "30"): "wait ray status shows no nodes",
    }
    for (told, seconds), verdict in looks.items():
        node.tool("docker", f'case "$*" in *"ray status") {told} ;; inspect*) echo running 0 ;; esac')
        assert ask(node, "--ray", "2", "--seconds", seconds)[0] == verdict


def test_ranks_that_have_not_met_are_the_reason_and_a_container_that_does_not_say_is_believed(node, ask):
    looks = {
        "0 1": ("ready", ["ranks 0 1"]),
        "0": ("wait 1 of 2 ranks are here", ["ranks 0"]),
        "": ("ready", []),
        "no such file": ("ready", []),
    }
    for told, (verdict, evidence) in looks.items():
        node.tool("docker", f'case "$*" in exec*run/sparkops/ranks*) echo "{told}" ;; inspect*) echo running 0 ;; esac')
        said = ask(node, "--ranks", "2", "--seconds", "30")
        assert (said[0], [line for line in said if line.startswith("ranks ")]) == (verdict, evidence)


def test_who_is_missing_is_why_nothing_listens_yet(node):
    node.tool("docker", 'case "$*" in exec*run/sparkops/ranks*) echo 0 ;; inspect*) echo running 0 ;; esac')
    words = ("--api", "http://127.0.0.1:1", "--health", "/health", "--model", "m", "--container", "c", "--ranks", "2")
    said = node.run("serving", *words).stdout.splitlines()
    assert said[:5] == ["wait 1 of 2 ranks are here", "health refused", "model no", "answer none", "ranks 0"]


def test_ray_is_asked_while_the_engine_is_asked(node, ask, server):
    """Each may take all of its time, and a look may not take both."""
    server.posted.clear()
    posted = f"curl -fsS --noproxy '*' http://127.0.0.1:{server.server_port}/posted >&2"
    node.tool("docker", f'case "$*" in *"ray status") {posted}; {WHOLE} ;; inspect*) echo running 0 ;; esac')
    said = ask(node, "--ray", "2", "--seconds", "30")
    assert (said[0], said[4]) == ("ready", "ray 2 2")


def test_ray_has_more_time_than_a_quick_look_at_the_api(node, ask):
    """Its command imports Ray first, which takes longer than an API on a node that is busy."""
    node.tool("docker", f'case "$*" in *"ray status") sleep 2; {WHOLE} ;; inspect*) echo running 0 ;; esac')
    assert "ray 2 2" in ask(node, "--ray", "2", "--seconds", "1")
