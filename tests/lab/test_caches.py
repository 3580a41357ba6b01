"""Page caches on real nodes: dropped now, by cron, with as much right as there is; and a cleanup without a trace."""

import re
from pathlib import Path
from typing import Any

import pytest

MIB = 1024
FULL = 200 * MIB
BIG = 1500 * MIB
HOME = "/home/spark"
STATE = f"{HOME}/.local/state/sparkops"
SUDOERS = "/etc/sudoers.d/sparkops-drop-caches"
TABLE = "# one\n# two\n# three\n# four\nMAILTO=''\n\n59 23 31 12 * /bin/true # sparkops\n# the end\n"


def cached() -> int:
    """KiB, by the kernel that all nodes and this machine share: a node's own file is a second behind."""
    found = re.search(r"^Cached:\s+(\d+)", Path("/proc/meminfo").read_text(), re.M)
    return int(found[1]) if found else 0


def fill(lab: Any, node: str = "node1") -> None:
    """A real file in the page cache, of holes, so that it takes no disk."""
    lab.on(node, "sh", "-c", f"truncate -s {BIG}K {HOME}/big && cat {HOME}/big >/dev/null")


@pytest.fixture
def lab(lab: Any) -> Any:
    """Nodes whose drops are real, without what an earlier test left of a schedule."""
    lab.clear()
    lab.drop_for_real()
    for node in ("node1", "node2"):
        lab.on(node, "sh", "-c", f"crontab -u spark -r 2>/dev/null; rm -f {SUDOERS} {HOME}/big /etc/cron.deny")
    yield lab
    lab.on("node1", "rm", "-f", f"{HOME}/big", "/etc/cron.deny")
    lab.more.pop("SPARKOPS_BECOME_PASSWORD", None)
    lab.spare_the_caches()


def rows(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in document["nodes"]}


def traces(lab: Any, node: str) -> str:
    """Every path of home and /etc with what it holds, without caches and models."""
    look = (
        f"find {HOME} /etc -path {HOME}/.cache -prune -o -printf '%p %y %m %u\\n' | sort;"
        f"find {HOME} /etc -path {HOME}/.cache -prune -o -type f -exec sha256sum {{}} + | sort"
    )
    return str(lab.on(node, "sh", "-c", look))


def test_a_drop_shrinks_the_cache_and_says_by_how_much(lab, eventually):
    def shrinks() -> bool:
        """Another lab may have dropped it just before: there is one cache for both."""
        fill(lab)
        full = cached()
        told = rows(lab.json("cache", "drop", "--limit", "node1"))
        gone = full - cached()
        assert list(told) == ["node1"]
        assert told["node1"]["how"] == "everything"
        sizes = told["node1"]["cached_kib"]
        return gone > FULL and sizes["before"] - sizes["after"] > FULL

    assert eventually(shrinks)


def test_cron_drops_it_within_its_period_and_status_tells(lab, eventually):
    lab.json("cache", "schedule", "--every", "1m", "--limit", "node1")
    fill(lab)
    full = cached()
    dropped = ("grep", "page cache dropped (everything)", f"{STATE}/cache/log")
    assert eventually(lambda: lab.ran_on("node1", *dropped).returncode == 0)
    assert eventually(lambda: full - cached() > FULL), "a run that came before it was full is followed by another"

    def tells() -> bool:
        """A run that another one was in the way of is followed by another, too."""
        told = rows(lab.json("cache", "status", "--limit", "node1"))["node1"]
        assert (told["installed"], told["every_seconds"], told["problem"]) == (True, 60, "")
        return bool(told["last"]["dropped"])

    assert eventually(tells)
    told = lab.json("cache", "status", code=5)
    assert (told["same"], "node2" in told["error"]["message"]) == (False, True)
    lab.json("cache", "unschedule")
    assert lab.ran_on("node1", "crontab", "-u", "spark", "-l").returncode == 1, "the crontab is absent again"


def test_a_users_other_lines_survive_every_round(lab):
    lab.ran_on("node1", "crontab", "-", user="spark", stdin=TABLE)
    spool = "/var/spool/cron/crontabs/spark"

    def table() -> str:
        return str(lab.ran_on("node1", "sed", "/^# (/d", spool).stdout)

    before = table()
    for every in ("30m", "10m"):
        lab.cli("cache", "schedule", "--every", every, "--limit", "node1")
        assert table().count("drop.sh") == 1
        lab.cli("cache", "unschedule", "--limit", "node1")
        assert table() == before


def test_who_may_not_use_crontab_or_write_home_is_told_so(lab):
    lab.on("node1", "sh", "-c", "echo spark >/etc/cron.deny")
    error = lab.json("cache", "schedule", "--every", "30m", code=5)["error"]
    assert (error["node"], "not allowed" in error["message"] + str(error)) == ("node1", True)
    assert lab.ran_on("node2", "crontab", "-u", "spark", "-l").returncode == 0, "the other node got its own"
    lab.on("node1", "rm", "/etc/cron.deny")
    lab.cli("cache", "unschedule")
    lab.on("node1", "sh", "-c", f"mount --bind {HOME} {HOME} && mount -o remount,ro,bind {HOME}")
    try:
        error = lab.json("cache", "schedule", "--every", "30m", "--limit", "node1", code=5)["error"]
        assert "Read-only file system" in str(error)
        assert lab.json("cache", "drop", "--limit", "node1")["ok"]
    finally:
        lab.on("node1", "umount", "-l", HOME)


def test_without_sudo_the_models_files_go_and_one_line_permits_the_rest(lab):
    """The right is shown, validated, used, and gone with a cleanup; home and /etc are then as they were."""
    before = traces(lab, "node1")
    lab.more["SPARKOPS_BECOME_PASSWORD"] = "spark"
    with lab.trouble("node1", "sudo-password"):
        lab.on("node1", "sh", "-c", f"dd if=/dev/zero of={HOME}/.cache/huggingface/hub/big bs=1M count=3; sync")
        told = rows(lab.json("cache", "drop", "--limit", "node1"))["node1"]
        assert (told["dropped"], told["how"]) == (True, "the models' files")
        shown = lab.cli("cache", "permit", "--limit", "node1", code=3)
        assert "spark ALL=(root) NOPASSWD: /usr/bin/tee /proc/sys/vm/drop_caches" in shown.err
        lab.cli("cache", "permit", "--limit", "node1", "--ask-become-pass", "--yes")
        assert lab.on("node1", "stat", "-c", "%a %U", SUDOERS) == "440 root"
        assert lab.ran_on("node1", "visudo", "-c").returncode == 0
        assert rows(lab.json("cache", "drop", "--limit", "node1"))["node1"]["how"] == "everything"
        error = lab.json("cleanup", "--yes", "--limit", "node1", code=5)["error"]
        assert "--ask-become-pass" in error["hint"]
        lab.cli("cleanup", "--yes", "--limit", "node1", "--ask-become-pass")
    lab.on("node1", "rm", "-f", f"{HOME}/.cache/huggingface/hub/big")
    assert traces(lab, "node1") == before


def test_a_deployment_leaves_no_trace_after_its_cleanup(lab, eventually):
    before = traces(lab, "node1")
    lab.deploy("solo", "--limit", "node1", "--set", "env.LAB_ENGINE=standin")
    ended = f"for job in {STATE}/jobs/cache-*/; do cat $job/rc; done"
    assert eventually(lambda: lab.ran_on("node1", "sh", "-c", ended).stdout == "0\n"), "the dropper ends by itself"
    lab.cli("cache", "schedule", "--every", "30m", "--limit", "node1")
    told = rows(lab.json("memory", "--limit", "node1"))["node1"]
    assert [budget["deployment"] for budget in told["budgets"]] == ["openai-gpt-oss-120b"]
    refused = lab.json("cleanup", "--yes", "--limit", "node1", code=3)
    assert "stop it first" in refused["error"]["hint"]
    lab.cli("stop")
    assert lab.json("cleanup", "--yes", "--limit", "node1")["removed"]
    assert traces(lab, "node1") == before
    assert lab.ran_on("node1", "crontab", "-u", "spark", "-l").returncode == 1
