"""The control machine dies, is interrupted, or meets another run; the nodes end in a right state all the same."""

from __future__ import annotations

import itertools
import signal

import pytest

SHORT = ("--set", "args.max-model-len=2048")
SOLO = ("solo", "--limit", "node1")


def killed(lab, k, *wish):
    """SIGKILL for the real process after the nodes' k-th command; whether there is one."""
    lab.mark()
    process = lab.start("deploy", "--topology", *wish)
    sent = lab.kill_after(process, k)
    lab.killed(process)
    return sent


def heals(lab, *wish):
    """The next deploy ends serving, with exactly its containers."""
    deployed = lab.deploy(*wish)
    assert {name.rsplit("-", 1)[1] for _, name in lab.running()} == {deployed["hash"][:8]}
    assert lab.serves()
    return deployed


def test_a_deploy_killed_after_any_command_is_mended_by_the_next_one(lab_with):
    lab = lab_with(nodes=1)
    for k in itertools.count(1):
        lab.clear()
        if not killed(lab, k, "solo"):
            break
        heals(lab, "solo")
        assert len(lab.containers()) == 1
    assert k > 8, "there are so many commands in the smallest deploy"
    lab.json("stop")
    assert lab.containers() == set()


@pytest.mark.parametrize("k", [5, 8])
def test_stop_after_a_killed_deploy_leaves_nothing(empty, k, until):
    lab = empty
    assert killed(lab, 2 * k, "2x-solo")
    lab.json("stop")
    assert lab.containers() == set()
    assert until(lambda: not lab.processes())


@pytest.mark.parametrize("k", [8, 11, 14, 17])
def test_a_switch_killed_on_its_way_is_mended_by_the_next_deploy(empty, k):
    lab = empty
    lab.deploy(*SOLO)
    first = lab.containers()
    assert killed(lab, k, "cluster", *SHORT)
    heals(lab, "cluster", *SHORT)
    assert len(lab.running()) == 2
    assert first <= lab.containers(), "what served before the kill is kept for rollback"


def test_an_interrupt_undoes_and_the_previous_revision_serves_again(empty):
    lab = empty
    lab.deploy(*SOLO)
    before = lab.containers()
    with lab.trouble("node2", "worker-never-joins"):
        process = lab.start("deploy", "--json", "--topology", "cluster")
        lab.brings(process, lambda: len(lab.containers()) == len(before) + 2)
        process.send_signal(signal.SIGINT)
        ran = lab.ended(process, 130)
    assert ran.document["error"]["kind"] == "interrupted"
    assert lab.containers() == before == lab.running()
    assert lab.serves(), "130 is only said once it serves again"


@pytest.mark.parametrize("k", [1, 2])
def test_an_interrupt_before_anything_changed_changes_nothing(empty, k):
    lab = empty
    with lab.trouble("node1", "gpu-hangs"):  # so that its facts take ten seconds
        process = lab.start("deploy", "--json", "--topology", *SOLO)
        assert lab.kill_after(process, k, signal.SIGINT)
        ran = lab.ended(process, 130)
    assert ran.document["error"]["kind"] == "interrupted"
    assert "Traceback" not in ran.err
    assert not lab.changed()


def test_two_deploys_at_once_leave_one_that_names_the_other(empty):
    lab = empty
    with lab.trouble("node2", "worker-never-joins"):
        first = lab.start("deploy", "--json", "--topology", "cluster")
        lab.brings(first, lambda: len(lab.running()) == 2)
        second = lab.deploy(*SOLO, *SHORT, code=6)
        message = second["error"]["message"]
        assert second["error"]["kind"] == "locked"
        assert f"pid {first.pid}" in message
        assert "@" in message
        assert f"pid {first.pid}" in lab.json("stop", code=6)["error"]["message"]
        (shown,) = lab.json("status", code=5)["deployments"]
        assert shown["state"] == "starting", "reading needs no lock"
    assert lab.ended(first, 0).document["changed"]
    assert lab.deploy("cluster")["changed"] is False


def test_a_deploy_of_what_another_one_began_waits_for_it(empty):
    lab = empty
    with lab.trouble("node2", "worker-never-joins"):
        first = lab.start("deploy", "--topology", "cluster")
        lab.brings(first, lambda: len(lab.running()) == 2)
        lab.killed(first)
        begun = lab.running()
        second = lab.start("deploy", "--json", "--topology", "cluster")
        lab.mark()
        lab.brings(second, lambda: any(one.shown.startswith("@probe") for one in lab.received()))
    assert lab.ended(second, 0).document["endpoints"]
    assert lab.running() == begun


def test_deploys_on_different_nodes_do_not_wait_for_each_other(empty):
    lab = empty
    both = [lab.start("deploy", "--json", "--topology", "solo", "--limit", node) for node in lab.names]
    for process in both:
        assert lab.ended(process, 0).document["changed"]
    assert {node for node, _ in lab.running()} == set(lab.names)
