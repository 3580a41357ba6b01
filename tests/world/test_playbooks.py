"""Playbooks as whole command lines: the packaged ones, operators' own, and what a check leaves alone; and `run`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from sparkops.core.plan import Result, Word
from sparkops.testing import COMMANDS, SimulatedNode, Trouble
from sparkops.testing.sparks import sparks
from support.world import Lab

RECIPE = "recipe=openai-gpt-oss-120b"
NEXT = "qwen3-next-80b-a3b-instruct-fp8"
Written = Callable[[str], Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a playbook into a path with a space."""
    folder = tmp_path / "my books"
    folder.mkdir()

    def write(text: str) -> Path:
        place = folder / f"own {len(list(folder.iterdir()))}.yml"
        place.write_text(text)
        return place

    return write


@pytest.fixture
def packaged(lab: Lab, written: Written) -> Callable[[str], Path]:
    """Copies a playbook that comes with sparkops."""
    return lambda name: written(lab.json("playbook", "show", name)["text"])


def counts(document: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """By node: how many steps were ok, changed, skipped, failed."""
    return {
        row["node"]: tuple(row[name] for name in ("ok", "changed", "skipped", "failed")) for row in document["recap"]
    }


def held(lab: Lab) -> dict[str, Any]:
    """All that the nodes hold: files, folders, jobs, locks, boots, and the containers by their starts."""
    parts = ("files", "modes", "folders", "lock", "boot")
    nodes = {
        name: (*(deepcopy(getattr(node, part)) for part in parts), set(node.jobs))
        for name, node in lab.world.nodes.items()
    }
    return nodes | {"containers": lab.containers(), "starts": lab.starts()}


def has(lab: Lab, name: str) -> list[str]:
    """The nodes on which this file lies in the user's home."""
    return [node for node in lab.names if f"{lab.node(node).home}/{name}" in lab.node(node).files]


def put(lab: Lab, node: str, name: str) -> None:
    lab.on(node, "touch", name)


EVERYTHING = """
- name: steps
  on_failure: undo
  steps:
    - {command: touch made, undo: rm made, register: made}
    - {command: [sh, -c, "echo 3 > $SPARKOPS_ROOT/proc/sys/vm/drop_caches"], become: true}
    - {copy: {content: x, dest: ~/copied}, unless: test -e /none}
    - {command: docker stop nothing, until: test -e /never, when: made.code == 0, ignore_errors: true}
    - {command: touch once, run_once: true, environment: {A: b}, reads: false}
- {run: cache drop}
- {run: cache schedule, with: {every: 1h}}
- {run: stop}
- {run: deploy, with: {topology: 2x-solo}}
- {run: rollback}
- {run: key rotate}
- {run: cleanup, with: {yes: true}}
"""


def test_a_check_of_everything_leaves_the_nodes_as_they_are_and_takes_no_lock(lab: Lab, written: Written) -> None:
    lab.deploy("cluster")
    before, locks = held(lab), lab.world.locks
    lab.mark()
    checked = lab.json("play", written(EVERYTHING), "--check")
    assert checked["recap"][0]["changed"] >= 4
    assert [one.get("verb") for one in checked["plays"]].count("plan") == 1
    assert (lab.changed(), lab.world.locks) == ([], locks)
    assert held(lab) == before


def test_a_model_is_switched_as_the_check_has_said(lab: Lab, packaged: Callable[[str], Path]) -> None:
    lab.deploy("cluster")
    before = held(lab)
    words = ("play", packaged("switch-model"), "-e", f"recipe={NEXT}", "-e", "topology=2x-solo")
    lab.mark()
    checked = lab.json(*words, "--check")
    assert (lab.changed(), held(lab)) == ([], before)
    assert [one["verb"] for one in checked["plays"]] == ["cache drop", "plan"]
    assert checked["plays"][1]["document"]["changes"]
    played = lab.json(*words)
    assert [one["verb"] for one in played["plays"]] == ["cache drop", "deploy"]
    assert played["plays"][1]["document"]["changes"] == checked["plays"][1]["document"]["changes"]
    assert lab.state()[NEXT] == "serving"


def test_maintenance_reboots_the_node_that_leaves_and_comes_back_to_what_served(
    lab: Lab, packaged: Callable[[str], Path]
) -> None:
    lab.deploy("cluster")
    before = lab.running()
    words = ("-e", "stays=node1", "-e", "leaves=node2", "-e", RECIPE)
    played = lab.json("play", packaged("maintenance"), *words)
    assert counts(played) == {"node1": (0, 0, 2, 0), "node2": (1, 1, 0, 0)}
    assert [lab.node(name).boot_id for name in lab.names] == [0, 1]
    assert lab.running() == before
    assert lab.state() == {"openai-gpt-oss-120b": "serving"}


def test_all_nodes_reboot_and_serve_again_with_the_containers_that_they_had(
    lab: Lab, packaged: Callable[[str], Path]
) -> None:
    lab.deploy("cluster")
    before, began = lab.running(), lab.starts()
    played = lab.json("play", packaged("reboot-all"), "-e", RECIPE, "-e", "topology=cluster")
    assert counts(played) == {"node1": (0, 1, 0, 0), "node2": (0, 1, 0, 0)}
    assert [lab.node(name).boot_id for name in lab.names] == [1, 1]
    assert lab.running() == before
    assert all(lab.starts()[key] > value for key, value in began.items()), "each container was started anew"
    assert lab.state() == {"openai-gpt-oss-120b": "serving"}


def test_a_support_bundle_is_in_the_run_log_without_the_key_and_changes_nothing(
    lab: Lab, packaged: Callable[[str], Path]
) -> None:
    lab.deploy("solo", "--limit", "node1")
    before = held(lab)
    lab.mark()
    document = lab.json("play", packaged("support-bundle"))
    assert (lab.changed(), held(lab)) == ([], before)
    log = Path(document["log"]).read_text(encoding="utf-8")
    assert "MemTotal" in log
    assert lab.key() not in log
    assert {row["failed"] for row in document["recap"]} == {0}


def test_own_steps_between_the_phases_of_a_deploy_undo_it_when_they_fail(lab: Lab, written: Written) -> None:
    lab.deploy("solo", "--limit", "node1")
    before = lab.running()
    text = lab.json("playbook", "show", "deploy")["text"]
    own = '    - {name: smoke test, command: [sh, -c, "test -e ~/good"], reads: true}\n'
    book = written(text.replace("    - phase: settle\n", own + "    - phase: settle\n"))
    words = ("play", book, "-e", "topology=cluster", "-e", RECIPE)
    error = lab.json(*words, code=5)["error"]
    assert error["step"] == "smoke test"
    assert "serves again" in error["hint"]
    assert lab.running() == before
    assert lab.serves()
    for node in lab.names:
        put(lab, node, "good")
    lab.mark()
    assert lab.json(*words, "--check")["recap"]
    assert lab.changed() == []
    lab.json(*words)
    assert {node for node, _ in lab.running()} == {"node1", "node2"}


def test_after_ctrl_c_nothing_follows(tmp_path: Path, written: Written) -> None:
    lab = Lab(tmp_path, world=sparks(prefix="node", troubles=[Trouble("interrupt", 1)]))
    book = written("- steps: [{command: [sleep, '42']}]\n- steps: [{command: [touch, after]}]\n")
    ran = lab.cli("play", book, "--json", code=130)
    assert ran.document["error"]["kind"] == "interrupted"
    assert has(lab, "after") == []


def test_last_failed_are_the_nodes_that_failed_and_a_verb_that_failed_is_repeated_whole(
    lab: Lab, written: Written
) -> None:
    book = written('- steps:\n    - {command: [sh, -c, "test -e ~/ready"], name: is ready}\n')
    put(lab, "node1", "ready")
    assert counts(lab.json("play", book, code=5)) == {"node1": (0, 1, 0, 0), "node2": (0, 0, 0, 1)}
    put(lab, "node2", "ready")
    assert counts(lab.json("play", book, "--limit", "@last-failed")) == {"node2": (0, 1, 0, 0)}
    assert "no node failed" in str(lab.json("play", book, "--limit", "@last-failed", code=2))
    refused = written("- name: Serve\n  run: deploy\n  with: {topology: cluster, recipe: no-such}\n")
    error = lab.json("play", refused, code=2)["error"]
    assert f"{refused}:1: play 'Serve'" in error["message"]
    assert counts(lab.json("play", book, "--limit", "@last-failed")) == {"node1": (0, 1, 0, 0), "node2": (0, 1, 0, 0)}


def test_hosts_that_match_nothing_are_an_error_with_its_place_and_a_limit_that_leaves_none_is_said(
    lab: Lab, written: Written
) -> None:
    book = written("- name: P\n  hosts: nodee1\n  steps: [{command: 'true'}]\n")
    error = lab.json("play", book, code=2)["error"]
    assert f"{book}:1: play 'P': hosts: " in error["message"]
    assert "did you mean node1?" in error["message"]
    book = written("- name: P\n  hosts: node1\n  steps: [{command: 'true'}]\n")
    assert "nothing to do" in lab.cli("play", book, "--limit", "node2", code=0).told


def test_a_node_that_is_away_is_counted_and_the_others_go_on(lab: Lab, written: Written) -> None:
    book = written("- steps: [{command: [touch, been]}]\n- steps: [{command: [touch, again]}]\n")
    lab.world.lose("node1")
    ran = lab.cli("play", book, "--json", code=4)
    rows = {row["node"]: (row["changed"], row["unreachable"]) for row in ran.document["recap"]}
    assert rows == {"node1": (0, 1), "node2": (2, 0)}
    assert list(rows) == lab.names, "in the order of the inventory"
    assert "node1: warning: is left out: " in ran.err.partition("[touch been]")[0]
    assert has(lab, "again") == ["node2"]


def test_a_failure_that_may_pass_is_not_among_the_failures_and_a_check_shows_commands_when_asked(
    lab: Lab, written: Written
) -> None:
    may = "- steps:\n    - {name: may, command: [sh, -c, 'echo no; exit 3'], ignore_errors: true}\n"
    assert "node1: warning: may failed, which it may: exit code 3 no" in lab.cli("play", written(may), code=0).err
    book = written(f"{may}    - {{name: must, command: 'false'}}\n")
    ran = lab.cli("play", book, "--json", code=5)
    assert "no" not in str(ran.document["error"].get("logs")).split()
    assert "    sh -c 'echo no; exit 3'" in lab.cli("play", book, "--check", "-v", code=0).err


def test_a_node_that_goes_away_while_it_is_waited_for_may_come_back(tmp_path: Path, written: Written) -> None:
    def fifth(node: SimulatedNode, _words: tuple[Word, ...], _stdin: str) -> Result:
        asked[node.name] += 1
        return Result("exited", 0 if asked[node.name] >= 5 else 1)

    book = written("- steps: [{command: ['true'], until: fifth, delay: 1, retries: 90}]\n")
    for lost in range(3, 9):
        asked = Counter[str]()
        troubles = [Trouble("lost-applied", lost, away=7)]
        world = sparks(prefix="node", commands={**COMMANDS, "fifth": fifth}, troubles=troubles)
        played = Lab(tmp_path / str(lost), world=world).json("play", book)
        assert counts(played) == {"node1": (0, 1, 0, 0), "node2": (0, 1, 0, 0)}, lost


def test_run_shows_equal_output_together_and_the_rest_by_itself(tmp_path: Path) -> None:
    def odd(node: SimulatedNode, _words: tuple[Word, ...], _stdin: str) -> Result:
        return Result("exited", 3, f"x\ufffdy\n{node.name}\n")

    lab = Lab(tmp_path, world=sparks(prefix="node", commands={**COMMANDS, "odd": odd}))
    assert lab.cli("run", "--", "echo", "a  b", code=0).out.splitlines() == ["node1, node2", "  a  b"]
    said = lab.cli("run", "--", "odd", code=5).out
    assert [said.count(text) for text in ("node1", "node2", "exited 3")] == [2, 2, 2]
    document = lab.json("run", "--timeout", "1", "--", "sleep", "60", code=5)
    assert {one["ended"] for one in document["results"]} == {"timeout"}
