"""Page caches, crontabs, rights and clean-up where real programs have the last word; tests/world has the rest."""

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sparkops.remote.frame import script_text

GIB = 1024 * 1024
SUDOERS = ("root", "etc", "sudoers.d", "sparkops-drop-caches")
SETUP = {"SPARKOPS_BECOME_PASSWORD": "spark"}
TABLES = (None, b"# from Windows\r\n5 4 * * * /bin/backup\r\n", b"# a\n# b\n\nMAILTO=me\n5 4 * * * x  \n\n\n")


def rows(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in document["nodes"]}


def home(lab: Any, name: str) -> dict[str, str]:
    """Everything below it that is no cache, with what it is."""
    top = lab.node(name, "home")
    return {
        str(path.relative_to(top)): path.read_text(errors="replace") if path.is_file() else "directory"
        for path in sorted(top.rglob("*"))
        if ".cache" not in path.parts
    }


@pytest.fixture
def clean(empty: Any) -> Any:
    for name in empty.names:
        empty.node(name, "crontab").unlink(missing_ok=True)
        empty.node(name, *SUDOERS).unlink(missing_ok=True)
        empty.fault(name, "page-cache-full")
        empty.fault(name, "page-cache-full", off=True)
    return empty


def test_a_drop_frees_memory_and_from_a_cron_of_ones_own_it_is_silent(clean: Any) -> None:
    """No terminal, no agent, no more environment than cron gives."""
    clean.fault("node1", "page-cache-full")
    told = rows(clean.json("cache", "drop"))
    assert told["node1"]["freed_kib"] > 90 * GIB
    assert told["node1"]["cached_kib"]["after"] < GIB
    assert [one.shown for one in clean.received()] == ["@cache drop", "@cache drop"]
    kept = ("HOME", "PATH", "PYTHONPATH", "SPARKOPS_LAB_DIR")
    environment = {name: value for name, value in clean.environment().items() if name in kept} | {"LOGNAME": "spark"}
    line = [sys.executable, "-m", "sparkops", "-i", "lab", "cache", "drop", "--quiet"]
    ran = subprocess.run(line, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def run_entry(lab: Any, name: str) -> None:
    """What cron would do at the time of the entry."""
    (line,) = [line for line in lab.on(name, "crontab", "-l").splitlines() if "drop.sh" in line]
    assert lab.on(name, "/bin/sh", "-c", line.split(" ", 5)[5].replace("\\%", "%")) == ""


def test_a_crontab_is_byte_for_byte_what_it_was_and_its_entry_does_what_status_tells(clean: Any) -> None:
    table = clean.node("node1", "crontab")
    for before in TABLES:
        if before is not None:
            table.write_bytes(before)
        clean.cli("cache", "schedule", "--every", "30m", code=0)
        assert table.read_bytes().partition(b"\n")[2] == (before or b""), before
        clean.cli("cache", "unschedule", code=0)
        assert (table.read_bytes() if table.exists() else None) == before, before
    clean.cli("cache", "schedule", "--every", "30m", "--when", "MemFree < 50GiB", code=0)
    run_entry(clean, "node1")
    clean.fault("node2", "page-cache-full")
    run_entry(clean, "node2")
    last = {
        name: (row["last"]["dropped"], row["last"]["how"]) for name, row in rows(clean.json("cache", "status")).items()
    }
    assert last == {"node1": (False, "not needed"), "node2": (True, "everything")}


def test_the_one_right_is_shown_written_used_and_taken_back(clean: Any) -> None:
    line = "spark ALL=(root) NOPASSWD: /usr/bin/tee /proc/sys/vm/drop_caches"
    before = home(clean, "node1")
    with clean.trouble("node1", "sudo-password"):
        assert rows(clean.json("cache", "drop"))["node1"]["how"] == "the models' files"
        refused = clean.cli("cache", "permit", code=3)
        assert line in refused.err
        assert "--ask-become-pass" in clean.cli("cache", "permit", "--yes", code=5).err
        told = clean.json("cache", "permit", "--yes", "--ask-become-pass", **SETUP)
        assert [(entry["name"], entry["line"]) for entry in told["nodes"]] == [("node1", line)]
        path = Path(clean.node("node1", *SUDOERS))
        assert (path.read_text().splitlines()[-1], stat.S_IMODE(path.stat().st_mode)) == (line, 0o440)
        assert rows(clean.json("cache", "drop"))["node1"]["how"] == "everything"
        assert clean.json("cache", "permit")["changed"] is False
        assert "--ask-become-pass" in clean.cli("cleanup", "--yes", code=5).err
        clean.cli("cleanup", "--yes", "--ask-become-pass", code=0, **SETUP)
        assert not path.exists()
    assert home(clean, "node1") == before


def test_a_cleanup_is_shown_then_done_and_leaves_a_home_as_it_was(clean: Any, until: Any) -> None:
    before = {name: home(clean, name) for name in clean.names}
    mine = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDx me@here"
    clean.on("node1", "sh", "-c", 'echo "$1" | sh -c "$2"', "install", mine, script_text("authorize"))
    assert mine in clean.node("node1", "home", ".ssh", "authorized_keys").read_text()
    clean.deploy("cluster")
    for name in clean.names:
        (job,) = clean.node(name, "home", ".local", "state", "sparkops", "jobs").glob("cache-*")
        assert until((job / "rc").exists), f"the dropper of {name} goes on when the engine is up"
        assert (job / "rc").read_text() == "0\n"
    clean.cli("cache", "schedule", "--every", "30m", code=0)
    assert clean.json("memory")["nodes"][0]["gpu_processes"] != []
    assert "on the GPU" in clean.cli("memory", code=0).out
    assert "stop it first" in clean.cli("cleanup", "--yes", code=3).err
    clean.cli("stop", code=0)
    shown = clean.cli("cleanup", code=0)
    assert all(word in shown.out for word in ("crontab entry", "password", "cleanup --yes"))
    assert home(clean, "node1") != before["node1"], "nothing is removed before somebody agreed"
    clean.cli("cleanup", "--yes", code=0)
    assert {name: home(clean, name) for name in clean.names} == before
    assert not clean.node("node1", "crontab").exists()
    assert "sparkops left nothing on node" in clean.cli("cleanup", code=0).out
