"""Plan and deploy agree, proved from the nodes' side: what they received is the plan without the frame."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sparkops.core.condition import REPLACE_SECONDS
from sparkops.core.plan import Result, Word
from sparkops.data.dump import MARK
from sparkops.testing import COMMANDS, SimulatedNode
from sparkops.testing.node import said
from sparkops.testing.sparks import sparks
from support.person import planned
from support.world import Lab, Received

QWEN = "qwen3-next-80b-a3b-instruct-fp8"
SMALL = ("--set", "args.max-model-len=2048")


def per_node(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node, line in pairs:
        found.setdefault(node, []).append(line)
    return found


def inner(received: list[Received]) -> list[Received]:
    """Without what surrounds a plan: facts, the key and the boot log that are read, and whether old servers answer."""
    frame = ("@facts", "@key", "docker logs ")
    asked = f"--seconds {REPLACE_SECONDS:.0f}"
    return [one for one in received if one.changes or not (one.shown.startswith(frame) or one.shown.endswith(asked))]


@pytest.mark.parametrize(
    "wish",
    [("cluster",), ("2x-solo",), ("cluster", "--recipe", QWEN), ("solo", "--limit", "node2", *SMALL)],
    ids=" ".join,
)
@pytest.mark.parametrize("before", ["nothing", "2x-solo", "cluster"])
def test_the_nodes_receive_the_plan_and_nothing_else(lab: Lab, before: str, wish: tuple[str, ...]) -> None:
    if before != "nothing":
        lab.deploy(before, "--set", "args.max-num-seqs=3")
        lab.mark()
    plan = lab.json("plan", "--topology", *wish)
    assert plan["changed"]
    assert inner(lab.received()) == [], "a plan reads only"

    lab.mark()
    deployed = lab.deploy(*wish, "--expect", plan["id"])
    assert deployed["id"] == plan["id"]
    received = inner(lab.received())
    probes = set(planned(plan, "until ready: "))
    done = [(one.node, one.shown) for one in received if (one.node, one.shown) not in probes]
    assert per_node(done) == per_node(planned(plan))
    assert {(one.node, one.shown) for one in received} - set(done) == probes
    assert not [one for one in received if one.changes and (one.node, one.shown) in probes]


def test_the_same_facts_make_the_same_plan(lab: Lab) -> None:
    one, other = (lab.json("plan", "--topology", "cluster") for _ in range(2))
    assert (one["steps"], one["id"]) == (other["steps"], other["id"])
    lab.deploy("cluster", "--expect", one["id"])
    after = lab.json("plan", "--topology", "cluster")
    assert (after["changed"], after["changes"]) == (False, [])
    assert not [step for step in after["steps"] if step["changes"]]


def test_a_script_may_deploy_the_expected_plan_twice(lab: Lab) -> None:
    expected = ("cluster", "--expect", lab.json("plan", "--topology", "cluster")["id"])
    assert [lab.deploy(*expected)["changed"] for _ in range(2)] == [True, False]


def test_a_flag_that_only_the_image_tells_makes_the_same_plan_and_nothing_anew(lab: Lab) -> None:
    wish = ("cluster", "--set", "args.nope=2", "--allow", "unknown-flag")
    plan = lab.json("plan", "--topology", *wish)
    assert lab.deploy(*wish, "--expect", plan["id"])["changed"] is True
    assert lab.deploy(*wish)["changed"] is False


def test_an_image_that_tells_its_flags_in_a_strange_form_is_judged_by_its_name(tmp_path: Path) -> None:
    def strange(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
        told = f'{MARK}{{"version": [], "options": [{{"flags": 3}}]}}\n'
        return said(told) if "--rm" in words else COMMANDS["docker"](node, words, stdin)

    lab = Lab(tmp_path, world=sparks(prefix="node", commands={**COMMANDS, "docker": strange}))
    planned = lab.cli("plan", "--topology", "cluster", "--set", "args.nope=2", code=0)
    assert "in a form that sparkops does not know" in planned.err


def test_another_plan_than_the_expected_one_is_refused_and_nothing_changes(lab: Lab) -> None:
    lab.deploy("cluster")
    before = lab.running()
    lab.mark()
    for verb in ("deploy", "plan"):
        error = lab.json(verb, "--topology", "2x-solo", "--expect", "0123456789ab", code=3)["error"]
        assert error["kind"] == "refused"
        assert "0123456789ab" in error["message"]
    assert not lab.changed()
    assert lab.running() == before


def test_a_node_is_not_asked_more_often_because_there_are_more_nodes(lab_of: Any) -> None:
    seen = {}
    for nodes in (2, 8):
        lab = lab_of(nodes)
        assert len(lab.deploy("cluster")["endpoints"]) == 1
        assert lab.world.connections == nodes
        seen[nodes] = sum(one.node == "node2" and not one.shown.startswith("@probe") for one in lab.received())
    assert seen[2] == seen[8]
