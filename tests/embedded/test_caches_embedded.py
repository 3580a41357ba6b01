"""Page caches, memory and cleanup as a person uses them, over real SSH to nodes with memory of their own."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sparkops.remote.frame import script_text

GIB = 1024 * 1024
SUDOERS = ("root", "etc", "sudoers.d", "sparkops-drop-caches")
LONG = ("--set", "args.max-model-len=131072")
SETUP = {"SPARKOPS_BECOME_PASSWORD": "spark"}
TABLES = {
    "absent": None,
    "crlf": b"# from Windows\r\n5 4 * * * /bin/backup\r\n",
    "comments and no end of blanks": b"# a\n# b\n# c\n\nMAILTO=me\n5 4 * * * x  \n\n\n",
}


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


def test_a_drop_tells_what_it_freed_on_every_node(clean: Any) -> None:
    clean.fault("node1", "page-cache-full")
    told = rows(clean.json("cache", "drop"))
    assert list(told) == ["node1", "node2"]
    assert told["node1"]["freed_kib"] > 90 * GIB
    assert told["node1"]["cached_kib"]["after"] < GIB
    assert [one.shown for one in clean.received()] == ["@cache drop", "@cache drop"]
    assert clean.cli("cache", "drop", "--limit", "node2", code=0).out.count("node2") == 1


def test_only_the_selected_nodes_are_reached(clean: Any) -> None:
    with clean.trouble("node1", "unreachable"):
        assert list(rows(clean.json("cache", "drop", "--limit", "node2"))) == ["node2"]
    assert clean.connections()["node1"] == 0


def test_from_a_cron_of_ones_own_it_is_silent_while_all_goes_well(clean: Any) -> None:
    """No terminal, no agent, no more environment than cron gives."""
    kept = ("HOME", "PATH", "PYTHONPATH", "SPARKOPS_LAB_DIR")
    environment = {name: value for name, value in clean.environment().items() if name in kept} | {"LOGNAME": "spark"}
    line = [sys.executable, "-m", "sparkops", "-i", "lab", "cache", "drop", "--quiet"]
    ran = subprocess.run(line, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_what_goes_wrong_is_worth_a_mail(clean: Any) -> None:
    with clean.trouble("node2", "unreachable"):
        ran = clean.cli("cache", "drop", "--quiet", code=4)
    assert "everything" in ran.out
    assert "error: node2: " in ran.err
    with clean.trouble("node2", "sudo-password"), clean.trouble("node2", "no-model"):
        ran = clean.cli("cache", "drop", "--quiet", code=5)
    assert "cache permit` writes the one sudoers line" in ran.err


@pytest.mark.parametrize("before", TABLES.values(), ids=TABLES.keys())
def test_a_crontab_is_byte_for_byte_what_it_was(clean: Any, before: bytes | None) -> None:
    table = clean.node("node1", "crontab")
    if before is not None:
        table.write_bytes(before)
    for every in ("30m", "1h"):
        clean.cli("cache", "schedule", "--every", every, code=0)
        assert table.read_bytes().partition(b"\n")[2] == (before or b"")
    told = clean.json("cache", "schedule", "--every", "1h")
    assert told["changed"] is False
    clean.cli("cache", "unschedule", code=0)
    assert (table.read_bytes() if table.exists() else None) == before


def run_entry(lab: Any, name: str) -> None:
    """What cron would do at the time of the entry."""
    (line,) = [line for line in lab.on(name, "crontab", "-l").splitlines() if "drop.sh" in line]
    assert lab.on(name, "/bin/sh", "-c", line.split(" ", 5)[5].replace("\\%", "%")) == ""


def test_the_entry_drops_and_status_tells_of_it(clean: Any) -> None:
    clean.cli("cache", "schedule", "--every", "30m", "--when", "MemFree < 50GiB", code=0)
    run_entry(clean, "node1")
    clean.fault("node2", "page-cache-full")
    run_entry(clean, "node2")
    told = clean.json("cache", "status")
    last = {name: (row["last"]["dropped"], row["last"]["how"]) for name, row in rows(told).items()}
    assert last == {"node1": (False, "not needed"), "node2": (True, "everything")}
    assert {row["when"] for row in told["nodes"]} == {"MemFree < 50 GiB"}
    assert "installed" in clean.cli("cache", "status", code=0).out


def test_status_names_what_keeps_it_from_its_work(clean: Any) -> None:
    assert clean.json("cache", "status")["same"] is True
    clean.cli("cache", "schedule", "--every", "30m", "--limit", "node1", code=0)
    assert clean.json("cache", "status", code=5)["same"] is False
    clean.cli("cache", "schedule", "--every", "30m", code=0)
    script = clean.node("node1", "home", ".local", "state", "sparkops", "cache", "drop.sh")
    hours_ago = time.time() - 7300
    os.utime(script, (hours_ago, hours_ago))
    assert "does cron run there?" in clean.json("cache", "status", code=5)["error"]["message"]
    script.write_text("exit 0\n")
    assert "another version" in clean.json("cache", "status", code=5)["error"]["message"]
    table = clean.node("node1", "crontab")
    table.write_text("#" + table.read_text())
    assert "commented out" in clean.json("cache", "status", code=5)["error"]["message"]
    clean.cli("cache", "schedule", "--every", "30m", code=0)
    clean.json("cache", "status", code=0)


@pytest.mark.parametrize(
    "words",
    [("--every", "45m"), ("--every", "soon"), ("--every", "30m", "--when", "MemFree is low"), ()],
    ids=lambda words: " ".join(words) or "nothing",
)
def test_a_wish_that_cannot_be_kept_is_refused_before_any_node_is_reached(clean: Any, words: tuple[str, ...]) -> None:
    ran = clean.cli("cache", "schedule", *words, code=2)
    assert "next: " in ran.err
    assert clean.received() == []


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


def test_a_deploy_needs_no_right_at_all(clean: Any) -> None:
    with clean.trouble("node1", "sudo-password"), clean.trouble("node2", "sudo-password"):
        assert clean.deploy("cluster")["ok"]


def test_a_cluster_with_the_whole_context_is_offered_a_schedule(clean: Any) -> None:
    offered = [rule for rule in clean.deploy("cluster", *LONG)["rules"] if rule["id"] == "cache-scheduled"]
    assert [rule["action"] for rule in offered] == ["warn"]
    assert offered[0]["hint"].endswith("cache schedule --every 30m")
    clean.cli("cache", "schedule", "--every", "30m", code=0)
    rules = clean.json("plan", "--topology", "cluster", *LONG)["rules"]
    assert not [rule for rule in rules if rule["id"] == "cache-scheduled" and rule["action"] == "warn"]


def test_the_dropper_of_a_load_ends_on_every_node_when_the_engine_is_up(clean: Any, until: Any) -> None:
    clean.deploy("cluster")
    for name in clean.names:
        (job,) = clean.node(name, "home", ".local", "state", "sparkops", "jobs").glob("cache-*")
        assert until((job / "rc").exists), name
        assert (job / "rc").read_text() == "0\n"


def test_memory_tells_where_it_is_and_how_long_it_lasts(clean: Any) -> None:
    clean.deploy("cluster")
    clean.cli("cache", "schedule", "--every", "30m", code=0)
    log = clean.node("node1", "home", ".local", "state", "sparkops", "cache", "log")
    now = int(time.time())
    log.write_text(
        "".join(
            f"{now - 7200 + 1800 * number} x page cache dropped (everything): MemFree 1 -> 1, "
            f"MemAvailable {size} -> {size}, Cached 9 -> 1 KiB\n"
            for number, size in enumerate((34 * GIB, 33 * GIB, 32 * GIB, 31 * GIB))
        )
    )
    told = rows(clean.json("memory"))
    assert told["node1"]["budgets"][0]["deployment"] == "openai-gpt-oss-120b"
    assert told["node1"]["budgets"][0]["kib"] == round(
        told["node1"]["total_kib"] * told["node1"]["budgets"][0]["utilization"]
    )
    assert told["node1"]["growth"]["used"] == pytest.approx(2 * GIB)
    assert told["node1"]["seconds_left"] > 0
    assert told["node1"]["gpu_processes"] != []
    assert (told["node2"]["growth"], told["node2"]["seconds_left"]) == (None, None)
    shown = clean.cli("memory", code=0).out
    assert "+2 GiB/h" in shown
    assert "on the GPU" in shown


def test_memory_looks_again_until_it_is_interrupted(clean: Any) -> None:
    process = clean.start("memory", "--watch", "--every", "1s")
    clean.brings(process, lambda: sum(one.shown.startswith("@facts --only") for one in clean.received()) >= 2)
    process.send_signal(signal.SIGINT)
    assert clean.ended(process, code=130).out.count("unaccounted") >= 1
    assert clean.cli("memory", "--watch", "--json", code=2).document["error"]["kind"] == "usage"


def test_a_cleanup_is_shown_then_done_and_leaves_a_home_as_it_was(clean: Any) -> None:
    before = {name: home(clean, name) for name in clean.names}
    clean.deploy("cluster")
    clean.cli("cache", "schedule", "--every", "30m", code=0)
    assert "stop` first" in clean.cli("cleanup", "--yes", code=3).err
    clean.cli("stop", code=0)
    shown = clean.cli("cleanup", code=0)
    assert "crontab entry" in shown.out
    assert "cleanup --yes" in shown.out
    assert home(clean, "node1") != before["node1"], "nothing is removed before somebody agreed"
    clean.cli("cleanup", "--yes", code=0)
    assert {name: home(clean, name) for name in clean.names} == before
    assert not clean.node("node1", "crontab").exists()
    assert "Nothing of sparkops is there." in clean.cli("cleanup", code=0).out


def test_the_key_that_init_installed_goes_with_a_cleanup(clean: Any) -> None:
    keys = clean.node("node1", "home", ".ssh", "authorized_keys")
    before = keys.read_text()
    mine = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDx me@here"
    clean.on("node1", "sh", "-c", 'echo "$1" | sh -c "$2"', "install", mine, script_text("authorize"))
    assert mine in keys.read_text()
    assert "password" in clean.cli("cleanup", "--limit", "node1", code=0).out
    clean.cli("cleanup", "--limit", "node1", "--yes", code=0)
    assert keys.read_text() == before
