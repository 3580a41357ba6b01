"""The first process of every container: joins, supervises, gives up."""

from __future__ import annotations

import contextlib
import http.server
import shlex
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest


def test_the_engine_runs_as_a_child_and_its_end_is_a_failed_start(node: Any) -> None:
    ended = node.run("entry", "server", "--", "sh", "-c", "echo engine; exit 7")
    assert ended.returncode == 7
    assert ended.stdout.splitlines() == ["engine", "sparkops: the engine ended with exit code 7 (failed start 1 of 5)"]


def test_words_reach_the_engine_unchanged(node: Any) -> None:
    words = ["a b", "it's", "$HOME", '{"a": [1]}', "", "--", "x;y"]
    ended = node.run("entry", "server", "--", "sh", "-c", 'for w; do echo "<$w>"; done', "engine", *words)
    assert ended.stdout.splitlines()[:-1] == [f"<{word}>" for word in words]


def test_a_stop_reaches_the_engine_and_is_no_failed_start(node: Any) -> None:
    running = node.start(
        "entry", "server", "--", "sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "up\n"
    running.send_signal(signal.SIGTERM)
    output, _ = running.communicate(timeout=60)
    assert (running.returncode, output) == (0, "bye\n")
    assert not (node.root / "var/lib/sparkops/starts").exists()


def test_an_engine_that_ends_with_code_0_is_a_failed_start_too(node: Any) -> None:
    assert node.run("entry", "server", "--", "true").returncode == 1


def test_after_five_failed_starts_it_stays_idle_and_says_so(node: Any) -> None:
    node.extra["SPARKOPS_BACKOFF"] = "0"
    for number in range(1, 6):
        ended = node.run("entry", "server", "--", "false")
        assert f"failed start {number} of 5" in ended.stdout
    idle = node.start("entry", "server", "--", "echo", "the engine")
    assert idle.stdout is not None
    assert idle.stdout.readline().startswith("sparkops: gave up after 5 failed starts")
    idle.send_signal(signal.SIGTERM)
    idle.communicate(timeout=60)
    assert idle.returncode == 0


ANSWERS = """import http.server, sys, threading, time
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
"""An engine that loads when it is first asked for its health, answers from then on, and dies once that was noted."""


@pytest.fixture
def port() -> Iterator[int]:
    """One at which nobody listens, and that nobody else is given meanwhile."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_an_engine_that_came_to_answer_did_start_however_often_it_is_lost_later(node: Any, port: int) -> None:
    node.extra["SPARKOPS_BACKOFF"] = "0"
    record = str(node.root / "var/lib/sparkops/starts")
    engine = ("--health", f"http://127.0.0.1:{port}/health", "--", "python3", "-c", ANSWERS, str(port), record)
    assert "failed start 1 of 5" in node.run("entry", "server", "--", "false").stdout
    for _ in range(2):
        ended = node.run("entry", "server", *engine)
        assert (ended.returncode, "after it had served" in ended.stdout) == (1, True), ended.stdout
    assert "failed start 1 of 5" in node.run("entry", "server", "--", "false").stdout


@contextlib.contextmanager
def answering(port: int, *codes: int) -> Iterator[str]:
    """An address that answers with these codes, the last of them for ever."""
    left = list(codes)

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(left.pop(0) if len(left) > 1 else left[0])
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Nothing is printed."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{port}/health"
        server.shutdown()


@pytest.mark.parametrize(
    ("codes", "limit", "said"), [((200,), "5", "failed start 1 of 5"), ((503, 200), "100", "after it had served")]
)
def test_an_address_that_answers_before_the_engine_does_proves_nothing(
    node: Any, port: int, codes: tuple[int, ...], limit: str, said: str
) -> None:
    """But one that was loading when it was asked first, as whoever asks may have been late."""
    node.extra["SPARKOPS_BACKOFF"] = "0"
    noted = f"until grep -q served {shlex.quote(str(node.root / 'var/lib/sparkops/starts'))}; do sleep 0.1; done"
    with answering(port, *codes) as url:
        ended = node.run("entry", "server", "--health", url, "--", "timeout", limit, "sh", "-c", noted)
    assert said in ended.stdout


def test_a_stop_ends_the_watch_of_the_health_too(node: Any, port: int) -> None:
    url = f"http://127.0.0.1:{port}/health"
    running = node.start("entry", "server", "--health", url, "--", "sh", "-c", "echo up; exec sleep 60")
    assert running.stdout is not None
    assert running.stdout.readline() == "up\n"
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=60)  # ends only when nobody holds its output any more
    assert running.returncode == 0
    assert not (node.root / "var/lib/sparkops/starts").exists()


def test_a_new_boot_starts_counting_again(node: Any) -> None:
    node.extra["SPARKOPS_BACKOFF"] = "0"
    boot_id = node.root / "proc/sys/kernel/random/boot_id"
    boot_id.parent.mkdir(parents=True)
    boot_id.write_text("first\n")
    node.run("entry", "server", "--", "false")
    boot_id.write_text("second\n")
    assert "failed start 1 of 5" in node.run("entry", "server", "--", "false").stdout


def test_the_key_is_given_to_the_engine_by_its_environment(node: Any) -> None:
    (node.root / "run/sparkops").mkdir(parents=True)
    (node.root / "run/sparkops/key").write_text("sk-secret")
    ended = node.run("entry", "server", "--", "sh", "-c", 'echo "$VLLM_API_KEY $LITELLM_MASTER_KEY"')
    assert ended.stdout.startswith("sk-secret sk-secret\n")


def test_a_rank_waits_until_its_fabric_address_is_there(node: Any) -> None:
    waiting = node.start("entry", "worker", "--fabric", "203.0.113.7", "--", "echo", "engine")
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "sparkops: waiting for the fabric address 203.0.113.7 to appear\n"
    waiting.terminate()
    output, _ = waiting.communicate(timeout=60)
    assert (waiting.returncode, output) == (0, "")


STATUS = """======== Autoscaler status: 2026-11-20 11:49:05.237283 ========
Node status
---------------------------------------------------------------
Active:
{nodes}
Pending:
 (no pending nodes)
Recent failures:
 (no failures)

Resources
---------------------------------------------------------------
Total Usage:
 0.0/2.0 GPU
"""


def test_a_ray_head_waits_for_all_nodes_and_names_the_cluster_to_the_engine(node: Any) -> None:
    one, two = (STATUS.format(nodes="\n".join([" 1 node_abc"] * count)) for count in (1, 2))
    node.tool(
        "ray",
        f"""echo "$*" >>"$HOME/ray.log"
case $1 in
start) exit 0 ;;
status) if [ -e "$HOME/second" ]; then cat <<'X'
{two}
X
else touch "$HOME/second"; cat <<'X'
{one}
X
fi ;;
esac""",
    )
    shape = ("--fabric", "127.0.0.1", "--nodes", "2", "--port", "6399")
    ended = node.run("entry", "ray-head", *shape, "--", "sh", "-c", 'echo "ray at $RAY_ADDRESS"')
    assert "sparkops: Ray has 1 of 2 nodes; waiting for the others" in ended.stdout
    assert "ray at 127.0.0.1:6399" in ended.stdout
    start = (node.home / "ray.log").read_text().splitlines()[0].split()
    assert start[:4] == ["start", "--head", "--node-ip-address=127.0.0.1", "--port=6399"]
    assert {"--num-cpus=2", "--object-store-memory=1000000000", "--include-dashboard=false"} <= set(start)


def test_a_ray_worker_waits_for_the_heads_port(node: Any) -> None:
    waiting = node.start("entry", "ray-worker", "--fabric", "127.0.0.1", "--head", "127.0.0.1", "--port", "1")
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "sparkops: waiting for the Ray head at 127.0.0.1:1\n"
    waiting.terminate()
    waiting.communicate(timeout=60)
    assert waiting.returncode == 0


HEAD = """import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("up", flush=True)
time.sleep(600)"""


def test_a_worker_whose_head_goes_away_ends_without_a_failed_start(node: Any, port: int) -> None:
    head = subprocess.Popen(["python3", "-c", HEAD, str(port)], stdout=subprocess.PIPE, text=True)
    assert head.stdout is not None
    assert head.stdout.readline() == "up\n"
    node.tool("ray", "exec sleep 600")
    worker = node.start("entry", "ray-worker", "--fabric", "127.0.0.1", "--head", "127.0.0.1", "--port", str(port))
    assert worker.stdout is not None
    assert worker.stdout.readline().startswith("sparkops: joining the Ray head")
    head.kill()
    head.communicate()
    output, _ = worker.communicate(timeout=180)
    assert (worker.returncode, "is gone" in output) == (1, True)
    assert not (node.root / "var/lib/sparkops/starts").exists()
