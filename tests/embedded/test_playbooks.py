"""Playbooks on a lab's nodes: the packaged examples, operators' own, and what a check leaves alone."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

RECIPE = "recipe=openai-gpt-oss-120b"
NEXT = "qwen3-next-80b-a3b-instruct-fp8"


@pytest.fixture
def written(lab, tmp_path):
    """Writes a playbook into a path with a space; `packaged` copies one that comes with sparkops."""

    class Books:
        @staticmethod
        def text(text):
            folder = tmp_path / "my books"
            folder.mkdir(exist_ok=True)
            place = folder / f"own {len(os.listdir(folder))}.yml"
            place.write_text(text)
            return place

        @staticmethod
        def packaged(name):
            return Books.text(lab.json("playbook", "show", name)["text"])

    return Books


def counts(document):
    """By node: how many steps were ok, changed, skipped, failed."""
    return {
        row["node"]: tuple(row[name] for name in ("ok", "changed", "skipped", "failed")) for row in document["recap"]
    }


def tree(lab):
    """The nodes' files by when they were written, and their containers; a deploy's own jobs end by themselves."""
    files = {
        (name, str(path.relative_to(lab.node(name)))): path.stat().st_mtime_ns
        for name in lab.names
        for path in lab.node(name, "home").rglob("*")
        if path.is_file() and "jobs" not in path.parts
    }
    shape = ("--no-trunc", "--format", "{{.ID}} {{.State}}")
    return files | {(name, "containers"): lab.on(name, "docker", "ps", "-a", *shape) for name in lab.names}


def differing(before, after):
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


class Client(threading.Thread):
    """New requests through the proxy, one after the other, none of them a stream."""

    def __init__(self, lab, url, model):
        super().__init__(daemon=True)
        self.lab, self.url, self.model, self.key = lab, url, model, lab.key()
        self.codes, self.enough = Counter(), threading.Event()

    def run(self):
        while not self.enough.is_set():
            code, answer = self.lab.ask(self.url, self.key, self.model)
            self.codes[code if code else str(answer)] += 1
            time.sleep(0.05)


def test_a_rolling_restart_loses_no_request_and_its_check_changes_nothing(empty, written):
    lab, book = empty, written.packaged("rolling-restart")
    (endpoint,) = lab.deploy("2x-solo")["endpoints"]
    before, began = tree(lab), lab.starts()
    lab.mark()
    ran = lab.cli("play", book, "--check", "--json", code=0)
    checked = ran.document
    assert "node2: would change: restart and wait until it serves" in ran.err
    assert lab.changed() == [], "the nodes received nothing that changes"
    assert not [one for one in lab.received() if one.run == "lock"]
    assert differing(before, tree(lab)) == set()
    assert lab.starts() == began

    client = Client(lab, endpoint["url"], endpoint["model"])
    client.start()
    played = lab.json("play", book)
    client.enough.set()
    client.join(60)
    assert set(client.codes) == {200}, client.codes
    assert counts(played) == counts(checked) == {"node1": (1, 1, 0, 0), "node2": (1, 1, 0, 0)}
    after = lab.starts()
    assert after.keys() == began.keys()
    assert {key for key, value in after.items() if value != began[key]} == {
        key for key in began if "-server-" in key[1]
    }


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


def everything(lab):
    """All that the nodes hold by size and time, but for what the lab writes when asked, and what serves: see `tree`."""
    moves = {"ssh.jsonl", "said", "jobs", "containers"}
    return tree(lab) | {
        (name, str(path.relative_to(lab.node(name)))): (path.lstat().st_mtime_ns, path.lstat().st_size)
        for name in lab.names
        for path in lab.node(name).rglob("*")
        if path.is_file() and not moves & set(path.parts)
    }


def test_a_check_of_everything_leaves_every_byte_of_the_nodes(empty, written):
    lab, book = empty, written.text(EVERYTHING)
    lab.deploy("cluster")
    before = everything(lab)
    lab.mark()
    checked = lab.json("play", book, "--check")
    assert checked["recap"][0]["changed"] >= 4
    assert [one.get("verb") for one in checked["plays"]].count("plan") == 1
    assert lab.changed() == []
    assert not [one for one in lab.received() if one.run == "lock"]
    assert differing(before, everything(lab)) == set()


def test_a_model_is_switched_as_the_check_has_said(empty, written, until):
    lab, book = empty, written.packaged("switch-model")
    lab.deploy("cluster")
    before = tree(lab)
    words = ("play", book, "-e", f"recipe={NEXT}", "-e", "topology=2x-solo")
    lab.mark()
    checked = lab.json(*words, "--check")
    assert lab.changed() == []
    assert differing(before, tree(lab)) == set()
    assert [one["verb"] for one in checked["plays"]] == ["cache drop", "plan"]
    assert checked["plays"][1]["document"]["changes"]
    played = lab.json(*words)
    assert [one["verb"] for one in played["plays"]] == ["cache drop", "deploy"]
    assert played["plays"][1]["document"]["changes"] == checked["plays"][1]["document"]["changes"]
    assert until(lambda: lab.state()[NEXT] == "serving")


def boots(lab):
    """By node: the boot that it is in, as its kernel says."""
    return {name: lab.node(name, "root/proc/sys/kernel/random/boot_id").read_text() for name in lab.names}


def test_maintenance_reboots_the_node_that_leaves_and_comes_back_to_what_served(empty, written):
    lab, book = empty, written.packaged("maintenance")
    lab.deploy("cluster")
    before, began = lab.running(), boots(lab)
    played = lab.json("play", book, "-e", "stays=node1", "-e", "leaves=node2", "-e", RECIPE)
    assert counts(played) == {"node1": (0, 0, 2, 0), "node2": (1, 1, 0, 0)}
    assert differing(began, boots(lab)) == {"node2"}
    assert lab.running() == before
    assert lab.serves()


def test_all_nodes_reboot_and_serve_again_with_the_containers_that_they_had(empty, written):
    lab, book = empty, written.packaged("reboot-all")
    lab.deploy("cluster")
    before, began, born = lab.running(), boots(lab), lab.starts()
    played = lab.json("play", book, "-e", RECIPE, "-e", "topology=cluster")
    assert counts(played) == {"node1": (0, 1, 0, 0), "node2": (0, 1, 0, 0)}
    assert [sum(event["event"] == "boot" for event in lab.events(name)) for name in lab.names] == [1, 1]
    assert differing(began, boots(lab)) == set(lab.names)
    assert lab.running() == before
    assert differing(born, lab.starts()) == set(born), "each container was started anew"
    assert lab.serves()


def test_a_support_bundle_is_in_the_run_log_and_changes_nothing(empty, written):
    lab, book = empty, written.packaged("support-bundle")
    lab.deploy("solo", "--limit", "node1")
    before = tree(lab)
    lab.mark()
    ran = lab.cli("play", book, "--json")
    assert (ran.code, ran.document["error"]["message"] if ran.code else "") == (0, "")
    assert lab.changed() == []
    assert differing(before, tree(lab)) == set()
    log = Path(ran.document["log"]).read_text(encoding="utf-8")
    assert "MemTotal" in log
    assert lab.node("node1", "home", ".local", "state", "sparkops", "key").read_text().strip() not in log
    assert {row["failed"] for row in ran.document["recap"]} == {0}


def test_own_steps_between_the_phases_of_a_deploy_undo_it_when_they_fail(empty, written):
    lab = empty
    lab.deploy("solo", "--limit", "node1")
    before = lab.running()
    text = lab.json("playbook", "show", "deploy")["text"]
    own = '    - {name: smoke test, command: [sh, -c, "test -e ~/good"], reads: true}\n'
    book = written.text(text.replace("    - phase: settle\n", own + "    - phase: settle\n"))
    words = ("play", book, "-e", "topology=cluster", "-e", RECIPE)
    error = lab.json(*words, code=5)["error"]
    assert error["step"] == "smoke test"
    assert "serves again" in error["hint"]
    assert lab.running() == before
    assert lab.serves()
    for node in lab.names:
        lab.node(node, "home", "good").touch()
    lab.mark()
    assert lab.json(*words, "--check")["recap"]
    assert lab.changed() == []
    lab.json(*words)
    assert {node for node, _ in lab.running()} == {"node1", "node2"}


def test_ctrl_c_ends_the_command_on_the_nodes_and_nothing_follows(empty, written, until):
    lab = empty
    book = written.text(
        "- name: first\n  steps:\n    - {command: [sleep, '4242'], timeout: 3600}\n"
        "- name: second\n  steps:\n    - {command: [touch, after]}\n"
    )
    process = lab.start("play", book, "--json")
    assert until(lambda: sum("sleep 4242" in line for line in lab.processes(outside=True)) >= 2)
    process.send_signal(signal.SIGINT)
    ran = lab.ended(process, 130)
    assert ran.document["error"]["kind"] == "interrupted"
    assert until(lambda: not any("sleep 4242" in line for line in lab.processes(outside=True)))
    assert not [name for name in lab.names if lab.node(name, "home", "after").exists()]


def test_last_failed_are_the_nodes_that_failed_and_a_verb_that_failed_is_repeated_whole(empty, written):
    lab = empty
    book = written.text('- steps:\n    - {command: [sh, -c, "test -e ~/ready"], name: is ready}\n')
    lab.node("node1", "home", "ready").touch()
    lab.node("node2", "home", "ready").unlink(missing_ok=True)
    assert counts(lab.json("play", book, code=5)) == {"node1": (0, 1, 0, 0), "node2": (0, 0, 0, 1)}
    lab.node("node2", "home", "ready").touch()
    assert counts(lab.json("play", book, "--limit", "@last-failed")) == {"node2": (0, 1, 0, 0)}
    assert "no node failed" in str(lab.json("play", book, "--limit", "@last-failed", code=2))
    refused = written.text("- name: Serve\n  run: deploy\n  with: {topology: cluster, recipe: no-such}\n")
    error = lab.json("play", refused, code=2)["error"]
    assert f"{refused}:1: play 'Serve'" in error["message"]
    assert counts(lab.json("play", book, "--limit", "@last-failed")) == {"node1": (0, 1, 0, 0), "node2": (0, 1, 0, 0)}


def test_hosts_that_match_nothing_are_an_error_with_its_place_and_a_limit_that_leaves_none_is_said(empty, written):
    lab = empty
    book = written.text("- name: P\n  hosts: nodee1\n  steps: [{command: 'true'}]\n")
    error = lab.json("play", book, code=2)["error"]
    assert f"{book}:1: play 'P': hosts: " in error["message"]
    assert "did you mean node1?" in error["message"]
    book = written.text("- name: P\n  hosts: node1\n  steps: [{command: 'true'}]\n")
    ran = lab.cli("play", book, "--limit", "node2", code=0)
    assert "nothing to do" in ran.told


def test_a_node_that_is_away_is_counted_and_the_others_go_on(empty, written):
    lab = empty
    book = written.text("- steps: [{command: [touch, been]}]\n- steps: [{command: [touch, again]}]\n")
    with lab.trouble("node1", "unreachable"):
        ran = lab.cli("play", book, "--json", code=4)
    rows = {row["node"]: (row["changed"], row["unreachable"]) for row in ran.document["recap"]}
    assert rows == {"node1": (0, 1), "node2": (2, 0)}
    assert list(rows) == lab.names, "in the order of the inventory"
    assert "node1: warning: is left out: " in ran.err.partition("[touch been]")[0]
    assert lab.node("node2", "home", "again").exists()


def test_a_failure_that_may_pass_is_not_among_the_failures_and_a_check_shows_commands_when_asked(empty, written):
    lab = empty
    book = written.text("- steps:\n    - {name: may, command: [sh, -c, 'echo no; exit 3'], ignore_errors: true}\n")
    ran = lab.cli("play", book, code=0)
    assert "node1: warning: may failed, which it may: exit code 3 no" in ran.err
    book = written.text(book.read_text() + "    - {name: must, command: 'false'}\n")
    ran = lab.cli("play", book, "--json", code=5)
    assert "no" not in str(ran.document["error"].get("logs")).split()
    assert "    sh -c 'echo no; exit 3'" in lab.cli("play", book, "--check", "-v", code=0).err


def test_a_node_that_goes_away_while_it_is_waited_for_may_come_back(empty, written, until):
    lab = empty
    asks = 'until: [sh, -c, "touch asked; test -e back"], delay: 1, retries: 90'
    book = written.text(f"- steps: [{{command: ['true'], {asks}}}]\n")
    process = lab.start("play", book, "--json")
    assert until(lambda: lab.node("node2", "home", "asked").exists()), "the command itself has been answered"
    with lab.trouble("node2", "unreachable"):
        lab.node("node1", "home", "back").touch()
        time.sleep(2)
    lab.node("node2", "home", "back").touch()
    assert counts(lab.ended(process, 0).document) == {"node1": (0, 1, 0, 0), "node2": (0, 1, 0, 0)}


def test_run_shows_equal_output_together_and_the_rest_by_itself(empty):
    lab = empty
    said = lab.cli("run", "--", "echo", "a  b").out
    assert said.splitlines() == ["node1, node2", "  a  b"]
    said = lab.cli("run", "--", "sh", "-c", "printf 'x\\377y\\n'; hostname; exit 3", code=5)
    assert said.out.count("node1") >= 1
    assert "exited 3" in said.out
    document = lab.json("run", "--timeout", "1", "--", "sleep", "60", code=5)
    assert {one["ended"] for one in document["results"]} == {"timeout"}
    assert json.loads(json.dumps(document)) == document
