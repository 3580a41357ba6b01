"""`cache`, `memory` and what a deploy says of page caches, over simulated nodes."""

from __future__ import annotations

from typing import Any

import pytest

from sparkops.core.plan import Result
from sparkops.testing.scripts import said
from sparkops.testing.upkeep import CRONTAB, EPOCH
from support.world import Lab

GIB = 1024 * 1024
LONG = ("--set", "args.max-model-len=131072")
HOURS = 7300


def rows(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in document["nodes"]}


def log(lab: Lab, name: str, *lines: str) -> None:
    """What the scheduled runs wrote, oldest first."""
    lab.node(name).files[f"{lab.node(name).state_dir}/cache/log"] = "".join(f"{line}\n" for line in lines)


def run(ago: float, how: str, available: int = 115 * GIB) -> str:
    sizes = f"MemFree 1 -> 1, MemAvailable {available} -> {available}, Cached 9 -> 1 KiB"
    return f"{int(EPOCH - ago)} x page cache {how}: {sizes}"


def test_a_drop_tells_what_it_freed_on_every_selected_node_and_reaches_no_other(lab: Lab) -> None:
    lab.node("node1").cached_kib = 95 * GIB
    told = rows(lab.json("cache", "drop"))
    assert list(told) == ["node1", "node2"]
    assert told["node1"]["freed_kib"] > 90 * GIB
    assert told["node1"]["cached_kib"]["after"] < GIB
    assert sorted((one.node, one.shown) for one in lab.received()) == [
        ("node1", "@cache drop"),
        ("node2", "@cache drop"),
    ]
    lab.world.lose("node1")
    assert list(rows(lab.json("cache", "drop", "--limit", "node2"))) == ["node2"]
    assert lab.cli("cache", "drop", "--quiet", "--limit", "node2", code=0).told == ""


def test_what_goes_wrong_is_worth_a_mail(lab: Lab) -> None:
    def cannot(*_: object) -> Result:
        return said("page cache kept (no right to drop it): MemFree 1 -> 1, MemAvailable 1 -> 1, Cached 9 -> 9 KiB\n")

    node = lab.node("node2")
    lab.world.lose("node2")
    told = rows(lab.json("cache", "drop", code=4))
    assert {name: row["dropped"] for name, row in told.items()} == {"node1": True, "node2": False}
    ran = lab.cli("cache", "drop", "--quiet", code=4)
    assert ("everything" in ran.out, "error: node2: " in ran.err) == (True, True)
    lab.anew()
    node.handlers = {**node.handlers, "cache": cannot}
    assert "cache permit` writes the one sudoers line" in lab.cli("cache", "drop", "--quiet", code=5).err


def test_status_tells_of_the_last_runs_and_names_what_keeps_it_from_its_work(lab: Lab) -> None:
    def problem() -> str:
        return str(lab.json("cache", "status", code=5)["error"]["message"])

    assert lab.json("cache", "status")["same"] is True
    every = ("cache", "schedule", "--every", "30m")
    lab.cli(*every, "--limit", "node1", code=0)
    assert lab.json("cache", "status", code=5)["same"] is False
    lab.cli(*every, "--when", "MemFree < 50GiB", code=0)
    log(lab, "node1", run(60, "kept (not needed)"))
    log(lab, "node2", run(60, "dropped (everything)"))
    told = rows(lab.json("cache", "status"))
    last = {name: (row["last"]["dropped"], row["last"]["how"], row["when"]) for name, row in told.items()}
    assert last == {
        "node1": (False, "not needed", "MemFree < 50 GiB"),
        "node2": (True, "everything", "MemFree < 50 GiB"),
    }
    assert "installed" in lab.cli("cache", "status", code=0).out
    lab.world.pause(HOURS, lab.world.cancel())
    assert "does cron run there?" in problem()
    files = lab.node("node1").files
    files[f"{lab.node('node1').state_dir}/cache/drop.sh"] = "exit 0\n"
    assert "another version" in problem()
    files[CRONTAB] = "#" + files[CRONTAB]
    assert "commented out" in problem()
    lab.cli(*every, code=0)
    assert "node1" not in problem(), "only time is what the other one lacks"


def test_a_wish_that_cannot_be_kept_is_refused_before_any_node_is_reached(lab: Lab) -> None:
    for words in (("--every", "45m"), ("--every", "soon"), ("--every", "30m", "--when", "MemFree is low"), ()):
        ran = lab.cli("cache", "schedule", *words)
        assert (ran.code, "next: " in ran.err, lab.received()) == (2, True, []), words


def test_a_deploy_needs_no_right_at_all_and_its_droppers_end_when_the_engine_is_up(lab: Lab) -> None:
    for name in lab.names:
        lab.node(name).probes["sudo"] = (0, "true 1 sudo: a password is required")
    assert lab.deploy("cluster")["ok"]
    jobs = [(job["node"], job["state"], job["exit"]) for job in lab.json("jobs")["jobs"]]
    assert sorted(jobs) == [("node1", "done", 0), ("node2", "done", 0)]


def test_a_cluster_with_the_whole_context_is_offered_a_schedule(lab: Lab) -> None:
    def warned(document: dict[str, Any]) -> list[str]:
        return [one["hint"] for one in document["rules"] if (one["id"], one["action"]) == ("cache-scheduled", "warn")]

    (hint,) = warned(lab.deploy("cluster", *LONG))
    assert hint.endswith("cache schedule --every 30m")
    lab.cli("cache", "schedule", "--every", "30m", code=0)
    for words in (LONG, ()):
        assert warned(lab.json("plan", "--topology", "cluster", *words)) == []


def test_memory_tells_where_it_is_and_how_long_it_lasts(lab: Lab) -> None:
    lab.deploy("cluster")
    sizes = (34 * GIB, 33 * GIB, 32 * GIB, 31 * GIB)
    log(lab, "node1", *(run(7200 - 1800 * at, "dropped (everything)", size) for at, size in enumerate(sizes)))
    told = rows(lab.json("memory"))
    (budget,) = told["node1"]["budgets"]
    assert budget["deployment"] == "openai-gpt-oss-120b"
    assert budget["kib"] == round(told["node1"]["total_kib"] * budget["utilization"])
    assert told["node1"]["growth"]["used"] == pytest.approx(2 * GIB)
    assert told["node1"]["seconds_left"] > 0
    assert (told["node2"]["growth"], told["node2"]["seconds_left"]) == (None, None)
    assert "+2 GiB/h" in lab.cli("memory", code=0).out


def test_memory_looks_again_until_it_is_interrupted(lab: Lab) -> None:
    lab.world.later(10, lab.world.interrupt)
    ran = lab.cli("memory", "--watch", "--every", "1s", code=130)
    looks = [one for one in lab.received() if one.shown.startswith("@facts --only") and one.node == "node1"]
    assert ran.out.count("unaccounted") >= len(looks) > 2
    assert lab.cli("memory", "--watch", "--json", code=2).document["error"]["kind"] == "usage"
