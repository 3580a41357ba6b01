"""The first process of every container: what a stop reaches, and when a start has not failed."""

import contextlib
import http.server
import itertools
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.shells import NodeShell, fresh

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

HANGS = """import http.server, os, sys, threading, time
tokens = 0 if "hang" in sys.argv else 8
if "--enforce-eager" in sys.argv:
    print("eager", flush=True)
    sys.exit(7)
class Hangs(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        told = {"/v1/models": '{"data": [{"id": "m"}]}', "/metrics": f"vllm:generation_tokens_total{{}} {tokens}.0\\n"}
        self.answer(told.get(self.path, "ok"))
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert (self.headers["Authorization"], b'"model": "m"' in body) == ("Bearer sk-1", True)
        while not tokens: time.sleep(60)
        self.answer("{}")
        threading.Timer(1, os._exit, [7]).start()
    def answer(self, text):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())
    def log_message(self, *_): pass
time.sleep(1)
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hangs)
server.handle_error = lambda *_: None
server.serve_forever()"""
"""Answers everything but a request for tokens; with `hang` that has no answer, without it the first one is the last."""
IMAGE = "1c"


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
        node.tool("ray", '[ "$1" = status ] || exec /bin/sleep 600; echo " 1 node_a"')
        with socket.create_server(("127.0.0.1", 0)) as head:
            shape = ("--fabric", "127.0.0.1", "--head", "127.0.0.1", "--port", str(head.getsockname()[1]))
            worker = node.start("entry", "ray-worker", *shape)
            assert worker.stdout.readline().startswith("sparkops: joining the Ray head")
        output, _ = worker.communicate(timeout=180)
        assert (worker.returncode, "is gone" in output, starts(node)) == (1, True, "")


def with_graphs(node: NodeShell, port: int, role: str, *engine: str) -> subprocess.Popen[str]:
    node.extra |= {"SPARKOPS_GRAPHS_SECONDS": "1", "VLLM_API_KEY": "sk-1"}
    (node.root / "run/sparkops/images").mkdir(parents=True, exist_ok=True)
    health = f"http://127.0.0.1:{port}/health"
    return node.start("entry", role, "--health", health, "--graphs", IMAGE, "--", *engine)


def test_ranks_whose_graphs_hang_all_start_again_without_them_and_remember_it(tmp_path: Path, port: int) -> None:
    head, worker = fresh("dash", tmp_path / "head"), fresh("bash", tmp_path / "worker")
    sleeper = 'case "$*" in *--enforce-eager) exit 7 ;; esac; exec tail -f /dev/null'
    words = ("head", sys.executable, "-c", HANGS, str(port), "hang"), ("worker", "sh", "-c", sleeper, "engine")
    for node in (head, worker):
        node.hurry()
    running = [with_graphs(node, port, *given) for node, given in zip((head, worker), words, strict=True)]
    said = [one.communicate(timeout=60)[0].splitlines() for one in running]
    again = "sparkops: CUDA graphs are switched off: the engine starts again without them (--enforce-eager)"
    ended = "sparkops: the engine ended with exit code 7 (failed start 1 of 5)"
    hang = "sparkops: CUDA graphs hang in the first replay"
    assert said[0] == [f"{hang}: no token for 1 s", again, "eager", ended]
    assert said[1] == [f"{hang}, as the head says", again, ended]
    for node, given in zip((head, worker), words, strict=True):
        assert (node.root / f"run/sparkops/images/{IMAGE}.graphs-hung").exists()
        later = with_graphs(node, port, *given).communicate(timeout=60)[0].splitlines()
        assert later[1] == (
            "sparkops: CUDA graphs hung with this image before: the engine starts without them (--enforce-eager)"
        )
        assert later[-1].endswith("(failed start 2 of 5)")


def test_an_engine_whose_hang_cannot_be_remembered_is_left_alone(hurried: list[NodeShell], port: int) -> None:
    """Started again it would only hang again."""
    node = hurried[0]
    running = with_graphs(node, port, "head", sys.executable, "-c", HANGS, str(port), "hang")
    (node.root / "run/sparkops/images").rmdir()
    said = running.stdout.readline()
    assert said.startswith("sparkops: CUDA graphs hang in the first replay: no token for 1 s, but this cannot be rem")
    assert socket.create_connection(("127.0.0.1", port)).close() is None
    running.send_signal(signal.SIGTERM)
    assert running.communicate(timeout=60)[0] == ""


def test_graphs_that_work_are_told_and_nothing_is_remembered(hurried: list[NodeShell], port: int) -> None:
    for node in hurried:
        running = with_graphs(node, port, "head", sys.executable, "-c", HANGS, str(port))
        said = running.communicate(timeout=60)[0].splitlines()
        assert said[0] == "sparkops: CUDA graphs work"
        assert said[1].startswith("sparkops: the engine ended with exit code 7")
        assert list((node.root / "run/sparkops/images").iterdir()) == []
