"""`diff` and `apply`: the nodes become what a fleet's file says, and stay so."""

from collections.abc import Callable
from typing import Any

import pytest

from sparkops.testing import BootRule, EngineBoot
from support.world import Lab

GPT, QWEN = "openai-gpt-oss-120b", "qwen3-next-80b-a3b-instruct-fp8"
SMALL = "allow: [memory-fits], set: {args.gpu-memory-utilization: 0.2"
FLEET: dict[str, str] = {
    "chat": f"recipe: {GPT}, topology: cluster",
    "coder": f"recipe: {GPT}, nodes: [node3]",
    "embed": f"recipe: {GPT}, nodes: [node4], alongside: true, {SMALL}}}",
    "tiny": f"recipe: {GPT}, nodes: [node4], alongside: true, {SMALL}}}",
}
ANOTHER = ", set: {args.max-num-seqs: 4}"


@pytest.fixture
def lab(lab_of: Callable[[int], Lab]) -> Lab:
    return lab_of(4)


def write(lab: Lab, fleet: dict[str, str], **changed: str) -> None:
    lines = [f"  {name}: {{{text}}}" for name, text in (fleet | changed).items()]
    (lab.work / "fleet.yml").write_text("\n".join(["deployments:", *lines, ""]))


def differs(lab: Lab) -> dict[str, Any]:
    return {one["name"]: one for one in lab.json("diff")["deployments"]}


def test_apply_makes_the_nodes_serve_what_the_file_says_and_once_more_changes_nothing(lab: Lab) -> None:
    write(lab, FLEET)
    assert {name: one["action"] for name, one in differs(lab).items()} == dict.fromkeys(FLEET, "new")
    assert lab.json("apply")["changed"]
    assert lab.state() == dict.fromkeys(FLEET, "serving")
    lab.mark()
    assert not lab.json("apply")["changed"]
    assert not lab.json("diff", "--exit-code")["changed"]
    assert lab.changed() == []


def test_those_on_one_node_have_their_own_ports_and_keep_them(lab: Lab) -> None:
    write(lab, FLEET)
    ports = {one["name"]: one["endpoints"][0]["url"] for one in lab.json("apply")["deployments"]}
    assert len(set(ports.values())) == len(FLEET)
    left = {name: text for name, text in reversed(FLEET.items()) if name != "embed"}
    write(lab, left)
    after = {one["name"]: one["endpoints"][0]["url"] for one in lab.json("apply")["deployments"]}
    assert after == {name: ports[name] for name in left}


def test_one_flag_replaces_one_deployment_and_touches_no_other(lab: Lab) -> None:
    write(lab, FLEET)
    lab.cli("apply", code=0)
    write(lab, FLEET, coder=FLEET["coder"] + ANOTHER)
    found = differs(lab)
    assert {name for name, one in found.items() if one["action"] != "none"} == {"coder"}
    assert found["coder"]["why"] == ["args.max-num-seqs unset -> 4"]
    starts = lab.starts()
    lab.cli("apply", code=0)
    assert {node for node, name in starts.keys() ^ lab.starts().keys()} == {"node3"}
    assert not lab.json("apply")["changed"]


def test_only_what_an_apply_started_ends_when_the_file_no_longer_has_it(lab: Lab) -> None:
    lab.deploy("solo", "--name", "mine", "--limit", "node3")
    write(lab, {name: FLEET[name] for name in ("chat", "embed")})
    lab.cli("apply", code=0)
    write(lab, {"chat": FLEET["chat"]})
    found = lab.json("diff", "--exit-code", code=3)
    assert [(one["name"], one["nodes"], one["why"]) for one in found["ends"]] == [
        ("embed", ["node4"], "not in the file")
    ]
    assert [one["name"] for one in found["strays"]] == ["mine"]
    lab.cli("apply", code=0)
    assert lab.state() == {"chat": "serving", "mine": "serving", "embed": "stopped"}
    assert not lab.json("diff", "--exit-code")["changed"]


def test_what_was_deployed_by_hand_joins_the_fleet_by_its_name_without_a_restart(lab: Lab) -> None:
    lab.deploy("solo", "--name", "coder", "--limit", "node3")
    starts = lab.starts()
    write(lab, {name: FLEET[name] for name in ("coder", "embed")})
    assert differs(lab)["coder"]["action"] == "none"
    lab.cli("apply", code=0)
    assert starts.items() <= lab.starts().items()


def test_a_deployment_moves_to_nodes_that_are_free_before_its_old_ones_stop(lab: Lab) -> None:
    write(lab, {"coder": FLEET["coder"]})
    lab.cli("apply", code=0)
    write(lab, {"coder": FLEET["coder"].replace("node3", "node1")})
    assert (differs(lab)["coder"]["action"], differs(lab)["coder"]["was"]) == ("move", [["node3"]])
    lab.mark()
    lab.cli("apply", code=0)
    sent = [(one.node, " ".join(one.shown.split()[:2])) for one in lab.changed()]
    assert sent.index(("node1", "docker run")) < sent.index(("node3", "@container stop"))
    assert {node for node, _ in lab.running()} == {"node1"}


def test_two_deployments_exchange_their_nodes(lab: Lab) -> None:
    write(lab, {"a": FLEET["coder"], "b": FLEET["coder"].replace("node3", "node1") + ANOTHER})
    lab.cli("apply", code=0)
    write(lab, {"a": FLEET["coder"].replace("node3", "node1"), "b": FLEET["coder"] + ANOTHER})
    lab.cli("apply", code=0)
    assert {(node, name.split("-")[1]) for node, name in lab.running()} == {("node1", "a"), ("node3", "b")}
    assert not lab.json("apply")["changed"]


def test_copies_behind_a_proxy_are_replaced_one_after_the_other(lab: Lab) -> None:
    twice = {"both": f"recipe: {GPT}, replicas: 2, nodes: [node1, node2]"}
    write(lab, twice | {"coder": FLEET["coder"]})
    lab.cli("apply", code=0)
    write(lab, {"both": twice["both"] + ANOTHER, "coder": FLEET["coder"]})
    assert differs(lab)["both"]["in_turns"]
    lab.mark()
    lab.cli("apply", code=0)
    sent = [(one.node, " ".join(one.shown.split()[:2])) for one in lab.changed()]
    verbs = [what for _, what in sent if what in ("@container stop", "docker run")]
    assert verbs == ["@container stop", "docker run"] * 3


def test_a_failure_brings_back_all_that_served(lab: Lab) -> None:
    write(lab, FLEET)
    lab.cli("apply", code=0)
    before = lab.running()
    changed = {name: FLEET[name] + ANOTHER for name in ("chat", "coder")} | {"tiny": FLEET["tiny"]}
    write(lab, changed)
    lab.world.boot(BootRule.flag("ray-worker", EngineBoot(looks=3)), BootRule.flag("4", EngineBoot(crashes=True)))
    ended = lab.cli("apply", code=5)
    assert "What served before serves again" in ended.err
    assert lab.running() == before
    assert lab.state() == dict.fromkeys(FLEET, "serving")


@pytest.mark.parametrize("at", range(1, 90))
def test_killed_after_any_command_the_next_apply_reaches_the_file(lab: Lab, at: int) -> None:
    write(lab, FLEET)
    lab.cli("apply", code=0)
    changed = {"coder": FLEET["coder"] + ANOTHER, "tiny": FLEET["tiny"].replace("0.2", "0.3"), "more": FLEET["embed"]}
    write(lab, {"chat": FLEET["chat"]} | changed)
    if not lab.killed(at, "apply"):
        pytest.skip("it sends fewer commands")
    lab.cli("apply", code=0)
    assert lab.state() | {"embed": "stopped"} == dict.fromkeys(("chat", *changed), "serving") | {"embed": "stopped"}
    assert not lab.json("diff", "--exit-code")["changed"]
    assert not lab.json("status")["cut_off"]


def test_a_node_that_is_away_is_refused_and_diff_tells_what_would_move(lab: Lab) -> None:
    write(lab, {"coder": f"recipe: {GPT}"})
    lab.cli("apply", code=0)
    ((node, _),) = lab.running()
    lab.world.lose(node)
    assert "--limit" in lab.cli("apply", code=4).err
    found = lab.json("diff", code=4)
    assert found["deployments"][0]["copies"] != [[node]]
    others = ",".join(name for name in lab.names if name != node)
    lab.cli("apply", "--limit", others, code=0)
    lab.world.heal(node)
    lab.cli("apply", code=0)
    assert len(lab.running()) == 1


def test_apply_keeps_to_the_plan_that_diff_showed(lab: Lab) -> None:
    write(lab, FLEET)
    expected = lab.json("diff")["id"]
    write(lab, FLEET, coder=FLEET["coder"] + ANOTHER)
    assert lab.cli("apply", "--expect", expected, code=3)
    assert lab.running() == set()
    write(lab, FLEET)
    lab.cli("apply", "--expect", expected, code=0)


def test_one_port_for_two_on_a_node_is_refused_with_both_names(lab: Lab) -> None:
    write(lab, FLEET, embed=FLEET["embed"] + ", port: 8100", tiny=FLEET["tiny"] + ", port: 8100")
    ended = lab.cli("apply", code=3)
    assert "tiny: " in ended.err
    assert "8100" in ended.err
    assert lab.running() == set()


def test_what_serves_becomes_a_file_that_changes_nothing(lab: Lab) -> None:
    (lab.work / "own.yml").write_text(f"extends: {GPT}\nargs: {{max-num-seqs: 3}}\n")
    lab.deploy("cluster", "--name", "chat", "--limit", "node1,node2", "--set", "args.max-model-len=8192")
    lab.deploy("solo", "--recipe", "own.yml", "--limit", "node3", "--no-api-key", "--port", "8100")
    small = ("--allow", "memory-fits", "--set", "args.gpu-memory-utilization=0.2")
    for name in ("one", "two"):
        lab.deploy(
            "solo",
            "--name",
            name,
            "--limit",
            "node4",
            "--alongside",
            *small,
            "--set",
            "env.TINY=yes",
            "--",
            "--seed",
            "7",
        )
    starts = lab.starts()
    assert "own.yml" in lab.cli("init", "--fleet", code=0).out + (lab.work / "fleet.yml").read_text()
    assert not lab.json("diff", "--exit-code")["changed"]
    assert not lab.json("apply")["changed"]
    assert lab.starts() == starts
    assert "already exists" in lab.cli("init", "--fleet", code=2).err
    assert "no addresses" in lab.cli("init", "--fleet", "192.0.2.9", code=2).err


def test_without_anything_that_serves_no_file_is_written(lab: Lab) -> None:
    assert "nothing serves" in lab.cli("init", "--fleet", code=3).err
    assert not (lab.work / "fleet.yml").exists()
