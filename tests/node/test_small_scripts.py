"""Files, caches, memory, logs and keys on a node."""

from __future__ import annotations

import os
import stat
from typing import Any

import pytest

MEMINFO = "MemTotal: 127535084 kB\nMemFree: {free} kB\nMemAvailable: {available} kB\nCached: {cached} kB\n"


def meminfo(node: Any, **sizes: int) -> None:
    (node.root / "proc/meminfo").write_text(MEMINFO.format(**{"free": 100, "available": 100, "cached": 900, **sizes}))


def test_a_file_is_written_whole_with_its_mode(node: Any) -> None:
    path = node.home / "a b" / "key"
    assert node.run("file", "write", str(path), "600", stdin="sk-1").returncode == 0
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("sk-1", 0o600)
    assert os.listdir(path.parent) == ["key"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(node: Any) -> None:
    path = node.home / "key"
    path.write_text("old")
    assert node.run("file", "write", str(path), "not-a-mode", stdin="new").returncode != 0
    assert (path.read_text(), os.listdir(node.home)) == ("old", ["key"])


def test_removing_what_is_not_there_is_fine(node: Any) -> None:
    assert node.run("file", "remove", str(node.home / "nothing")).returncode == 0


def test_caches_are_dropped_by_the_knob_where_that_is_allowed(node: Any) -> None:
    meminfo(node)
    knob = node.root / "proc/sys/vm/drop_caches"
    knob.parent.mkdir(parents=True)
    knob.write_text("")
    ended = node.run("cache", "drop")
    assert (ended.returncode, knob.read_text()) == (0, "3\n")
    assert ended.stdout == "page cache dropped: all, 900 KiB -> 900 KiB\n"


def test_a_missing_right_is_said_and_is_no_failure(node: Any) -> None:
    meminfo(node)
    node.tool("sudo", "echo 'sudo: a password is required' >&2; exit 1")
    ended = node.run("cache", "drop")
    assert (ended.returncode, "nothing (no right to)" in ended.stdout) == (0, True)


def test_without_the_right_the_models_own_files_are_let_go(node: Any) -> None:
    meminfo(node)
    node.tool("sudo", "exit 1")
    model = node.home / "models--x"
    model.mkdir()
    (model / "big file").write_bytes(b"x" * 3_000_000)
    assert "the model's files" in node.run("cache", "drop", str(model)).stdout
    assert (model / "big file").stat().st_size == 3_000_000


def test_a_watch_ends_when_the_engine_is_up_gone_or_late(node: Any) -> None:
    meminfo(node)
    node.tool("docker", 'case $1 in inspect) echo true ;; logs) echo "INFO: Application startup complete." ;; esac')
    assert node.run("cache", "watch", "c", "1", "600").returncode == 0
    node.tool("docker", "echo false")
    assert node.run("cache", "watch", "c", "1", "600").returncode == 0
    node.tool("docker", "echo true")
    assert node.run("cache", "watch", "c", "1", "0").returncode == 0


def test_memory_that_is_there_is_not_waited_for(node: Any) -> None:
    meminfo(node, available=5000)
    assert node.run("memory", "5000").stdout == "5000 KiB of 5000 KiB are available\n"


def test_a_key_is_printed_and_a_missing_one_has_its_own_exit_code(node: Any) -> None:
    (node.home / "key").write_text("sk-1")
    assert node.run("key", str(node.home / "key")).stdout == "sk-1"
    assert node.run("key", str(node.home / "other")).returncode == 3


def test_the_newest_kept_log_of_a_deployment_is_shown(node: Any) -> None:
    logs = node.home / "logs"
    logs.mkdir()
    for number, name in enumerate(("sparkops-a-head-1.log", "sparkops-a-head-2.log", "sparkops-b-head-3.log")):
        (logs / name).write_text(f"one\n{name}\n")
        os.utime(logs / name, (number * 100, number * 100))
    assert node.run("keptlog", str(logs), "a", "1").stdout == "sparkops-a-head-2.log\n"
    assert node.run("keptlog", str(logs), "", "1").stdout == "sparkops-b-head-3.log\n"
    assert node.run("keptlog", str(node.home / "none"), "", "1").stdout == ""


@pytest.mark.parametrize("times", [1, 2])
def test_a_public_key_is_added_once(node: Any, times: int) -> None:
    for _ in range(times):
        assert node.run("authorize", stdin="ssh-ed25519 AAAA me@here").returncode == 0
    keys = node.home / ".ssh/authorized_keys"
    assert (keys.read_text(), stat.S_IMODE(keys.stat().st_mode)) == ("ssh-ed25519 AAAA me@here\n", 0o600)
