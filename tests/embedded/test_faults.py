"""What real processes do when a node fails: lost nodes, hung engines, restarts, sudo, a full page cache."""

import re

import pytest
import yaml

from sparklab.errors import LabError
from support.paths import RULE_RECIPES

SOON = ("--set", "env.SPARKOPS_BACKOFF=1")
SOLO = ("solo", "--limit", "node1")


def test_without_a_node_the_other_goes_on_and_what_runs_there_is_ended_later(empty):
    lab = empty
    with lab.trouble("node2", "unreachable"):
        error = lab.deploy("cluster", code=4)["error"]
        assert (error["kind"], error["node"]) == ("unreachable", "node2")
        assert lab.deploy(*SOLO)["ok"], "what does not need the node goes on without it"
        assert lab.cli("status", code=4).out
    assert not [one for one in lab.changed() if one.node == "node2"]
    lab.deploy("2x-solo")
    with lab.trouble("node2", "unreachable"):
        assert lab.json("stop", code=4)["error"]["node"] == "node2"
        assert {node for node, _ in lab.running()} == {"node2"}
    lab.json("stop")
    assert lab.running() == set()
    assert not list(lab.node("node1", "home", ".local", "state", "sparkops", "orphans").iterdir())


def test_another_host_key_is_refused_until_it_is_trusted(lab):
    with lab.trouble("node1", "bad-host-key"):
        error = lab.deploy(*SOLO, code=4)["error"]
        assert "host key" in error["message"]
        assert "trust" in error["hint"]
        assert not [one for one in lab.received() if one.node == "node1"]
        assert "changed" in {node["trust"] for node in lab.json("trust", "--yes")["nodes"]}
        lab.cli("status", code=0)
    lab.cli("status", code=4)
    lab.cli("trust", "--yes", code=0)


def test_what_does_not_answer_is_not_called_serving_and_what_dies_comes_back_by_itself(empty, until):
    lab = empty
    lab.deploy("cluster", *SOON)
    with pytest.raises(LabError, match="port 8000 of node1 is in use"):
        lab.fault("node1", "port-taken")
    assert not lab.node("node1", "faults", "port-taken").exists()
    for fault in ("peer-dead-health-green", "engine-frozen"):
        with lab.trouble("node1", fault):
            (shown,) = lab.json("status", code=5)["deployments"]
            assert shown["state"] in ("degraded", "failed"), fault
            assert shown["reason"]
        assert until(lab.serves), fault
    lab.mark()
    for faults in ([("node2", "engine-killed")], [(node, "reboot") for node in lab.names]):
        before = lab.starts()
        for node, fault in faults:
            lab.fault(node, fault)
        assert until(lambda before=before: _all_anew(lab, before)), f"the cluster cannot serve without any of {faults}"
        assert until(lab.serves), faults
    assert not lab.changed()
    assert until(lambda: [one["ray"] for one in lab.shown()] == [{"nodes": 2, "gpus": 2}])
    assert lab.deploy("cluster", *SOON)["changed"] is False


def test_status_tells_serving_from_reachable_and_why_a_deployment_does_not_serve(empty, until):
    lab = empty
    lab.deploy("cluster", *SOON)
    with lab.trouble("node2", "unreachable"):
        found = lab.json("status")
        assert [one["state"] for one in found["deployments"]] == ["serving"]
        assert [(one["id"], one["node"]) for one in found["warnings"]] == [("management", "node2")]
        lab.cli("status", "--strict", "--quiet", code=4)
    with lab.trouble("node1", "gpu-hangs"):
        assert "driver" in {one["id"] for one in lab.json("status")["warnings"]}
    with lab.trouble("node1", "cx7-down"):
        (shown,) = lab.json("status", code=5)["deployments"]
        assert "the CX7 link of node1 is down" in shown["cause"]
    assert until(lab.serves)


def _all_anew(lab, before):
    """Whether each container was started again since."""
    now = lab.starts()
    return now.keys() == before.keys() and not now.items() & before.items()


def test_a_full_page_cache_on_a_slow_node_is_emptied_first_and_named_where_that_is_not_permitted(empty):
    lab = empty
    with lab.trouble("node1", "page-cache-full"), lab.trouble("node1", "slow"):
        assert lab.deploy(*SOLO)["ok"]
        lab.json("stop")
    with lab.trouble("node1", "page-cache-full"), lab.trouble("node1", "sudo-password"):
        error = lab.deploy(*SOLO, code=5)["error"]
    assert error["diagnosis"]["id"] == "memory-at-start"
    assert lab.running() == set()


def test_a_stock_node_serves_through_sudo_with_a_password_that_appears_nowhere(empty):
    lab = empty
    wish = ("deploy", "--topology", *SOLO)
    with lab.trouble("node1", "no-docker-group"), lab.trouble("node1", "sudo-password"):
        assert "usermod -aG docker" in lab.json("status", code=4)["error"]["hint"]
        assert "password" in lab.behind_sudo(*wish, ask=False, code=3).err
        refused = lab.behind_sudo("preflight", "--limit", "node1", password="wrong", code=4)
        assert "fail  sudo: node1: sudo refused the password" in refused.out
        assert "ssh" not in refused.out
        assert "error: node1: sudo refused the password" in lab.behind_sudo(*wish, password="wrong", code=4).err
        lab.behind_sudo(*wish)
        lab.behind_sudo("stop", "--limit", "node1")
    assert lab.running() == set()


def test_a_wrong_sudo_password_ends_with_4_wherever_it_is_met_and_passes_over_no_node(empty):
    lab = empty
    with lab.trouble("node2", "sudo-password"):
        wrong = {"SPARKOPS_BECOME_PASSWORD": "wrong"}
        ran = lab.cli("cache", "permit", "--ask-become-pass", "--yes", code=4, **wrong)
        assert "cause: sudo refused the password" in ran.err
        assert "add --ask-become-pass" not in ran.err
        refused = lab.behind_sudo("deploy", "--topology", "solo", password="wrong", code=4)
        assert "error: node2: sudo refused the password" in refused.err
    assert lab.running() == set()


def test_a_fixing_rule_is_needed(empty, until):
    """The others are held against the same engine in tests/world/test_needed_rules.py."""
    lab = empty
    rows = yaml.safe_load((RULE_RECIPES.parent / "fixing_rules.yml").read_text(encoding="utf-8"))
    (row,) = (row for row in rows if row["rule"] == "cluster-eager")
    wish = ("cluster", "--recipe", row["recipe"])
    ran = lab.cli("deploy", "--json", "--topology", *wish, "--allow", row["rule"], code=5)
    assert re.search(row["failure"], ran.told), ran.told
    assert ran.document["error"]["diagnosis"]["cause"]
    assert lab.containers() == set()
    assert row["rule"] in {rule["id"] for rule in lab.deploy(*wish)["rules"] if rule["action"] == "fix"}
    assert until(lab.serves)
