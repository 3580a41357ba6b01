"""A crowd: every faulty node is named and none of the others; `bench/crowd.py` does it with 500 nodes."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

NODES = 100
FAULTS = {
    "node7": ("node-hangs", "ssh"),
    "node29": ("garbage", "ssh"),
    "node50": ("gpu-hangs", "driver"),
    "node71": ("link-100g", "cx7-speed"),
    "node98": ("clock-skew", "clock-skew"),
}
MOST_LINES = 60


@pytest.fixture(scope="module")
def crowd(lab_with):
    lab = lab_with(nodes=NODES)
    for node, (fault, _) in FAULTS.items():
        lab.fault(node, fault)
    return lab


def test_every_faulty_node_of_a_crowd_is_named_and_no_other(crowd):
    document = crowd.json("preflight", code=4)
    told = {
        (node["name"], check["id"])
        for node in document["nodes"]
        for check in node["checks"]
        if check["status"] in ("warn", "fail") and check["id"] != "answers"
    }
    told |= {(name, one["id"]) for one in document["cluster"] for name in FAULTS if f"{name}'s" in one["message"]}
    assert told == {(node, check) for node, (_, check) in FAULTS.items()}
    assert {one["id"] for one in document["cluster"] if one["status"] in ("warn", "fail")} == {"clock-skew"}


def test_the_answer_of_a_crowd_is_read_at_a_glance(crowd):
    ran = crowd.cli("preflight", code=4)
    assert len(ran.out.splitlines()) < MOST_LINES, ran.out
    assert all(node in ran.out for node in FAULTS)


def test_a_crowd_takes_one_connection_and_two_commands_a_node(crowd):
    crowd.mark()
    crowd.cli("preflight", code=4)
    connections, received = crowd.connections(), [one.node for one in crowd.received()]
    healthy = [name for name in crowd.names if name not in FAULTS]
    assert {connections[name] for name in healthy} == {1}
    assert {received.count(name) for name in healthy} == {2}
