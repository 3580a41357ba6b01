"""What is wrong comes with its fault and goes with it: in the lines of `watch --web`, and on its page in a browser."""

import threading
from contextlib import ExitStack

import pytest

from support.browser import chromium, opened
from support.faults import ALERTS
from support.web import Screens, watch_web

RECIPE = "openai-gpt-oss-120b"


@pytest.fixture(scope="module")
def browser():
    with chromium() as made:
        yield made


@pytest.fixture
def watch(browser):
    with ExitStack() as stack:

        def begin(lab):
            web = stack.enter_context(watch_web(lab))
            return Screens(web, stack.enter_context(opened(browser, web.links[-1])))

        yield begin


def test_alerts_come_with_a_fault_and_go_with_it(lab_with, watch, until):
    lab = lab_with(nodes=len(ALERTS) + 2)
    faulty = dict(zip(lab.names, ALERTS, strict=False))
    hostile = lab.names[-2]
    lab.fault(hostile, "garbage")
    dead = next(node for node, fault in faulty.items() if fault == "cron-dead")
    lab.json("cache", "schedule", "--every", "30m", "--limit", dead)
    screens = watch(lab)
    for node, fault in faulty.items():
        lab.fault(node, fault)
    for node, fault in faulty.items():
        assert until(lambda node=node, fault=fault: screens.show(node, ALERTS[fault])), screens.web.said
    assert until(lambda: screens.show(hostile, "node-away")), screens.web.said
    for node, fault in faulty.items():
        lab.fault(node, fault, off=True)
    for node, fault in faulty.items():
        assert until(lambda node=node, fault=fault: screens.end(node, ALERTS[fault])), screens.web.said
    late = f" {lab.names[-1]} node-away"  # on a busy machine
    assert [line for line in screens.web.said if f" {lab.names[-1]} " in line and late not in line] == []


@pytest.fixture(scope="module")
def serving(lab_with):
    """A cluster over two nodes and two servers behind a proxy, by a fleet's file."""
    lab = lab_with(nodes=4)
    lines = ("deployments:", f"  big: {{recipe: {RECIPE}, topology: cluster, nodes: [node1, node2]}}",
             f"  twice: {{recipe: {RECIPE}, replicas: 2}}", "")  # fmt: skip
    (lab.work / "fleet.yml").write_text("\n".join(lines))
    lab.json("apply", "--setup")
    return lab


def test_an_engine_that_does_nothing_with_its_requests_is_wedged_and_one_that_is_frozen_silent(serving, watch, until):
    lab, screens = serving, watch(serving)
    for fault, alert in (("peer-dead-health-green", "engine-wedged"), ("engine-frozen", "engine-silent")):
        with lab.trouble("node1", fault):
            waiting = threading.Thread(target=lab.serves)
            waiting.start()
            assert until(lambda alert=alert: screens.show("node1", alert)), screens.web.said
        waiting.join()
        assert until(lambda alert=alert: screens.end("node1", alert)), screens.web.said


def test_a_cluster_without_its_link_and_what_a_fleet_no_longer_runs_are_told(serving, watch, until):
    lab, screens = serving, watch(serving)
    with lab.trouble("node2", "cx7-down"):
        assert until(lambda: screens.show("node2", "link-down")), screens.web.said
    assert until(lambda: screens.end("node2", "link-down")), screens.web.said
    for node, name in lab.running():
        if node in ("node3", "node4"):
            lab.on(node, "docker", "stop", name)
    assert until(lambda: screens.show("fleet", "fleet-missing")), screens.web.said
    lab.json("apply")
    assert until(lambda: screens.end("fleet", "fleet-missing")), screens.web.said
    file = lab.work / "fleet.yml"
    wanted = file.read_text()
    file.write_text(wanted.replace("  twice:", "  other:"))
    assert until(lambda: screens.show("fleet", "fleet-extra")), screens.web.said
    file.write_text(wanted)
    assert until(lambda: screens.end("fleet", "fleet-extra")), screens.web.said


def test_an_engine_that_ends_again_and_again_is_a_restart_loop(serving, watch, until):
    lab, screens = serving, watch(serving)

    def told_after_one_more() -> bool:
        before = lab.starts()
        lab.fault("node1", "engine-killed")
        assert until(lambda: lab.starts() != before and lab.serves()), screens.web.said
        return screens.show("node1", "restart-loop")

    assert until(told_after_one_more), screens.web.said  # the first may come before the stream


def failed(screens):
    """What is told of a lost rank where the head noticed first: a busy machine may show no frame before that."""
    return screens.show("openai-gpt-oss-120b", "deployment-failed")


def test_a_boot_is_followed_rank_by_rank_and_a_lost_rank_is_told(lab_with, watch, until):
    lab = lab_with(nodes=2, speed=0.2)
    screens = watch(lab)
    process = lab.start("deploy", "--topology", "cluster")
    phases: set[str] = set()

    def served() -> bool:
        (one,) = lab.json("watch", "--once")["deployments"] or [{"state": "", "ranks": []}]
        phases.update(rank["phase"]["name"] for rank in one["ranks"] if rank["phase"])
        return one["state"] == "serving"

    assert until(served)
    lab.ended(process, code=0)
    assert "weights" in phases
    worker = next(name for node, name in lab.running() if node == "node2")
    lab.on("node2", "docker", "stop", worker)
    assert until(lambda: screens.show("node2", "rank-lost") or failed(screens)), screens.web.said
    assert lab.json("watch", "--once")["deployments"][0]["state"] in ("degraded", "failed")
