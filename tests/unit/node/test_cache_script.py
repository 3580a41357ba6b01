"""Dropping the page cache: now, while weights load, and by cron."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

MEMINFO = "MemTotal: 127535084 kB\nMemFree: {free} kB\nMemAvailable: {available} kB\nCached: {cached} kB\n"
RUN = r"\d+ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ page cache (\w+) \((.*)\): MemFree \d+ -> \d+, .* KiB"


def meminfo(node: Any, **sizes: int) -> None:
    (node.root / "proc/meminfo").write_text(MEMINFO.format(**{"free": 100, "available": 100, "cached": 900, **sizes}))


@pytest.fixture
def bare(node: Any) -> Any:
    """A node whose login has no right to drop anything."""
    meminfo(node)
    node.tool("sudo", "echo 'sudo: a password is required' >&2; exit 1")
    return node


@pytest.fixture
def root(node: Any) -> Any:
    """A node whose login may write to the knob."""
    meminfo(node)
    knob = node.root / "proc/sys/vm/drop_caches"
    knob.parent.mkdir(parents=True)
    knob.write_text("")
    return node


def knob(node: Any) -> str:
    return str((node.root / "proc/sys/vm/drop_caches").read_text())


def log(node: Any) -> list[str]:
    return list((node.home / ".local/state/sparkops/cache/log").read_text().splitlines())


def results(node: Any) -> list[tuple[str, ...]]:
    found = [re.fullmatch(RUN, line) for line in log(node)]
    return [one.groups() for one in found if one]


def test_caches_are_dropped_by_the_knob_where_that_is_allowed(root: Any) -> None:
    ended = root.run("cache", "drop")
    assert (ended.returncode, knob(root)) == (0, "3\n")
    assert ended.stdout == (
        "page cache dropped (everything): MemFree 100 -> 100, MemAvailable 100 -> 100, Cached 900 -> 900 KiB\n"
    )


def test_without_it_the_one_permitted_command_is_used(node: Any) -> None:
    meminfo(node)
    node.tool("sudo", f'[ "$*" = "-n tee {node.root}/proc/sys/vm/drop_caches" ] && cat >"{node.home}/dropped"')
    assert "dropped (everything)" in node.run("cache", "drop").stdout
    assert (node.home / "dropped").read_text() == "3\n"


def test_a_missing_right_is_said_and_is_no_failure(bare: Any) -> None:
    ended = bare.run("cache", "drop")
    assert (ended.returncode, "kept (no right to drop it)" in ended.stdout) == (0, True)


@pytest.mark.parametrize("named", [True, False])
def test_without_the_right_the_models_own_files_are_let_go(bare: Any, named: bool) -> None:
    model = bare.home / ".cache/huggingface/hub/models--x y"
    (model / "blobs").mkdir(parents=True)
    (model / "snapshots").mkdir()
    (model / "blobs/big file").write_bytes(b"x" * 3_000_000)
    (model / "snapshots/model.safetensors").symlink_to("../blobs/big file")
    ended = bare.run("cache", "drop", *([str(model)] if named else []))
    assert "dropped (the models' files)" in ended.stdout
    assert (model / "blobs/big file").stat().st_size == 3_000_000


def test_it_needs_nothing_but_a_shell_and_coreutils(root: Any) -> None:
    """Neither awk nor find nor grep nor flock: what is placed on a node must run there whatever is missing."""
    only = root.home / "only"
    only.mkdir()
    for name in ("date", "dd", "du", "mkdir", "mv", "rm", "sleep", "sync", "tail", "tee", "timeout", "tr", "wc"):
        found = next(Path(folder, name) for folder in ("/usr/bin", "/bin") if Path(folder, name).exists())
        (only / name).symlink_to(found)
    text = root.words("cache")[2].replace("PATH=$PATH:/usr/sbin:/sbin\n", "")
    shell = next(path for path in (f"/usr/bin/{root.shell}", f"/bin/{root.shell}") if os.path.exists(path))
    words = [shell, "-c", text, "cache", "scheduled", "--when", "Cached", "-gt", "5"]
    ended = subprocess.run(words, env={**root.env, "PATH": str(only)}, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert (results(root), knob(root)) == ([("dropped", "everything")], "3\n")


def test_a_watch_ends_when_the_engine_is_up_gone_or_late(bare: Any) -> None:
    bare.tool("docker", "[ $1 = inspect ] && echo true")
    bare.tool("curl", "printf 200")
    assert bare.run("cache", "watch", "c", "1", "600", "http://192.0.2.1:8000/health").returncode == 0
    bare.tool("curl", "printf 000; exit 7")
    assert bare.run("cache", "watch", "c", "1", "0", "http://192.0.2.1:8000/health").returncode == 0
    bare.tool("docker", "[ $1 = inspect ] && echo true || echo 'sparkops: gave up after 5 failed starts'")
    assert bare.run("cache", "watch", "c", "1", "600", "http://192.0.2.1:8000/health").returncode == 0
    bare.tool("docker", "echo false")
    assert bare.run("cache", "watch", "c", "1", "600", "http://192.0.2.1:8000/health").returncode == 0


def test_a_watch_drops_while_free_memory_is_low(root: Any) -> None:
    root.tool("docker", f'[ $1 = inspect ] && {{ [ -s "{root.root}/proc/sys/vm/drop_caches" ] || echo true; }}')
    root.tool("curl", "exit 7")
    root.tool("sleep", "exit 0")
    ended = root.run("cache", "watch", "c", "101", "600", "http://192.0.2.1:8000/health")
    assert (ended.returncode, ended.stdout.count("dropped (everything)")) == (0, 1)


def test_a_scheduled_run_logs_one_line_and_prints_nothing(root: Any) -> None:
    ended = root.run("cache", "scheduled")
    assert (ended.returncode, ended.stdout, ended.stderr, knob(root)) == (0, "", "", "3\n")
    assert results(root) == [("dropped", "everything")]


@pytest.mark.parametrize(
    ("operator", "kib", "drops"), [("-lt", 101, True), ("-lt", 100, False), ("-le", 100, True), ("-gt", 100, False)]
)
def test_a_condition_is_held_against_meminfo(root: Any, operator: str, kib: int, drops: bool) -> None:
    root.run("cache", "scheduled", "--when", "MemAvailable", operator, str(kib))
    assert results(root) == [("dropped", "everything") if drops else ("kept", "not needed")]
    assert (knob(root) == "3\n") is drops


def test_two_runs_at_once_drop_once(root: Any) -> None:
    root.tool("sync", 'until [ -e "$HOME/go on" ]; do sleep 0.1; done')
    first = root.start("cache", "scheduled")
    while not (root.home / ".local/state/sparkops/cache/lock/pid").exists():
        time.sleep(0.01)
    assert root.run("cache", "scheduled").returncode == 0
    (root.home / "go on").touch()
    assert first.communicate() == ("", None)
    assert results(root) == [("kept", "another run goes on"), ("dropped", "everything")]


@pytest.mark.parametrize("owner", ["", "999999999\n", "1\n"])
def test_the_lock_of_a_run_that_was_killed_is_taken_over(root: Any, owner: str) -> None:
    """Also when its number belongs to another process by now."""
    lock = root.home / ".local/state/sparkops/cache/lock"
    lock.mkdir(parents=True)
    if owner:
        (lock / "pid").write_text(owner)
    ended = root.run("cache", "scheduled")
    assert (ended.returncode, ended.stderr, results(root)) == (0, "", [("dropped", "everything")])
    assert not lock.exists()


def test_the_log_is_bounded(root: Any) -> None:
    path = root.home / ".local/state/sparkops/cache/log"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{number} an old line\n" for number in range(2200)))
    root.run("cache", "scheduled")
    assert len(log(root)) == 2000
    assert [line.split()[0] for line in itertools.islice(log(root), 1)] == ["201"]
    assert results(root) == [("dropped", "everything")]


def test_a_log_that_cannot_be_written_is_told_to_cron(root: Any) -> None:
    (root.home / ".local/state/sparkops/cache/log").mkdir(parents=True)
    ended = root.run("cache", "scheduled")
    assert (ended.returncode != 0, ended.stderr != "") == (True, True)


def test_a_word_that_it_does_not_know_is_refused(node: Any) -> None:
    meminfo(node)
    assert node.run("cache", "scheduled", "--sometimes").returncode == 2
    assert node.run("cache", "fill").returncode == 2
