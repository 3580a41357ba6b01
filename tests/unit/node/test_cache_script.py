"""Dropping the page cache: now, while weights load, and by cron."""

import os
import re
import shutil
import subprocess

import pytest

from sparkops.remote.frame import script_text
from support.shells import NodeShell

MEMINFO = "MemTotal: 127535084 kB\nMemFree: 100 kB\nMemAvailable: 100 kB\nCached: 900 kB\n"
RUN = r"\d+ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ page cache (\w+) \((.*)\): MemFree \d+ -> \d+, .* KiB"
COREUTILS = ("date", "dd", "du", "mkdir", "mv", "rm", "sleep", "sync", "tail", "tee", "timeout", "tr", "wc")
DROPPED = ("dropped", "everything")
HEALTH = "http://192.0.2.1:8000/health"


@pytest.fixture
def node(node: NodeShell) -> NodeShell:
    """A node whose login has no right to drop anything."""
    (node.root / "proc/meminfo").write_text(MEMINFO)
    node.tool("sudo", "echo 'sudo: a password is required' >&2; exit 1")
    node.hurry()
    return node


@pytest.fixture
def able(node: NodeShell) -> NodeShell:
    """A node whose login may write to the knob."""
    knob = node.root / "proc/sys/vm/drop_caches"
    knob.parent.mkdir(parents=True)
    knob.write_text("")
    return node


def knob(node: NodeShell) -> str:
    """What was written to it since it was last read."""
    path = node.root / "proc/sys/vm/drop_caches"
    text = path.read_text()
    path.write_text("")
    return text


def results(node: NodeShell) -> list[tuple[str, ...]]:
    """The runs that were logged since this was last asked."""
    log = node.home / ".local/state/sparkops/cache/log"
    found = [re.fullmatch(RUN, line) for line in log.read_text().splitlines()]
    log.unlink()
    return [one.groups() for one in found if one]


def test_caches_are_dropped_by_the_knob_or_else_by_the_one_permitted_command(able: NodeShell) -> None:
    ended = able.run("cache", "drop")
    assert (ended.returncode, knob(able)) == (0, "3\n")
    sizes = "MemFree 100 -> 100, MemAvailable 100 -> 100, Cached 900 -> 900 KiB"
    assert ended.stdout == f"page cache dropped (everything): {sizes}\n"
    shutil.rmtree(able.root / "proc/sys")
    able.tool("sudo", f'[ "$*" = "-n tee {able.root}/proc/sys/vm/drop_caches" ] && cat >"$HOME/dropped"')
    assert "dropped (everything)" in able.run("cache", "drop").stdout
    assert (able.home / "dropped").read_text() == "3\n"


def test_without_the_right_the_models_own_files_are_let_go_and_where_there_are_none_that_is_no_failure(
    node: NodeShell,
) -> None:
    ended = node.run("cache", "drop")
    assert (ended.returncode, "kept (no right to drop it)" in ended.stdout) == (0, True)
    model = node.home / ".cache/huggingface/hub/models--x y"
    (model / "blobs").mkdir(parents=True)
    (model / "snapshots").mkdir()
    (model / "blobs/big file").write_bytes(b"x" * 3_000_000)
    (model / "snapshots/model.safetensors").symlink_to("../blobs/big file")
    for words in ((), (str(model),)):
        assert "dropped (the models' files)" in node.run("cache", "drop", *words).stdout
    assert (model / "blobs/big file").stat().st_size == 3_000_000


def test_it_needs_nothing_but_a_shell_and_coreutils(able: NodeShell) -> None:
    """Neither awk nor find nor grep nor flock: what is placed on a node must run there whatever is missing."""
    only = able.home / "only"
    only.mkdir()
    for name in COREUTILS:
        (only / name).symlink_to(str(shutil.which(name)))
    text = script_text("cache").replace("PATH=$PATH:/usr/sbin:/sbin\n", "")
    words = [shutil.which(able.shell), "-c", text, "cache", "scheduled", "--when", "Cached", "-gt", "5"]
    ended = subprocess.run(words, env={**able.env, "PATH": str(only)}, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert (results(able), knob(able)) == ([DROPPED], "3\n")


@pytest.mark.parametrize(
    ("docker", "curl", "seconds"),
    [
        ("[ $1 = inspect ] && echo true", "printf 200", "600"),
        ("[ $1 = inspect ] && echo true", "printf 000; exit 7", "0"),
        ("[ $1 = inspect ] && echo true || echo 'sparkops: gave up after 5 failed starts'", "exit 7", "600"),
        ("echo false", "exit 7", "600"),
    ],
    ids=["up", "late", "gave up", "gone"],
)
def test_a_watch_ends_with_what_it_watches(node: NodeShell, docker: str, curl: str, seconds: str) -> None:
    node.tool("docker", docker)
    node.tool("curl", curl)
    assert node.run("cache", "watch", "c", "1", seconds, HEALTH).returncode == 0


def test_a_watch_drops_while_free_memory_is_low(able: NodeShell) -> None:
    able.tool("docker", f'[ $1 = inspect ] && {{ [ -s "{able.root}/proc/sys/vm/drop_caches" ] || echo true; }}')
    able.tool("curl", "exit 7")
    ended = able.run("cache", "watch", "c", "101", "600", HEALTH)
    assert (ended.returncode, ended.stdout.count("dropped (everything)")) == (0, 1)


def test_a_scheduled_run_holds_its_condition_against_meminfo_and_prints_nothing(able: NodeShell) -> None:
    conditions = {(): True, ("-lt", "101"): True, ("-lt", "100"): False, ("-le", "100"): True, ("-gt", "100"): False}
    for words, drops in conditions.items():
        ended = able.run("cache", "scheduled", *(("--when", "MemAvailable", *words) if words else ()))
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
        assert (results(able), knob(able)) == (([DROPPED], "3\n") if drops else ([("kept", "not needed")], ""))


def test_two_runs_at_once_drop_once(able: NodeShell) -> None:
    """The second begins while the first waits for the disk."""
    able.extra["SCRIPT"] = script_text("cache")
    able.tool("sync", f'exec {able.shell} -c "$SCRIPT" cache scheduled')
    assert able.run("cache", "scheduled").returncode == 0
    assert (results(able), knob(able)) == ([("kept", "another run goes on"), DROPPED], "3\n")


def test_the_lock_of_a_run_that_was_killed_is_taken_over(able: NodeShell) -> None:
    """Also when its number belongs to another process by now."""
    lock = able.home / ".local/state/sparkops/cache/lock"
    for owner in ("", "999999999\n", "1\n"):
        lock.mkdir(parents=True)
        if owner:
            (lock / "pid").write_text(owner)
        ended = able.run("cache", "scheduled")
        assert (ended.returncode, ended.stderr, results(able), lock.exists()) == (0, "", [DROPPED], False)


def test_the_log_is_bounded_and_one_that_cannot_be_written_is_told_to_cron(able: NodeShell) -> None:
    log = able.home / ".local/state/sparkops/cache/log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"{number} an old line\n" for number in range(2200)))
    able.run("cache", "scheduled")
    lines = log.read_text().splitlines()
    assert (len(lines), lines[0].split()[0], results(able)) == (2000, "201", [DROPPED])
    log.mkdir()
    ended = able.run("cache", "scheduled")
    assert (ended.returncode != 0, ended.stderr != "") == (True, True)
    os.rmdir(log)


def test_a_word_that_it_does_not_know_is_refused(node: NodeShell) -> None:
    assert [node.run("cache", *words).returncode for words in (("scheduled", "--sometimes"), ("fill",))] == [2, 2]
