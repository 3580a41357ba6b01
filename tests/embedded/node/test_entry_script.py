"""The first process of every container: what a stop reaches, and when a start has not failed."""

import contextlib
import http.server
import itertools
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.shells import NodeShell

ENGINE = """import http.server, sys, threading, time
codes = [200, 503]
class Loads(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(codes.pop() if len(codes) > 1 else codes[0])
        self.end_headers()
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Loads)
threading.Thread(target=server.serve_forever, daemon=True).start()
while "served" not in open(sys.argv[2]).read():
    time.sleep(0.1)"""
"""Loads when it is first asked for its health, answers from then on, and dies once that was noted."""


@pytest.fixture
def hurried(nodes: list[NodeShell]) -> list[NodeShell]:
    for node in nodes:
        node.hurry()
    return nodes


@pytest.fixture
def port() -> Iterator[int]:
    """One at which nobody listens, and that nobody else is given meanwhile."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def starts(node: NodeShell) -> str:
    record = node.root / "var/lib/sparkops/starts"
    return record.read_text() if record.exists() else ""


def test_a_stop_ends_whatever_it_is_about_and_is_no_failed_start(hurried: list[NodeShell], port: int) -> None:
    """What is stopped ends only when nobody holds its output any more, the watch of the health neither."""
    loop = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    told = {
        ("server", "--", "sh", "-c", loop): ("up", "bye\n"),
        ("server", "--health", f"http://127.0.0.1:{port}/health", "--", "sh", "-c", loop): ("up", "bye\n"),
        ("worker", "--fabric", "203.0.113.7", "--", "true"): (
            "sparkops: waiting for the fabric address 203.0.113.7 to appear", ""
        ),
        ("ray-worker", "--fabric", "127.0.0.1", "--head", "127.0.0.1", "--port", "1"): (
            "sparkops: waiting for the Ray head at 127.0.0.1:1", ""
        ),
    }  # fmt: skip
    for node in hurried:
        for words, (first, last) in told.items():
            running = node.start("entry", *words)
            assert running.stdout.readline() == f"{first}\n"
            running.send_signal(signal.SIGTERM)
            assert (running.communicate(timeout=60)[0], running.returncode, starts(node)) == (last, 0, "")


def test_after_five_failed_starts_it_stays_idle_until_it_is_stopped(hurried: list[NodeShell]) -> None:
    for node in hurried:
        for number in range(1, 6):
            assert f"failed start {number} of 5" in node.run("entry", "server", "--", "false").stdout
        idle = node.start("entry", "server", "--", "echo", "the engine")
        assert idle.stdout.readline().startswith("sparkops: gave up after 5 failed starts")
        idle.send_signal(signal.SIGTERM)
        assert (idle.communicate(timeout=60)[0], idle.returncode) == ("", 0)


def test_an_engine_that_came_to_answer_did_start_however_often_it_is_lost_later(
    hurried: list[NodeShell], port: int
) -> None:
    for node in hurried:
        record = str(node.root / "var/lib/sparkops/starts")
        engine = ("--health", f"http://127.0.0.1:{port}/health", "--", "python3", "-c", ENGINE, str(port), record)
        for _ in range(2):
            assert "failed start 1 of 5" in node.run("entry", "server", "--", "false").stdout
            ended = node.run("entry", "server", *engine)
            assert (ended.returncode, "after it had served" in ended.stdout) == (1, True), ended.stdout


@contextlib.contextmanager
def answering(port: int, asked: Path, *codes: int) -> Iterator[None]:
    """An address that answers with these codes, the last of them for ever; the third question makes the file."""
    left = list(codes)
    questions = itertools.count(1)

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(left.pop(0) if len(left) > 1 else left[0])
            self.end_headers()
            if next(questions) == 3:
                asked.touch()

        def log_message(self, *_words: object) -> None:
            """Nothing is printed."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield
        server.shutdown()


def test_an_address_that_answers_before_the_engine_does_proves_nothing(hurried: list[NodeShell], port: int) -> None:
    """But one that was loading when it was asked first, as whoever asks may have been late."""
    health = ("--health", f"http://127.0.0.1:{port}/health")
    for node in hurried:
        asked, record = node.tools / "asked", node.root / "var/lib/sparkops/starts"
        until_asked, until_noted = f"[ -e {asked} ]", f"grep -qs served {record}"
        ends = {(200,): (until_asked, "failed start 1 of 5"), (503, 200): (until_noted, "after it had served")}
        for codes, (until, said) in ends.items():
            with answering(port, asked, *codes):
                engine = f"until {until}; do sleep 0.1; done"
                assert said in node.run("entry", "server", *health, "--", "sh", "-c", engine).stdout


def test_a_worker_whose_head_goes_away_ends_without_a_failed_start(hurried: list[NodeShell]) -> None:
    for node in hurried:
        node.tool("ray", "exec /bin/sleep 600")
        with socket.create_server(("127.0.0.1", 0)) as head:
            shape = ("--fabric", "127.0.0.1", "--head", "127.0.0.1", "--port", str(head.getsockname()[1]))
            worker = node.start("entry", "ray-worker", *shape)
            assert worker.stdout.readline().startswith("sparkops: joining the Ray head")
        output, _ = worker.communicate(timeout=180)
        assert (worker.returncode, "is gone" in output, starts(node)) == (1, True, "")
