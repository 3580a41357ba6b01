"""The key that `sparkops key` prints is the one that all that serves was given, whichever send fails."""

import contextlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkops.testing import Crash, Trouble
from sparkops.testing.engine import SimulatedContainer
from support.world import Lab

QWEN = "qwen3-next-80b-a3b-instruct-fp8"
GPT = "openai-gpt-oss-120b"
HALF = ("--set", "args.gpu-memory-utilization=0.4", "--allow", "memory-fits")
DEPLOY = ("deploy", "--topology", "2x-solo")
CHANGES: dict[str, tuple[str, ...]] = {
    "rotated": ("key", "rotate"),
    "another": DEPLOY,
    "switched": (*DEPLOY, "--recipe", QWEN),
}


def serving(lab: Lab) -> list[tuple[SimulatedContainer, dict[str, str]]]:
    """What runs and asks for a key, with the files of its node."""
    found = [(one, node.files) for node in lab.world.nodes.values() for one in node.engine.listed()]
    return [(one, files) for one, files in found if one.running and one.key_file]


def keys(lab: Lab) -> set[str | None]:
    """What is in force."""
    return {one.key for one, _ in serving(lab)}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["interrupt", "lost-unapplied", "lost-applied"])
def test_whatever_interrupts_a_change_of_the_key_the_file_says_what_is_in_force(
    tmp_path: Path, change: str, kind: str
) -> None:
    env = {} if change == "rotated" else {"SPARKOPS_API_KEY": "sk-another"}
    for at in range(1, 45):
        lab = Lab(tmp_path / str(at))
        lab.deploy("2x-solo")
        (old,) = keys(lab)
        had = {one.id for one, _ in serving(lab)}
        lab.anew(seed=at, troubles=[Trouble(kind, at, 30.0)])  # type: ignore[arg-type]
        ran = lab.cli(*CHANGES[change], **env)
        assert all(one.key == files[one.key_file or ""] for one, files in serving(lab)), at
        if not ran.code or kind != "interrupt":
            continue
        if lab.was_deployed(at):
            assert "is deployed and serves" in ran.err, "nothing is undone any more"
            assert keys(lab) == {"sk-another"}, at
        else:
            assert keys(lab) == {old}, at
            assert {one.id for one, _ in serving(lab)} == had, at


@pytest.mark.parametrize("at", range(1, 30, 2))
def test_a_change_of_the_key_that_is_killed_is_mended_by_what_status_prints(lab: Lab, at: int) -> None:
    lab.deploy("2x-solo")
    lab.killed(at, "key", "rotate", seed=at)
    for _ in range(3):
        shown = lab.cli("status", "--json").document
        steps = [one["next"] for one in (*shown["deployments"], *shown["warnings"]) if one["next"]]
        if not steps:
            break
        lab.cli(*shlex.split(steps[0].split("`")[1])[3:], code=0)
    assert lab.state() == {GPT: "serving"}
    assert {str(key).strip() for key in keys(lab)} == {lab.key()}
    lab.cli("restart", GPT, code=0)
    assert lab.json("status")["cut_off"] == [], "settled by another key, and by a restart if there was nothing to mend"


@pytest.mark.parametrize("at", range(1, 25))
@pytest.mark.parametrize("words", [("key", "rotate", "--deployment", "a"), ("restart", "a")])
def test_what_a_killed_change_of_the_key_or_a_killed_restart_stopped_starts_when_it_is_run_again(
    lab: Lab, words: tuple[str, ...], at: int
) -> None:
    lab.deploy("solo", "--name", "a", "--limit", "node1")
    lab.deploy("solo", "--name", "b", "--limit", "node2")
    lab.killed(at, *words, seed=at)
    lab.anew()
    lab.cli(*words, code=0)
    assert lab.state() == {"a": "serving", "b": "serving"}
    assert lab.json("status", "--strict")["cut_off"] == []


@pytest.mark.parametrize("words", [("key", "rotate"), ("restart",)])
def test_a_killed_restart_is_found_again_beside_what_an_earlier_deploy_replaced(
    lab: Lab, words: tuple[str, ...]
) -> None:
    lab.deploy("solo", "--name", "old", "--limit", "node1")
    lab.deploy("solo", "--name", "a", "--limit", "node1")
    assert any(lab.killed(at, *words) and lab.state()["a"] == "stopped" for at in range(3, 9))
    lab.cli(*words, code=0)
    assert lab.state()["a"] == "serving"


ROTATE = ("key", "rotate", "--deployment", "a")


def half_rotated(lab: Lab) -> None:
    """Two deployments with one key, both stopped by a rotation that was killed then."""
    lab.deploy("solo", "--name", "a", "--limit", "node1", *HALF)
    lab.deploy("solo", "--name", "b", "--limit", "node1", "--alongside", *HALF)
    assert any(lab.killed(at, *ROTATE) and {*lab.state().values()} == {"stopped"} for at in range(4, 10))


def test_a_rotation_of_two_is_not_over_once_one_of_them_starts(lab: Lab) -> None:
    half_rotated(lab)
    lab.cli("restart", "a", code=0)
    assert lab.json("status", code=None)["cut_off"], "b is still stopped"
    lab.cli(*ROTATE, code=0)
    assert lab.state() == {"a": "serving", "b": "serving"}
    assert lab.json("status", "--strict")["cut_off"] == []


def test_one_key_for_copies_and_a_neighbour_changes_copy_by_copy(lab: Lab) -> None:
    lab.deploy("2x-solo", *HALF)
    lab.deploy("solo", "--name", "side", "--limit", "node2", "--alongside", *HALF)
    lab.mark()
    rotated = lab.cli("key", "rotate", "--deployment", GPT, code=0)
    assert [one.node for one in lab.changed() if one.shown.startswith("@container stop")] == ["node2"] * 2 + [
        "node1"
    ] * 2
    assert f"restarts {GPT} " in rotated.err
    assert "its servers one after the other" in rotated.err
    assert "restarts side " in rotated.err
    assert {str(key).strip() for key in keys(lab)} == {lab.json("key", "--deployment", GPT)["key"]}


@pytest.mark.parametrize("at", range(1, 30, 2))
def test_a_change_of_the_key_that_is_killed_is_mended_by_the_next_deploy(lab: Lab, at: int) -> None:
    lab.deploy("2x-solo")
    lab.killed(at, "key", "rotate", seed=at)
    lab.deploy("2x-solo")
    assert lab.state() == {GPT: "serving"}
    files = {text for node in lab.world.nodes.values() for path, text in node.files.items() if path.endswith("/key")}
    assert keys(lab) == files
    assert {str(key).strip() for key in keys(lab)} == {lab.key()}


def key_files(lab: Lab) -> dict[str, str]:
    return {name: node.files[f"{node.state_dir}/key"] for name, node in lab.world.nodes.items()}


def test_a_rotation_leaves_the_old_key_on_no_node_where_nothing_uses_it(lab: Lab) -> None:
    lab.deploy("2x-solo")
    (old,) = keys(lab)
    lab.deploy("solo", "--limit", "node2")
    lab.cli("key", "rotate", code=0)
    assert len({*key_files(lab).values()}) == 1
    assert old not in key_files(lab).values()
    lab.deploy("2x-solo")
    assert keys(lab) == {*key_files(lab).values()} == {lab.key()}


def test_a_rotation_names_what_may_still_take_the_old_key_on_a_node_that_left_the_inventory(
    lab_of: Callable[[int], Lab],
) -> None:
    lab = lab_of(3)
    lab.deploy("2x-solo", "--limit", "node1,node2")
    hosts = json.loads(lab.inventory.read_text())["all"]["hosts"]
    lab.inventory.write_text(json.dumps({"all": {"hosts": {name: hosts[name] for name in ("node1", "node3")}}}))
    lab.deploy("2x-solo")
    rotated = lab.json("key", "rotate")
    (told,) = rotated["unreachable"].items()
    assert told[0] == "192.0.2.2"
    assert "may still run" in told[1]


def test_what_makes_way_for_another_key_is_told_before(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1", "--name", "a")
    lab.deploy("solo", "--limit", "node2", "--name", "b")
    told = lab.json("plan", "--topology", "2x-solo")["impact"]["clients"]
    assert [text for text in told if "key changes" in text] == [
        "b: the API key changes, also for a rollback to it; print the new one: `sparkops key`"
    ]
    same = lab.json("plan", "--topology", "cluster")["impact"]["clients"]
    assert [text.split(":")[0] for text in same if "key changes" in text] == ["b"]


def unlike(lab: Lab) -> None:
    """A stopped deployment, whose nodes have different keys."""
    lab.deploy("2x-solo")
    lab.json("stop")
    lab.node("node2").files[f"{lab.node('node2').state_dir}/key"] = "sk-another"


def test_a_start_with_keys_that_differ_needs_one_first(lab: Lab) -> None:
    unlike(lab)
    error = lab.json("start", code=3)["error"]
    assert "the API keys on node1 and node2 differ" in error["message"]
    assert f"key rotate --deployment {GPT}`" in error["hint"]
    lab.cli("key", "rotate", "--deployment", GPT, code=0)
    lab.json("start")
    assert lab.state() == {GPT: "serving"}


def test_a_rollback_to_keys_that_differ_says_so(lab: Lab) -> None:
    unlike(lab)
    assert "the API keys on node1 and node2 differ; give them one key:" in lab.cli("rollback", code=0).err


def test_what_was_stopped_on_purpose_after_a_killed_rotation_stays_stopped(lab: Lab) -> None:
    half_rotated(lab)
    lab.cli("restart", "a", code=0)
    lab.cli("stop", "a", code=0)
    lab.cli("restart", "a", "--check", code=3)
    assert lab.json("key", "rotate", "--deployment", "b")["restarted"] == ["b"]
    assert lab.state() == {"a": "stopped", "b": "serving"}


@pytest.mark.parametrize("at", range(3, 24))
def test_a_rotation_to_a_given_key_that_was_killed_is_finished_by_the_same_command(lab: Lab, at: int) -> None:
    given = {"SPARKOPS_API_KEY": "sk-given"}
    lab.deploy("2x-solo")
    served = lab.running()
    lab.anew(seed=at, troubles=[Trouble("crash-after", at)])
    with contextlib.suppress(Crash):
        lab.cli("key", "rotate", **given)
    lab.anew()
    lab.cli("key", "rotate", code=0, **given)
    assert lab.running() == served
    assert keys(lab) == {"sk-given"}


def test_a_rotation_that_only_starts_what_was_stopped_does_not_claim_another_key(lab: Lab) -> None:
    lab.deploy("solo", "--name", "a", "--limit", "node1")
    assert any(lab.killed(at, *ROTATE) and lab.state()["a"] == "stopped" for at in range(6, 10))
    (given,) = {node.files[f"{node.state_dir}/key"] for name, node in lab.world.nodes.items() if name == "node1"}
    ran = lab.cli(*ROTATE, code=0, SPARKOPS_API_KEY=given.strip())
    assert ran.out.strip() == "This is the key already; started again: a."
    assert lab.state() == {"a": "serving"}


def test_a_proxy_changes_its_key_after_all_its_servers_on_other_nodes(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(3)
    lab.deploy("2x-solo", "--name", "a", "--limit", "node1,node2", *HALF)
    lab.deploy("2x-solo", "--name", "b", "--limit", "node2,node3", "--alongside", *HALF)
    lab.cli("key", "rotate", "--deployment", "a", code=0)
    lab.mark()
    lab.cli("key", "rotate", "--deployment", "a", code=0)
    stopped = [one.node for one in lab.changed() if one.shown.startswith("@container stop")]
    assert [*dict.fromkeys(stopped)] == ["node3", "node2", "node1"]


def test_a_deploy_in_place_of_one_whose_key_cannot_be_read_says_that_the_key_may_change(tmp_path: Path) -> None:
    lab = Lab(tmp_path, nodes=3)
    lab.deploy("cluster", "--limit", "node1,node3")
    lab.world.lose("node1")
    words = ("--topology", "solo", "--limit", "node3")
    assert "the API key may change, as that of node1 cannot be read now" in lab.cli("plan", *words).out
    assert "the API key may change" in lab.cli("deploy", *words, code=0).err
    assert "key may change" not in lab.cli("plan", *words, "--no-api-key").out
