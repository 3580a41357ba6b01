"""Where the deployments of a fleet would go on nodes that already have some of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.world import Lab

GPT, EMBED = "openai-gpt-oss-120b", "{recipe: openai-gpt-oss-120b, replicas: 2, alongside: true, allow: [memory-fits], "
FLEET = f"""
deployments:
  chat: {{recipe: {GPT}, topology: cluster}}
  coder: {{recipe: {GPT}}}
  embed: {EMBED}set: {{args.gpu-memory-utilization: 0.05}}}}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    file = tmp_path / "my fleet.yml"
    file.write_text(FLEET)
    return file


def test_what_serves_stays_and_all_others_find_a_place(lab_of: Callable[[int], Lab], fleet: Path) -> None:
    lab = lab_of(4)
    lab.deploy("solo", "--name", "coder", "--limit", "node3")
    lab.mark()
    placed = {one["name"]: one for one in lab.json("place", fleet)["deployments"]}
    assert {name: one["copies"] for name, one in placed.items()} == {
        "chat": [["node1", "node2"]],
        "coder": [["node3"]],
        "embed": [["node1"], ["node4"]],
    }
    assert [name for name, one in placed.items() if one["stays"]] == ["coder"]
    assert lab.changed() == []


def test_what_is_not_of_the_fleet_keeps_its_memory(lab_of: Callable[[int], Lab], fleet: Path) -> None:
    lab = lab_of(4)
    lab.deploy("solo", "--name", "other", "--limit", "node1")
    nodes = {one["name"]: one for one in lab.json("place", fleet)["nodes"]}
    assert nodes["node1"]["others"] == {"other": 0.9}
    assert nodes["node1"]["deployments"].keys() <= {"embed"}
    fleet.write_text(f"deployments: {{one: {{recipe: {GPT}, set: {{args.gpu-memory-utilization: 0.6}}}}}}\n")
    lab.deploy("solo", "--name", "other", "--limit", "node1", "--set", "args.gpu-memory-utilization=0.6")
    assert lab.json("place", fleet, "--limit", "node1", code=3)["deployments"][0]["problem"]


def test_a_fleet_that_is_too_large_is_refused_with_what_would_fit(lab_of: Callable[[int], Lab], fleet: Path) -> None:
    fleet.write_text(f"{FLEET}  more: {{recipe: {GPT}, replicas: 2}}\n")
    ended = lab_of(4).cli("place", fleet, code=3)
    assert "more: needs 0.93 of the memory of 2 nodes (0.03 of that beyond what it requests, as estimated)" in ended.err
    assert f"({fleet}:6)" in ended.err
    assert "no place" in ended.out


def test_a_node_that_is_away_has_no_place_and_is_told(lab_of: Callable[[int], Lab], fleet: Path) -> None:
    lab = lab_of(4)
    lab.world.lose("node1")
    found = lab.json("place", fleet, code=4)
    taken = [node for one in found["deployments"] for copy in one["copies"] for node in copy]
    assert sorted(set(taken)) == ["node2", "node3", "node4"]
    assert list(found["unreachable"]) == ["node1"]


def test_without_any_node_the_answer_is_that_none_was_reached(lab: Lab, fleet: Path) -> None:
    for node in ("node1", "node2"):
        lab.world.lose(node)
    fleet.write_text(f"deployments: {{one: {{recipe: {GPT}}}, two: {{recipe: {GPT}}}}}\n")
    assert list(lab.json("place", fleet, code=4)["unreachable"]) == ["node1", "node2"]


def test_what_a_rule_refuses_is_told_with_its_line(lab: Lab, fleet: Path) -> None:
    fleet.write_text(f"deployments: {{one: {{recipe: {GPT}, set: {{args.gpu-memory-utilization: 0.05}}}}}}\n")
    ended = lab.cli("place", fleet, code=3)
    assert f"{fleet}:1: one: " in ended.err
    assert "`set: {args.X: V}`" in ended.err
    fleet.write_text("deployments: {one: {recipe: nowhere, nodes: [node9]}}\n")
    assert "no node or group 'node9'" in lab.cli("place", fleet, code=2).err
