"""Every fault that the lab knows of a node's fitness is found by the check that is there for it, and by no other.

A crowd of nodes has one fault each, and one preflight names them all. What the checks say of real captures, and with
which exit code: tests/unit/checks/cases.yml, tests/world/test_preflight_runs.py.
"""

import re
from typing import Any

from sparklab.faults import FAULTS
from support.fault_table import CABLES, FOUND, ROWS

ONLY_WHILE_SERVING = {
    "lost-after-send", "worker-never-joins", "crash-while-loading", "engine-killed", "engine-frozen",
    "peer-dead-health-green", "graphs-hang", "slow", "reboot", "docker-hangs", "memory-leaks", "cron-dead",
}  # fmt: skip
"""What no node shows before something is done with it."""

ON_THE_HEAD = "port-taken"
"""Only the first node of a cluster listens on the port of the API."""

PINGS = "cx7-pings"
"""Which end of a cable loses packets cannot be told from its two ends, so who asked may be named too."""


def held(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [check for check in checks if check["status"] in ("warn", "fail")]


def named(check: dict[str, Any]) -> set[str]:
    """The nodes that a verdict over all nodes names, but for the many that agree."""
    parts = f"{check['message']}; {check['evidence']}".split(";")
    return {node for part in parts if " more" not in part for node in re.findall(r"node\d+", part)}


def silent(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The check of pings by node, where it found some that got no answer."""
    return {node["name"]: check for node in document["nodes"] for check in held(node["checks"]) if check["id"] == PINGS}


def silent_twice(lab: Any, nodes: set[str]) -> set[str]:
    """Of these nodes those that a second look finds too: on a busy machine a ping of so many may come too late once."""
    return nodes & silent(lab.json("preflight", "--only", PINGS, code=None)).keys() if nodes else nodes


def test_each_fault_in_a_crowd_is_found_on_its_node_by_its_check_and_by_no_other(lab_with):
    assert {fault: told for fault, told, _ in ROWS} == {
        fault: told for fault, told in FAULTS.items() if fault not in {*ONLY_WHILE_SERVING, *CABLES}
    }, "say in docs/reference/lab.md which checks find a new fault"
    lab = lab_with(nodes=len(FOUND) + 3)
    first, *_, healthy = lab.names
    faulty = dict(zip(lab.names, sorted(FOUND, key=lambda fault: fault != ON_THE_HEAD), strict=False))
    for node, fault in faulty.items():
        lab.fault(node, fault)
    lab.mark()
    document = lab.json("preflight", code=4)
    told = {node["name"]: {check["id"] for check in held(node["checks"])} for node in document["nodes"]}
    for check in held(document["cluster"]):
        for node in named(check) - {first}:  # with which a clone is compared
            told[node].add(check["id"])
    expected = {node: {*FOUND[faulty[node]]} if node in faulty else set() for node in lab.names}
    wrong = {
        (node, faulty.get(node)): told[node] for node in lab.names if told[node] - {PINGS} != expected[node] - {PINGS}
    }
    assert wrong == {}
    lossy = {node for node, fault in faulty.items() if fault in ("pings-lost", "big-pings-lost")}
    first_look = silent(document)
    assert lossy <= first_look.keys()
    unexplained = {name for name, check in first_look.items() if name not in lossy and not named(check) & lossy}
    assert {check["id"] for check in held(document["cluster"])} <= set().union(*FOUND.values())
    assert lab.connections()[healthy] == 1
    assert [one.shown.split()[0] for one in lab.received() if one.node == healthy] == ["@facts", "@peers"]
    assert silent_twice(lab, unexplained) == set()

    for node, fault in faulty.items():
        lab.fault(node, fault, off=True)
    document = lab.json("preflight", code=None)
    held_again = [check for node in document["nodes"] for check in held(node["checks"])] + held(document["cluster"])
    assert [check for check in held_again if check["id"] != PINGS] == [], "a node without its fault is fit again"
    assert silent_twice(lab, {*silent(document)}) == set()
