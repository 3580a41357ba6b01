"""`fabric setup` on emulated nodes: what it sets serves, and a node that is lost in the middle has what it had."""

import signal

import pytest

from sparkops.core.fabric.netplan import PATH


@pytest.fixture
def new(lab_with):
    """Three nodes as they come from the box, with the cables of a triangle."""
    lab = lab_with(nodes=3, fabric="triangle")
    for name in lab.names:
        lab.fault(name, "not-set-up")
    return lab


def set_up(lab):
    """By node, whether all of its interfaces have an address and the MTU."""
    ports = lab.json("fabric", code=None)["fabric"]["ports"]
    return {
        name: all(
            one["addresses"] and one["mtu"] == 9000
            for port in ports
            if port["node"] == name
            for one in port["interfaces"]
        )
        for name in lab.names
    }


def kept(lab):
    return [name for name in lab.names if lab.node(name, "root", PATH[1:]).exists()]


def test_new_nodes_are_set_up_serve_and_are_as_before_after_an_undo(new):
    lab = new
    shown = lab.cli("fabric", "setup", "--check", "--pool", "127.250.0.0/20")
    assert (shown.code, shown.out.count("netplan apply"), kept(lab)) == (0, 3, [])
    assert "fabric setup --pool 127.250.0.0/20 --yes`" in shown.out
    assert lab.cli("fabric", "setup").code == 3, "nobody answered"
    done = lab.json("fabric", "setup", "--yes")
    assert (done["changed"], done["verdict"], kept(lab)) == (True, "pass", list(lab.names))
    assert [one["gbps"] for one in done["fabric"]["measured"]] == [97.28] * 6, "two interfaces of three cables"
    again = lab.json("fabric", "setup", "--yes")
    assert (again["changed"], again["files"]) == (False, [])
    lab.fault("node2", "reboot")
    assert lab.json("fabric")["verdict"] == "pass", "what was kept is there after a reboot"
    lab.fault("node3", "unreachable")
    alone = lab.json("fabric", code=4)
    assert alone["verdict"] == "pass", "the two that answer are judged by the ports of their cable"
    lab.fault("node3", "unreachable", off=True)

    lab.cli("deploy", "--topology", "cluster", "--limit", "node1,node2", code=0)
    assert lab.serves()
    refused = lab.cli("fabric", "setup", "--undo", "--yes", code=3)
    assert "uses the fabric of node1" in refused.err
    lab.cli("stop", code=0)
    assert lab.json("fabric", "setup", "--undo", "--yes")["changed"]
    assert (kept(lab), set_up(lab)) == ([], dict.fromkeys(lab.names, False))
    assert not lab.json("fabric", "setup", "--undo", "--yes")["changed"]


def test_a_second_run_waits_for_the_first_and_finds_nothing_to_do(new):
    lab, file = new, PATH.rpartition("/")[2]
    first = lab.start("fabric", "setup", "--yes", "--json")
    lab.brings(first, lab.node("node1", "root", "run", "netplan", file).exists)
    second = lab.start("fabric", "setup", "--yes", "--wait", "2m", "--json")
    assert lab.ended(first, 0).document["changed"]
    assert (lab.ended(second, 0).document["changed"], kept(lab)) == (False, list(lab.names))


def test_a_node_that_the_new_configuration_cuts_off_is_back_with_its_old_one(new, until):
    lab = new
    lab.fault("node2", "netplan-cuts-off")
    lost = lab.cli("fabric", "setup", "--yes", code=4)
    assert "node2" in lost.err
    assert until(lambda: lab.cli("status").code != 4), "it answers again"
    lab.fault("node2", "netplan-cuts-off", off=True)
    assert (kept(lab), set_up(lab)) == (["node1"], {"node1": True, "node2": False, "node3": False})
    assert lab.json("fabric", "setup", "--yes")["verdict"] == "pass"


def test_a_run_that_is_killed_leaves_each_node_with_the_old_or_the_new_configuration(new, until):
    lab, file = new, PATH.rpartition("/")[2]
    moments = {signal.SIGTERM: ("node1", "run"), signal.SIGKILL: ("node2", "etc")}
    for number, (node, place) in moments.items():
        process = lab.start("fabric", "setup", "--yes")
        lab.brings(process, lab.node(node, "root", place, "netplan", file).exists)
        process.send_signal(number)
        assert lab.ended(process).code in (130, -signal.SIGKILL)
        assert until(lambda: "still tries" not in lab.cli("fabric", "setup", "--check").err)
        assert set_up(lab) == {name: name in kept(lab) for name in lab.names}
        lab.cli("fabric", "setup", "--undo", "--yes", code=0)
