"""Plan and deploy agree, proved from the nodes' side: what they received is the plan without the frame."""

from __future__ import annotations

import pytest

QWEN = "qwen3-next-80b-a3b-instruct-fp8"
SMALL = ("--set", "args.max-model-len=2048")


def planned(document, mark=""):
    """(node, line) of each command of the plan; `until ready: ` those of the waits."""
    lines = [(step["node"], line) for step in document["steps"] for line in step["command"].splitlines()]
    marks = ("undo: ", "until ready: ")
    if mark:
        return [(node, line.removeprefix(mark)) for node, line in lines if line.startswith(mark)]
    return [(node, line) for node, line in lines if not line.startswith(marks)]


def per_node(pairs):
    found = {}
    for node, line in pairs:
        found.setdefault(node, []).append(line)
    return found


@pytest.mark.parametrize(
    "wish",
    [("cluster",), ("2x-solo",), ("cluster", "--recipe", QWEN), ("solo", "--limit", "node2", *SMALL)],
    ids=" ".join,
)
def test_the_nodes_receive_the_plan_and_nothing_else(lab, wish):
    plan = lab.json("plan", "--topology", *wish)
    assert plan["changed"]
    assert not lab.changed(), "a plan changes nothing"
    assert [one.shown[:200] for one in lab.received() if not one.is_frame] == [], "a plan reads facts only"

    lab.mark()
    deployed = lab.deploy(*wish, "--expect", plan["id"])
    assert deployed["id"] == plan["id"]
    received = [one for one in lab.received() if not one.is_frame]
    probes = set(planned(plan, "until ready: "))
    done = [(one.node, one.shown) for one in received if (one.node, one.shown) not in probes]
    assert per_node(done) == per_node(planned(plan))
    assert {(one.node, one.shown) for one in received} - set(done) == probes
    assert not [one for one in received if one.changes and (one.node, one.shown) in probes]
    assert len({one.run for one in received if one.changes}) == 1


def test_the_same_facts_make_the_same_plan(lab):
    one, other = (lab.json("plan", "--topology", "cluster") for _ in range(2))
    assert one["steps"] == other["steps"]
    assert one["id"] == other["id"]
    lab.deploy("cluster", "--expect", one["id"])
    after = lab.json("plan", "--topology", "cluster")
    assert (after["changed"], after["changes"]) == (False, [])
    assert not [step for step in after["steps"] if step["changes"]]


def test_another_plan_than_the_expected_one_is_refused_and_nothing_changes(lab):
    lab.deploy("cluster")
    before = lab.running()
    lab.mark()
    document = lab.deploy("2x-solo", "--expect", "0123456789ab", code=3)
    assert document["error"]["kind"] == "refused"
    assert "0123456789ab" in document["error"]["message"]
    plan = lab.json("plan", "--topology", "2x-solo", "--expect", "0123456789ab", code=3)
    assert plan["error"]["kind"] == "refused"
    assert not lab.changed()
    assert lab.running() == before


def test_one_connection_a_node_and_as_many_waves_for_eight_nodes(lab_with):
    lab = lab_with(nodes=8)
    seen = {}
    for nodes in (2, 8):
        lab.mark()
        lab.cli("lab", "status", "--reset", lab=False, code=0)
        inventory = lab.work / f"{nodes} nodes.yml"
        everything = (lab.directory / "inventory.yml").read_text()
        rest = [line for line in everything.splitlines() if not line.strip().startswith(tuple(lab.names[nodes:]))]
        inventory.write_text("\n".join(rest) + "\n")
        (lab.work / f"{nodes} nodes.yml.known_hosts").write_text(
            (lab.directory / "inventory.yml.known_hosts").read_text()
        )
        ran = lab.cli("-i", inventory, "deploy", "--topology", "cluster", "--json", lab=False, code=0)
        assert len(ran.document["endpoints"]) == 1
        counts = lab.cli("lab", "status", "--json", lab=False, code=0).document["nodes"]
        assert [node["connections"] for node in counts] == [1] * nodes + [0] * (8 - nodes)
        busy = [one for one in lab.received() if one.node == "node2" and not one.shown.startswith("@probe")]
        seen[nodes] = len(busy)
        lab.cli("-i", inventory, "stop", "--json", lab=False, code=0)
    assert seen[2] == seen[8], "a node is not asked more often because there are more nodes"
