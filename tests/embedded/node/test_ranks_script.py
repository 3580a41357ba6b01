"""How the ranks of executor mp meet, each a script in a shell of its own, and what they do when one of them is gone."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from support.processes import living
from support.shells import SHELLS, NodeShell, fresh, until

ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
ENGINE = """import os, signal, sys, time
def stop(*_):
    if "stubborn" not in sys.argv:
        print("stopped", flush=True)
        sys.exit()
signal.signal(signal.SIGTERM, stop)
parent = os.getppid()
print("serves", flush=True)
while os.getppid() == parent:
    time.sleep(0.05)"""
"""Ends with the first process of its container, as all of them do."""
SERVES = (sys.executable, "-c", ENGINE)

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(params=SHELLS)
def ranks(request: pytest.FixtureRequest, tmp_path: Path) -> list[NodeShell]:
    """Three nodes, the rank of each its place in the list."""
    nodes = [fresh(request.param, tmp_path / f"node{rank}") for rank in range(3)]
    for node in nodes:
        node.hurry()
    return nodes


@pytest.fixture
def start(ranks: list[NodeShell]) -> Start:
    """Starts the entry script of a rank: of the first `of` ranks, with this engine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])

    def started(rank: int, of: int = 2, engine: Sequence[str] = SERVES) -> subprocess.Popen[str]:
        shape = ("--fabric", ADDRESSES[rank], "--ranks", ",".join(ADDRESSES[:of]), "--port", port)
        return ranks[rank].start("entry", "worker" if rank else "head", *shape, "--", *engine)

    return started


def lines(running: subprocess.Popen[str], count: int) -> list[str]:
    return [running.stdout.readline().rstrip("\n") for _ in range(count)]


def serve(*running: subprocess.Popen[str]) -> None:
    """Wait until their engines run."""
    for one in running:
        assert "serves\n" in iter(one.stdout.readline, "")


def rest(running: subprocess.Popen[str]) -> tuple[int, list[str]]:
    output, _ = running.communicate(timeout=60)
    return running.returncode, output.splitlines()


def met(node: NodeShell) -> str:
    path = node.root / "run/sparkops/ranks"
    return path.read_text().strip() if path.exists() else ""


def failed(node: NodeShell) -> bool:
    return (node.root / "var/lib/sparkops/starts").exists()


def kill(running: subprocess.Popen[str]) -> None:
    running.kill()
    rest(running)


def stop(*running: subprocess.Popen[str]) -> None:
    """Which of them hears of another's end before its own stop is chance."""
    for one in running:
        one.send_signal(signal.SIGTERM)
    assert {rest(one)[0] for one in running} <= {0, 1}


def test_no_engine_starts_before_all_ranks_are_here_whichever_comes_late(ranks: list[NodeShell], start: Start) -> None:
    last = start(2, of=3)
    assert lines(last, 1) == ["sparkops: waiting for rank 0 at 127.0.0.1"]
    first = start(0, of=3)
    assert "waiting for rank 1 at 127.0.0.2" in (line := lines(first, 1)[0])
    if "rank 2" in line:
        assert line == "sparkops: 1 of 3 ranks are here; waiting for rank 1 at 127.0.0.2, rank 2 at 127.0.0.3"
        line = lines(first, 1)[0]
    assert line == "sparkops: 2 of 3 ranks are here; waiting for rank 1 at 127.0.0.2"
    assert lines(last, 1) == ["sparkops: rank 0 at 127.0.0.1 waits for other ranks"]
    assert (met(ranks[0]), met(ranks[2])) == ("0 2", "")
    late = start(1, of=3)
    for one in (first, last):
        assert lines(one, 2) == ["sparkops: all 3 ranks are here", "serves"]
    serve(late)
    assert [met(node) for node in ranks] == ["0 1 2"] * 3
    stop(first, late, last)


def test_a_rank_that_leaves_before_all_are_here_may_come_again(ranks: list[NodeShell], start: Start) -> None:
    first, other = start(0, of=3), start(1, of=3)
    assert until(lambda: met(ranks[0]) == "0 1")
    stop(other)
    assert until(lambda: met(ranks[0]) == "0")
    others = start(1, of=3), start(2, of=3)
    assert until(lambda: met(ranks[0]) == "0 1 2")
    stop(first, *others)


@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_rank_ends_the_others_at_once_and_a_start_that_had_not_served_has_failed_on_them(
    ranks: list[NodeShell], start: Start, killed: int
) -> None:
    running = [start(rank, of=3) for rank in range(3)]
    serve(*running)
    kill(running[killed])
    for rank in {0, 1, 2} - {killed}:
        code, said = rest(running[rank])
        cause = killed if 0 in (rank, killed) else 0  # the ranks behind rank 0 see only that
        gone = f"sparkops: rank {cause} at {ADDRESSES[cause]} is gone, so this rank ends too"
        assert (code != 0, gone in said, failed(ranks[rank])) == (True, True, True), said


def test_an_engine_that_fails_is_a_failed_start_of_every_rank(ranks: list[NodeShell], start: Start) -> None:
    """Each start leaks memory on every node, whoever is to blame."""
    first, other = start(0), start(1, engine=("sh", "-c", "exit 7"))
    code, said = rest(other)
    assert (code, said[-1]) == (7, "sparkops: the engine ended with exit code 7 (failed start 1 of 5)")
    _, said = rest(first)
    assert "sparkops: rank 1 at 127.0.0.2 is gone, so this rank ends too" in said
    assert [failed(node) for node in ranks[:2]] == [True, True]


def test_a_rank_that_is_lost_before_any_engine_started_is_no_failed_start(ranks: list[NodeShell], start: Start) -> None:
    first, other = start(0, of=3), start(1, of=3)
    assert until(lambda: met(ranks[0]) == "0 1")
    kill(other)
    assert until(lambda: met(ranks[0]) == "0")
    stop(first)
    assert not failed(ranks[0])


def watcher(running: subprocess.Popen[str]) -> int:
    """The process that keeps a rank's connections."""
    (found,) = [one.pid for one in living() if "-IS" in one.words and str(running.pid) in one.words]
    return found


@pytest.mark.parametrize("serving", [True, False])
def test_a_rank_whose_watcher_is_killed_ends_and_with_it_the_others(start: Start, serving: bool) -> None:
    first, other = start(0, of=3 - serving), start(1, of=3 - serving)
    if serving:
        serve(first, other)
    else:
        lines(other, 2)
    os.kill(watcher(first), signal.SIGKILL)
    assert rest(first)[0] != 0
    if serving:
        assert "sparkops: rank 0 at 127.0.0.1 is gone, so this rank ends too" in rest(other)[1]
    else:
        stop(other)


def test_what_the_file_says_of_the_last_start_is_over_before_the_next_one(ranks: list[NodeShell], start: Start) -> None:
    first, other = start(0, engine=("sh", "-c", "exit 7")), start(1)
    rest(first), rest(other)
    assert met(ranks[0]).startswith("0")
    ranks[0].extra["SPARKOPS_BACKOFF"] = "600"
    again = start(0)
    assert lines(again, 1) == ["sparkops: start 2 of 5 in 600 seconds"]
    assert met(ranks[0]) == ""
    stop(again)


def test_an_engine_that_hangs_without_its_peer_is_killed(start: Start) -> None:
    first, other = start(0, engine=(*SERVES, "stubborn")), start(1)
    serve(first, other)
    kill(other)
    assert rest(first)[0] > 128  # of SIGKILL, or of the signal that interrupted the wait for it


def test_a_rank_that_is_silent_is_gone_though_its_connection_is_not(ranks: list[NodeShell], start: Start) -> None:
    ranks[0].extra["SPARKOPS_SILENT_SECONDS"] = "1"
    first = start(0)
    with connected(port_of(first), 1):
        _, said = rest(first)
    assert {"sparkops: rank 1 at 127.0.0.2 is gone, so this rank ends too", "stopped"} <= {*said}


def port_of(running: subprocess.Popen[str]) -> int:
    """Where rank 0 listens, once it does."""
    assert "waiting for rank 1" in lines(running, 1)[0]
    words = running.args
    return int(words[words.index("--port") + 1])


def opened(port: int, rank: int) -> socket.socket:
    """A connection to rank 0 from the node of a rank."""
    return socket.create_connection(("127.0.0.1", port), 60, (ADDRESSES[rank], 0))


def connected(port: int, rank: int) -> socket.socket:
    """The same, on which the rank has said that it is here, and rank 0 has answered."""
    while True:
        link = opened(port, rank)
        link.send(b".")
        with contextlib.suppress(OSError):
            if link.recv(1):
                return link
        link.close()


def test_neither_strangers_nor_other_programs_of_a_rank_s_node_are_taken_for_a_rank(
    ranks: list[NodeShell], start: Start
) -> None:
    first = start(0)
    port = port_of(first)
    with opened(port, 2) as stranger, opened(port, 1) as scan:
        assert stranger.recv(1) == b""
        assert scan.recv(1) == b"."
        assert met(ranks[0]) == "0"
    with connected(port, 1) as real:
        assert lines(first, 2) == ["sparkops: all 2 ranks are here", "serves"]
        with opened(port, 1) as scan:
            assert scan.recv(1) == b""  # closed at once
        real.send(b".")
        assert first.poll() is None
        assert met(ranks[0]) == "0 1"
    assert rest(first)[1][0] == "sparkops: rank 1 at 127.0.0.2 is gone, so this rank ends too"


def test_a_rank_that_rank_0_does_not_know_says_so_once(start: Start) -> None:
    first, other = start(0), start(2, of=3)
    assert lines(other, 1) == ["sparkops: waiting for rank 0 at 127.0.0.1"]
    lines(first, 1)
    time.sleep(3)  # three more tries
    other.send_signal(signal.SIGTERM)
    assert rest(other) == (0, [])
    stop(first)


def test_a_port_that_is_taken_is_told(start: Start) -> None:
    other = start(1)
    port = other.args[other.args.index("--port") + 1]
    with socket.create_server(("127.0.0.1", int(port))):
        first = start(0)
        assert lines(first, 1) == [f"sparkops: cannot listen at 127.0.0.1:{port}: Address already in use"]
    serve(first, other)
    stop(first, other)
