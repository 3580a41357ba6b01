"""What a check leaves alone and what no transcript shows of plays; the rest is typed in `transcripts/books.txt`."""

import shutil
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from sparkops.core.plan import Result, Word
from sparkops.testing import COMMANDS, SimulatedNode, Trouble
from sparkops.testing.sparks import sparks
from sparkops.verbs.play.run import SELECT
from support.world import Lab

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
- {run: preflight, with: {fix: true, yes: true}}
- {run: fabric}
"""


def test_a_check_of_everything_leaves_the_nodes_as_they_are_and_takes_no_lock(lab: Lab, written: Written) -> None:
    lab.deploy("cluster")
    lab.fault("node1", "page-cache-full")
    before, locks = held(lab), lab.world.locks
    lab.mark()
    checked = lab.json("play", written(EVERYTHING), "--check")
    assert checked["recap"][0]["changed"] >= 4
    assert [one.get("verb") for one in checked["plays"]].count("plan") == 1
    assert [one.get("decided") for one in checked["plays"][-2:]] == ["in the run", None]
    assert (lab.changed(), lab.world.locks) == ([], locks)
    assert held(lab) == before


def test_a_topology_without_enough_nodes_is_refused_before_the_first_play(lab: Lab, written: Written) -> None:
    book = written("- steps: [{reboot: true}]\n- {run: deploy, with: {topology: '{{ wish }}'}}\n")
    for wish, limit in (("9x-solo", "all"), ("cluster", "node1")):
        error = lab.json("play", book, "-e", f"wish={wish}", "--limit", limit, code=2)["error"]
        assert f"but {1 if limit == 'node1' else 2}" in error["message"]
        assert str(book) in error["message"]
    assert lab.received() == []


def test_a_play_of_a_verb_that_needs_no_node_may_have_a_topology(lab: Lab, written: Written) -> None:
    book = written("- {run: recipe show, with: {args: openai-gpt-oss-120b, topology: cluster}}\n")
    assert lab.json("play", book, "--limit", "node1")["ok"] is True


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


REBOOT = """
- name: one after the other
  serial: 1
  steps:
    - reboot: true
      timeout: 700
    - {command: touch rebooted}
"""


def boots(lab: Lab) -> list[str]:
    return [node.boot for node in lab.world.nodes.values()]


def test_nodes_reboot_one_after_the_other_under_the_lock_and_a_check_reboots_none(lab: Lab, written: Written) -> None:
    book, before = written(REBOOT), boots(lab)
    lab.json("play", book, "--check")
    assert boots(lab) == before
    seen: list[int] = []

    def look() -> None:
        seen.append(sum(now != was for now, was in zip(boots(lab), before, strict=True)))

    lab.anew(troubles=[Trouble("meets", at, then=look) for at in range(1, 60)])
    assert counts(lab.json("play", book)) == {"node1": (0, 2, 0, 0), "node2": (0, 2, 0, 0)}
    assert sorted(set(seen)) == [0, 1, 2]
    sent = [(one.node, one.shown.split()[0]) for one in lab.changed()]
    assert sent == [("node1", "systemd-run"), ("node1", "touch"), ("node2", "systemd-run"), ("node2", "touch")]


@pytest.mark.parametrize("away", [600.0, 900.0])
def test_a_reboot_may_take_its_timeout_and_a_node_that_stays_away_ends_its_steps(
    lab: Lab, written: Written, away: float
) -> None:
    book = written(REBOOT)
    lab.world.later(3.0, lambda: lab.world.lose("node1", away))
    ran = lab.cli("play", book, "--json")
    back = away < 700
    assert ran.code == (0 if back else 4)
    rebooted = {name for name, node in lab.world.nodes.items() if "/home/nvidia/rebooted" in node.files}
    assert rebooted == ({"node1", "node2"} if back else set())


def test_a_login_that_is_refused_while_a_node_boots_is_tried_again(lab: Lab, written: Written) -> None:
    lab.world.later(3.0, lambda: lab.world.shut("node1", "System is booting up"))
    lab.world.later(60.0, lambda: lab.world.heal("node1"))
    assert counts(lab.json("play", written(REBOOT)))["node1"] == (0, 2, 0, 0)


QWEN = ("--recipe", "qwen3-next-80b-a3b-instruct-fp8")
SERVED: dict[str, list[tuple[str, ...]]] = {
    "a cluster": [("cluster",)],
    "one server on the node that stays, after a cluster": [("cluster",), ("solo", "--limit", "node1")],
    "one server on the node that leaves, after a cluster": [("cluster",), ("solo", "--limit", "node2")],
    "a server on each": [("solo", "--limit", "node1"), ("solo", *QWEN, "--limit", "node2")],
    "two servers behind a proxy": [("2x-solo",)],
}


@pytest.mark.parametrize("served", list(SERVED))
def test_after_maintenance_of_a_node_all_serves_that_served_before(lab: Lab, served: str) -> None:
    for wish in SERVED[served]:
        lab.deploy(*wish)
    before, containers = lab.running(), lab.containers()
    extra = ("-e", "stays=node1", "-e", "leaves=node2", "-e", "recipe=openai-gpt-oss-120b")
    told = lab.cli("play", "maintenance", *extra, code=0)
    assert "node2 serves nothing now" in told.told
    assert lab.running() == before
    assert lab.containers() <= containers


def test_maintenance_of_a_node_needs_no_other_node_than_the_two(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(3)
    lab.deploy("cluster", "--limit", "node1,node2")
    before = lab.running()
    lab.world.lose("node3")
    extra = ("-e", "stays=node1", "-e", "leaves=node2", "-e", "recipe=openai-gpt-oss-120b")
    lab.cli("play", "maintenance", *extra, code=0)
    assert lab.running() == before


def test_what_a_play_may_not_deploy_is_told_with_its_nodes_and_where_its_options_are_written(lab: Lab) -> None:
    extra = ("-e", "stays=node1", "-e", "leaves=node2", "-e", "recipe=nemotron-3-nano-nvfp4")
    hint = lab.json("play", "maintenance", *extra, code=3)["error"]["hint"]
    assert "--limit node1 model fetch nvidia/" in hint
    assert "--allow, is written into `with` of this play (playbooks/maintenance.yml:9)" in hint


def test_a_node_that_does_not_come_back_from_its_maintenance_leaves_the_stand_in_serving(
    lab: Lab, tmp_path: Path
) -> None:
    """When it is back, the same playbook goes on."""
    lab.deploy("cluster")
    before, containers = lab.running(), lab.containers()
    extra = ("-e", "stays=node1", "-e", "leaves=node2", "-e", "recipe=openai-gpt-oss-120b")
    other = Lab(tmp_path / "one that comes back")
    other.deploy("cluster")
    other.anew()
    other.cli("play", "maintenance", *extra, code=0)
    reboots = [at for at, one in enumerate(other.world.sent, 1) if "reboot" in str(one.command.words)]
    lab.meets(reboots[0] + 1, lambda _: lab.world.lose("node2"))
    lab.cli("play", "maintenance", *extra, code=4)
    assert lab.json("status", "stand-in")["deployments"][0]["state"] == "serving"
    lab.world.heal("node2")
    lab.cli("play", "maintenance", *extra, code=0)
    assert lab.running() == before
    assert lab.containers() <= containers


def test_a_play_that_could_mean_several_deployments_says_how_to_select_one(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    lab.deploy("solo", *QWEN, "--limit", "node2")
    assert lab.json("play", "rolling-restart", code=2)["error"]["hint"] == SELECT
    lab.cli("play", "rolling-restart", "--limit", "node2", code=0)


@pytest.mark.parametrize(("hosts", "fails", "left"), [("node1,node2", "node1", "node2"), ("!node3", "node2", "node4")])
def test_after_a_batch_that_failed_the_rest_can_be_run_with_the_failed_nodes(
    tmp_path: Path, written: Written, hosts: str, fails: str, left: str
) -> None:
    """The plays that did not run are said, and `--limit @last-failed` has their nodes, too."""
    bad = {fails}

    def picky(node: SimulatedNode, _words: tuple[Word, ...], _stdin: str) -> Result:
        return Result("exited", 1 if node.name in bad else 0, "")

    lab = Lab(tmp_path, world=sparks(4, prefix="node", commands={**COMMANDS, "picky": picky}))
    book = written(f"""
- {{name: one, hosts: "{hosts}", serial: 1, steps: [{{command: [picky]}}]}}
- {{name: two, hosts: "node3", steps: [{{command: ["true"]}}]}}
""")
    ended = lab.cli("play", book, code=5)
    assert f"it did not run on {left}" in ended.err
    assert "play 'two' did not run" in ended.err
    bad.clear()
    again = lab.json("play", book, "--limit", "@last-failed")
    assert set(counts(again)) == {fails, left, "node3"}
    alone = lab.cli("play", book, "--limit", "node1", code=0)
    assert "has nothing to do: none of its hosts is selected" in alone.err


def test_the_nodes_that_failed_are_those_of_their_inventory(tmp_path: Path, written: Written) -> None:
    """Another fleet may have other machines under the same names, and its plays forget nothing of this one."""
    lab = Lab(tmp_path, world=sparks(prefix="node", commands=COMMANDS))
    bad, good = written("- {hosts: node1, steps: [{command: ['false']}]}\n"), lab.inventory.with_name("good.yml")
    good.write_text("- steps: [{command: ['true']}]\n")
    mine, other = lab.inventory, shutil.copy(lab.inventory, lab.inventory.with_name("other.yml"))
    lab.cli("play", bad, code=5)
    lab.inventory = Path(other)
    assert str(other) in lab.json("play", good, "--limit", "@last-failed", code=2)["error"]["message"]
    lab.cli("play", good, code=0)
    lab.inventory = mine
    assert set(counts(lab.json("play", good, "--limit", "@last-failed"))) == {"node1"}


def test_after_a_kill_all_nodes_of_the_play_count_as_failed(tmp_path: Path, written: Written) -> None:
    lab = Lab(tmp_path, world=sparks(3, prefix="node", commands=COMMANDS))
    book = written("- {name: one, hosts: all, serial: 1, steps: [{command: ['true']}]}")
    lab.cli("play", book, code=0)
    assert lab.killed(2, "play", book, "--limit", "node1,node2")
    assert set(counts(lab.json("play", book, "--limit", "@last-failed", "--check"))) == {"node1", "node2"}
    lab.cli("play", book, "--limit", "@last-failed", code=0)
    assert "no node failed" in lab.cli("play", book, "--limit", "@last-failed", code=2).err


def test_a_command_that_ends_with_a_code_of_its_own_ends_the_play_with_it(lab: Lab, written: Written) -> None:
    error = lab.json("play", written("- {run: status, with: {strict: true}}\n"), code=5)["error"]
    assert error["message"] == "status ended with exit code 5"
    assert error["hint"].endswith("status` says why")


@pytest.mark.parametrize(("hosts", "told"), [("{{ a b }}", "is no name"), ("{{ a }}", "unknown name a")])
def test_a_wrong_variable_in_hosts_is_told(lab: Lab, written: Written, hosts: str, told: str) -> None:
    book = written(f"- {{hosts: '{hosts}', steps: [{{command: ['true']}}]}}\n")
    assert told in lab.json("play", book, code=2)["error"]["message"]


def test_a_playbook_that_reaches_no_node_needs_no_inventory(lab: Lab, written: Written) -> None:
    book = written("- {run: recipe show, with: {args: openai-gpt-oss-120b}}\n")
    ended = lab.cli("play", book, lab=False, code=0, SPARKOPS_INVENTORY=str(lab.inventory.with_name("nowhere.yml")))
    assert "warning" not in ended.err
