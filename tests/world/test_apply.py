"""`diff` and `apply`: the nodes become what a fleet's file says, and stay so."""

import os
import subprocess
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


def write(lab: Lab, fleet: dict[str, str], **further: str) -> None:
    lines = [f"  {name}: {{{text}}}" for name, text in fleet.items()]
    more = [f"{name}: {{{text}}}" for name, text in further.items()]
    (lab.work / "fleet.yml").write_text("\n".join(["deployments:", *lines, *more, ""]))


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
    write(lab, FLEET | {"coder": FLEET["coder"] + ANOTHER})
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


@pytest.mark.parametrize("at", range(1, 60))
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
    write(lab, FLEET | {"coder": FLEET["coder"] + ANOTHER})
    assert lab.cli("apply", "--expect", expected, code=3)
    assert lab.running() == set()
    write(lab, FLEET)
    lab.cli("apply", "--expect", expected, code=0)


def test_one_port_for_two_on_a_node_is_refused_with_both_names(lab: Lab) -> None:
    write(lab, {name: FLEET[name] + ", port: 8100" for name in ("embed", "tiny")})
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
    assert "takes only --output and --force" in lab.cli("init", "--fleet", "192.0.2.9", code=2).err


def test_without_anything_that_serves_no_file_is_written(lab: Lab) -> None:
    assert "nothing serves" in lab.cli("init", "--fleet", code=3).err
    assert not (lab.work / "fleet.yml").exists()


def git(lab: Lab, *words: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    done = subprocess.run(
        ["git", "-C", lab.work, *words], env=os.environ | who, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def committed(lab: Lab, fleet: dict[str, str]) -> str:
    write(lab, fleet)
    git(lab, "init", "--quiet")
    git(lab, "add", "--all")
    git(lab, "commit", "--quiet", "--message", "the fleet")
    return git(lab, "rev-parse", "HEAD")


def test_cron_applies_a_commit_once_and_history_names_it(lab: Lab) -> None:
    first = committed(lab, {"coder": FLEET["coder"]})
    assert lab.json("apply", "--if-changed")["commit"] == first
    lab.mark()
    assert not lab.json("apply", "--if-changed")["changed"]
    assert lab.changed() == []
    assert [run["commit"] for run in lab.json("history")["runs"]] == [first]
    second = committed(lab, {"coder": FLEET["coder"] + ANOTHER})
    assert lab.json("apply", "--if-changed")["changed"]
    assert [run["commit"] for run in lab.json("history")["runs"]] == [first, second]


def test_cron_does_not_try_again_a_commit_that_failed(lab: Lab) -> None:
    committed(lab, {"coder": FLEET["coder"]})
    lab.cli("apply", "--if-changed", code=0)
    committed(lab, {"coder": FLEET["coder"] + ANOTHER})
    lab.world.boot(BootRule.flag("4", EngineBoot(crashes=True)))
    lab.cli("apply", "--if-changed", code=5)
    lab.mark()
    assert "without --if-changed" in lab.cli("apply", "--if-changed", code=5).err
    assert lab.changed() == []


def test_without_a_commit_cron_applies_nothing(lab: Lab) -> None:
    write(lab, {"coder": FLEET["coder"]})
    assert "git" in lab.cli("apply", "--if-changed", code=2).err
    committed(lab, {"coder": FLEET["coder"]})
    write(lab, {"coder": FLEET["coder"] + ANOTHER})
    assert "commit all changes" in lab.cli("apply", "--if-changed", code=2).err


def test_the_schedule_of_the_file_is_set_where_it_differs(lab: Lab) -> None:
    lab.cli("cache", "schedule", "--every", "30m", "--limit", "node1", code=0)
    write(lab, {"coder": FLEET["coder"]}, caches="every: 30m")
    assert lab.json("diff")["caches"] == ["node2", "node3", "node4"]
    assert lab.json("apply")["caches"] == ["node2", "node3", "node4"]
    assert not lab.json("apply")["changed"]
    assert {one["every_seconds"] for one in lab.json("cache", "status")["nodes"]} == {1800}
    write(lab, {"coder": FLEET["coder"]}, caches="every: 7m")
    assert "fleet.yml:3: caches.every" in lab.cli("apply", code=2).err


def warned(lab: Lab, *words: str, code: int = 0) -> dict[str, str]:
    return {one["id"]: one["text"] for one in lab.json("status", *words, code=code)["warnings"]}


def test_status_tells_how_the_nodes_differ_from_the_file_once_it_was_applied(lab: Lab) -> None:
    write(lab, {name: FLEET[name] for name in ("coder", "embed")})
    assert not warned(lab, code=0).keys() & {"fleet-missing", "fleet-extra"}
    lab.cli("apply", code=0)
    assert not {one for one in warned(lab) if one.startswith("fleet")}
    assert "fleet: what served was applied from its file" in lab.cli("stop", "coder", code=0).err
    write(lab, {"coder": FLEET["coder"]})
    found = warned(lab)
    assert found["fleet-missing"] == "coder of fleet.yml does not run"
    assert found["fleet-extra"] == "embed is no longer in fleet.yml"
    (lab.work / "fleet.yml").write_text("deployments: [1]\n")
    assert "fleet-file" in warned(lab)


def test_with_a_node_away_status_tells_what_apply_would_move(lab: Lab) -> None:
    write(lab, {"coder": f"recipe: {GPT}", "embed": FLEET["embed"]})
    lab.cli("apply", code=0)
    lost = differs(lab)["coder"]["copies"][0][0]
    lab.world.lose(lost)
    told = lab.json("status", code=4)["warnings"]
    moves = [one for one in told if one["id"] == "fleet-moves"]
    assert [one["text"].startswith(f"without {lost}, coder would serve on ") for one in moves] == [True]


@pytest.mark.parametrize("verb", ["deploy --topology solo --limit node3 --name coder", "rollback"])
def test_a_change_by_hand_says_that_the_file_differs_now(lab: Lab, verb: str) -> None:
    lab.deploy("solo", "--name", "before", "--limit", "node3")
    lab.cli("stop", code=0)
    write(lab, {"coder": FLEET["coder"] + ANOTHER})
    lab.cli("apply", code=0)
    write(lab, {"coder": FLEET["coder"] + ANOTHER.replace("4", "5")})
    lab.cli("apply", code=0)
    assert "fleet: what served was applied from its file" in lab.cli(*verb.split(), code=0).err
    assert differs(lab)["coder"]["action"] == "change"


def test_start_starts_those_on_one_node_one_after_the_other(lab: Lab) -> None:
    write(lab, FLEET)
    lab.cli("apply", code=0)
    lab.cli("stop", code=0)
    lab.mark()
    lab.cli("start", code=0)
    sent = [" ".join(one.shown.split()[:2]) for one in lab.received() if one.node == "node4"]
    starts = [at for at, what in enumerate(sent) if what == "@container start"]
    assert len(starts) == 2
    assert "@serving --api" in sent[starts[0] : starts[1]], "the first one answers before the second starts"
    assert lab.state() == dict.fromkeys(FLEET, "serving")


def test_what_start_has_started_serves_on_if_another_one_on_its_node_fails(lab: Lab) -> None:
    write(lab, {name: FLEET[name] for name in ("embed", "tiny")})
    lab.cli("apply", code=0)
    lab.cli("stop", code=0)
    lab.world.boot(BootRule.flag("8001", EngineBoot(crashes=True)))
    lab.cli("start", code=5)
    assert lab.state() == {"embed": "serving", "tiny": "stopped"}


def test_diff_tells_what_checks_say_against_a_change_and_nothing_of_what_stays(lab: Lab) -> None:
    tight = f"recipe: {QWEN}, nodes: [node2], set: {{args.gpu-memory-utilization: 0.93}}"
    write(lab, {"coder": FLEET["coder"], "tight": tight})
    assert [one["id"] for one in differs(lab)["tight"]["warnings"]] == ["memory-fits"]
    assert "warning: node2: the engine leaves " in lab.cli("diff", code=0).out
    lab.cli("apply", code=0)
    assert differs(lab)["tight"]["warnings"] == []
