"""Files, caches, memory, logs and keys on a node."""

import os
import stat

from support.shells import NodeShell


def test_a_file_is_written_whole_with_its_mode(node: NodeShell) -> None:
    path = node.home / "a b" / "key"
    assert node.run("file", "write", str(path), "600", stdin="sk-1").returncode == 0
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("sk-1", 0o600)
    assert os.listdir(path.parent) == ["key"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(node: NodeShell) -> None:
    path = node.home / "key"
    path.write_text("old")
    assert node.run("file", "write", str(path), "not-a-mode", stdin="new").returncode != 0
    assert (path.read_text(), os.listdir(node.home)) == ("old", ["key"])


def test_removing_what_is_not_there_and_memory_that_is_there_take_no_time(node: NodeShell) -> None:
    assert node.run("file", "remove", str(node.home / "nothing")).returncode == 0
    (node.root / "proc/meminfo").write_text("MemTotal: 127535084 kB\nMemAvailable: 5000 kB\n")
    assert node.run("memory", "5000").stdout == "5000 KiB of 5000 KiB are available\n"


def test_a_key_is_printed_and_a_missing_one_has_its_own_exit_code(node: NodeShell) -> None:
    (node.home / "key").write_text("sk-1")
    assert node.run("key", str(node.home / "key")).stdout == "sk-1"
    assert node.run("key", str(node.home / "other")).returncode == 3


def test_the_newest_kept_log_of_a_deployment_is_shown(node: NodeShell) -> None:
    logs = node.home / "logs"
    logs.mkdir()
    for number, name in enumerate(("sparkops-a-head-1.log", "sparkops-a-head-2.log", "sparkops-b-head-3.log")):
        (logs / name).write_text(f"one\n{name}\n")
        os.utime(logs / name, (number * 100, number * 100))
    assert node.run("keptlog", str(logs), "a", "1").stdout == "100\nsparkops-a-head-2.log\n"
    assert node.run("keptlog", str(logs), "1", "1").stdout == "0\nsparkops-a-head-1.log\n", "by its hash"
    assert node.run("keptlog", str(logs), "", "1").stdout == "200\nsparkops-b-head-3.log\n"
    assert node.run("keptlog", str(node.home / "none"), "", "1").stdout == ""
