"""The engines of one node load one after the other, as the entry scripts of their containers see to."""

import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from support.shells import SHELLS, NodeShell, fresh

ENGINE = """import http.server, os, sys, time
port, loaded = sys.argv[1:]
print("loads", flush=True)
while not os.path.exists(loaded):
    time.sleep(0.02)
if loaded.endswith("dies"):
    sys.exit(1)
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(port)), Answers).serve_forever()"""
"""Loads until the file exists that it is given, then answers, or dies if that is its name."""

Entry = subprocess.Popen[str]
WAITS = "sparkops: waiting for another engine of this node to load (0 s so far)\n"


@pytest.fixture(params=SHELLS)
def containers(request: pytest.FixtureRequest, tmp_path: Path) -> list[NodeShell]:
    """Two containers of one node, which share its /dev/shm."""
    found = [fresh(request.param, tmp_path / f"container{number}") for number in range(2)]
    shared = tmp_path / "a node" / "shm"
    shared.mkdir(parents=True)
    for one in found:
        (one.root / "dev").mkdir()
        (one.root / "dev/shm").symlink_to(shared)
        one.hurry()
    return found


@pytest.fixture
def ports() -> Iterator[list[int]]:
    """Two at which nobody listens, and that nobody else is given meanwhile."""
    with contextlib.ExitStack() as kept:
        taken = [kept.enter_context(socket.socket()) for _ in range(2)]
        for one in taken:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
        yield [one.getsockname()[1] for one in taken]


def start(one: NodeShell, port: int, loaded: str = "loaded", role: Sequence[str] = ("server",)) -> Entry:
    health = ("--health", f"http://127.0.0.1:{port}/health")
    engine = (sys.executable, "-c", ENGINE, str(port), str(one.home / loaded))
    return one.start("entry", *role, *health, "--", *engine)


def end(*running: Entry) -> None:
    for one in running:
        one.send_signal(signal.SIGTERM)
        one.communicate(timeout=60)


@pytest.mark.parametrize("loaded", ["loaded", "dies"])
def test_an_engine_starts_when_the_other_one_answers_or_ends(
    containers: list[NodeShell], ports: list[int], loaded: str
) -> None:
    first = start(containers[0], ports[0], loaded)
    assert first.stdout.readline() == "loads\n"
    second = start(containers[1], ports[1])
    assert second.stdout.readline() == WAITS
    (containers[0].home / loaded).touch()
    assert second.stdout.readline() == "loads\n"
    end(first, second)


def test_one_that_waits_is_stopped_at_once_and_that_is_no_failed_start(
    containers: list[NodeShell], ports: list[int]
) -> None:
    first = start(containers[0], ports[0])
    assert first.stdout.readline() == "loads\n"
    second = start(containers[1], ports[1])
    assert second.stdout.readline() == WAITS
    second.send_signal(signal.SIGTERM)
    assert (second.communicate(timeout=60)[0], second.returncode) == ("", 0)
    end(first)


def test_nobody_waits_for_ever(containers: list[NodeShell], ports: list[int]) -> None:
    containers[1].extra["SPARKOPS_TURN_SECONDS"] = "0"
    first = start(containers[0], ports[0])
    assert first.stdout.readline() == "loads\n"
    second = start(containers[1], ports[1])
    told = "sparkops: another engine of this node loads for 0 s; not waiting any longer\n"
    assert [second.stdout.readline() for _ in range(2)] == [told, "loads\n"]
    end(first, second)


def test_nobody_has_the_turn_for_ever(containers: list[NodeShell], ports: list[int]) -> None:
    containers[0].extra["SPARKOPS_TURN_SECONDS"] = "1"
    first = start(containers[0], ports[0])
    assert first.stdout.readline() == "loads\n"
    second = start(containers[1], ports[1])
    assert "loads\n" in iter(second.stdout.readline, "")
    end(first, second)


def test_a_bound_that_is_no_number_keeps_no_engine_from_its_start(
    containers: list[NodeShell], ports: list[int]
) -> None:
    containers[0].extra["SPARKOPS_TURN_SECONDS"] = "soon"
    only = start(containers[0], ports[0])
    assert only.stdout.readline() == "loads\n"
    end(only)


def test_a_rank_waits_before_it_meets_the_others_and_then_has_the_turn_itself(
    containers: list[NodeShell], ports: list[int]
) -> None:
    alone = ("head", "--fabric", "127.0.0.1", "--ranks", "127.0.0.1", "--port", "0")
    server = start(containers[0], ports[0])
    assert server.stdout.readline() == "loads\n"
    rank = start(containers[1], ports[1], role=alone)
    assert rank.stdout.readline() == WAITS
    (containers[0].home / "loaded").touch()
    assert [rank.stdout.readline() for _ in range(2)] == ["sparkops: all 1 ranks are here\n", "loads\n"]
    end(server)
    again = start(containers[0], ports[0])
    assert again.stdout.readline() == WAITS
    (containers[1].home / "loaded").touch()
    assert again.stdout.readline() == "loads\n"
    end(rank, again)


def test_without_shared_memory_an_engine_starts_at_once(containers: list[NodeShell], ports: list[int]) -> None:
    (containers[1].root / "dev/shm").unlink()
    running = [start(one, port) for one, port in zip(containers, ports, strict=True)]
    assert [one.stdout.readline() for one in running] == ["loads\n"] * 2
    end(*running)
