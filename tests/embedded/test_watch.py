"""`watch` over emulated nodes: streams that begin again, alerts that come and go, boots that are followed."""

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading

import pytest

from support.faults import ALERTS

RECIPE = "openai-gpt-oss-120b"


class Told:
    """A `watch` without a terminal, and the lines that it has printed so far."""

    def __init__(self, lab, *words: object) -> None:
        self.process = lab.start("watch", *words)
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def said(self, *words: str) -> bool:
        return any(all(word in line for word in words) for line in self.lines)


@pytest.fixture
def told(lab_with):
    found: list[Told] = []

    def make(lab, *words: object) -> Told:
        found.append(Told(lab, *words))
        return found[-1]

    yield make
    for one in found:
        one.process.terminate()
        one.process.wait(30)


def test_one_look_shows_every_node_over_one_connection_and_leaves_nothing(lab_with):
    lab = lab_with(nodes=3)
    lab.mark()
    document = lab.json("watch", "--once")
    assert [node["name"] for node in document["nodes"]] == lab.names
    assert all(node["memory"]["total_kib"] and node["bits_per_second"] for node in document["nodes"])
    assert document["alerts"] == []
    assert set(lab.connections().values()) == {1}
    assert {one.shown.split()[0] for one in lab.received()} == {"@facts", "@watch"}
    assert lab.processes() == []


def test_alerts_come_with_a_fault_and_go_with_it(lab_with, told, until):
    lab = lab_with(nodes=len(ALERTS) + 2)
    faulty = dict(zip(lab.names, ALERTS, strict=False))
    hostile = lab.names[-2]
    lab.fault(hostile, "garbage")
    dead = next(node for node, fault in faulty.items() if fault == "cron-dead")
    lab.json("cache", "schedule", "--every", "30m", "--limit", dead)
    watch = told(lab)
    for node, fault in faulty.items():
        lab.fault(node, fault)
    for node, fault in faulty.items():
        assert until(lambda node=node, fault=fault: watch.said(f" {node} {ALERTS[fault]}:")), watch.lines
    assert until(lambda: watch.said(f" {hostile} node-away:")), watch.lines
    for node, fault in faulty.items():
        lab.fault(node, fault, off=True)
    for node, fault in faulty.items():
        assert until(lambda node=node, fault=fault: watch.said(f" {node} {ALERTS[fault]}: over")), watch.lines
    late = f" {lab.names[-1]} node-away"  # on a busy machine
    assert [line for line in watch.lines if f" {lab.names[-1]} " in line and late not in line] == []


@pytest.fixture(scope="module")
def serving(lab_with):
    """A cluster over two nodes and two servers behind a proxy, by a fleet's file."""
    lab = lab_with(nodes=4)
    lines = ("deployments:", f"  big: {{recipe: {RECIPE}, topology: cluster, nodes: [node1, node2]}}",
             f"  twice: {{recipe: {RECIPE}, replicas: 2}}", "")  # fmt: skip
    (lab.work / "fleet.yml").write_text("\n".join(lines))
    lab.json("apply", "--setup")
    return lab


def test_an_engine_that_does_nothing_with_its_requests_is_wedged_and_one_that_is_frozen_silent(serving, told, until):
    lab, watch = serving, told(serving)
    for fault, alert in (("peer-dead-health-green", "engine-wedged"), ("engine-frozen", "engine-silent")):
        with lab.trouble("node1", fault):
            waiting = threading.Thread(target=lab.serves)
            waiting.start()
            assert until(lambda alert=alert: watch.said(f" node1 {alert}:")), watch.lines
        waiting.join()
        assert until(lambda alert=alert: watch.said(f" node1 {alert}: over")), watch.lines


def test_a_cluster_without_its_link_and_what_a_fleet_no_longer_runs_are_told(serving, told, until):
    lab, watch = serving, told(serving)
    with lab.trouble("node2", "cx7-down"):
        assert until(lambda: watch.said(" node2 link-down:")), watch.lines
    assert until(lambda: watch.said(" node2 link-down: over")), watch.lines
    for node, name in lab.running():
        if node in ("node3", "node4"):
            lab.on(node, "docker", "stop", name)
    assert until(lambda: watch.said("fleet-missing: twice of ")), watch.lines
    lab.json("apply")
    assert until(lambda: watch.said("fleet-missing: over")), watch.lines


def test_an_engine_that_ends_again_and_again_is_a_restart_loop(serving, told, until):
    lab, watch = serving, told(serving)

    def told_after_one_more() -> bool:
        before = lab.starts()
        lab.fault("node1", "engine-killed")
        assert until(lambda: lab.starts() != before and lab.serves()), watch.lines
        return watch.said(" node1 restart-loop:")

    assert until(told_after_one_more), watch.lines  # the first may come before the stream


def test_a_boot_is_followed_rank_by_rank_and_a_lost_rank_is_told(lab_with, told, until):
    lab = lab_with(nodes=2, speed=0.2)
    watch = told(lab)
    process = lab.start("deploy", "--topology", "cluster")
    phases: set[str] = set()

    def served() -> bool:
        (one,) = lab.json("watch", "--once")["deployments"] or [{"state": "", "ranks": []}]
        phases.update(rank["phase"]["name"] for rank in one["ranks"] if rank["phase"])
        return one["state"] == "serving"

    assert until(served)
    lab.ended(process, code=0)
    assert "weights" in phases
    worker = next(name for node, name in lab.running() if node == "node2")
    lab.on("node2", "docker", "stop", worker)
    assert until(lambda: watch.said(" node2 rank-lost:")), watch.lines
    assert lab.json("watch", "--once")["deployments"][0]["state"] in ("degraded", "failed")


class Screen:
    """A `watch` on a terminal of 80 x 24, and the bytes that it has drawn so far."""

    def __init__(self, lab, **env: str) -> None:
        self.drawn = b""
        self.terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            lab.line("watch"), env=lab.environment(TERM="xterm-256color", **env), cwd=lab.work,
            stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
        )  # fmt: skip
        os.close(inner)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other side was closed
            while data := os.read(self.terminal, 65536):
                self.drawn += data

    def press(self, keys: bytes) -> None:
        os.write(self.terminal, keys)


@pytest.mark.parametrize(
    ("ends", "code"), [(b"q", 0), (b"\x03", 0), (signal.SIGTERM, 130), (signal.SIGHUP, 130)], ids=str
)
def test_the_screen_shows_the_nodes_and_gives_the_terminal_back(empty, until, ends, code):
    screen = Screen(empty)
    assert until(lambda: b"3%" in screen.drawn)
    screen.press(b"2\r")
    assert until(lambda: b"processes and kernel" in screen.drawn)
    screen.press(ends) if isinstance(ends, bytes) else screen.process.send_signal(ends)
    assert screen.process.wait(30) == code
    assert until(lambda: b"\x1b[?1049l" in screen.drawn)
    assert until(lambda: empty.processes() == [])


def test_sigterm_ends_it(lab_with, until):
    lab = lab_with(nodes=2)
    process = lab.start("watch")
    assert until(lambda: any(one.shown.startswith("@watch") for one in lab.received()))
    process.terminate()
    lab.ended(process, code=130)
    assert until(lambda: lab.processes() == [])
