"""Cables between emulated nodes: what `sparkops fabric` says first of a wrong one, and what serves over them."""

import json

import pytest
import yaml

from support.fault_table import CABLES

TWO = "the nodes' fabric addresses are in different subnets"
FIRST = {
    ("triangle", "node2 cables-exchanged"): "cx7-cabling: the cables in p0 and p1 of node2 are exchanged",
    ("triangle", "node1 cable-pulled"): "cx7-cabling: no cable connects node1 to node3, so the triangle is open",
    ("triangle", "node3 cable-loop"): "cx7-cabling: the cable in node3 p0 leads back to p1 of the same node",
    ("triangle", "node2 cable-elsewhere"): "cx7-cabling: the cable in node2 p0 does not lead to node1 or node3",
    ("triangle", "node2 subnet-differs"): f"cx7-one-network: at the cable node2 p0 - node3 p1, {TWO}",
    ("triangle", "node3 address-twice"): "cx7-one-owner: node1, node3 have the same fabric address",
    (
        "triangle",
        "node3 small-mtu",
    ): "cx7-mtu: the cable node1 p1 - node3 p0 has MTU 9000 at one end and 1500",
    ("ring", "node2 cable-pulled"): "cx7-cabling: no cable connects node1 to node2, so the ring is open",
    ("ring", "node4 cable-loop"): "cx7-cabling: the cable in node4 p0 leads back to p1 of the same node",
    ("ring", "node3 cables-exchanged"): "cx7-cabling: the cables in p0 and p1 of node3 are exchanged",
    ("ring", "node3 link-100g"): "cx7-speed: p0 to node3 p1 (enp1s0f0np0, enP2p1s0f0np0) runs at 100 Gb/s",
    ("ring", "node2 one-twin-down"): "cx7-twins: enP2p1s0f0np0 is down",
    ("ring", "node2 twin-without-ipv4"): "cx7-addresses: enP2p1s0f0np0 has no IPv4 address",
    ("pair", "node2 cable-elsewhere"): "cx7-cabling: the cable in node2 p0 does not lead to another",
    ("pair", "node2 not-set-up"): "cx7-usable: enp1s0f0np0 and enP2p1s0f0np0 are up but have no IPv4 address",
    ("pair", "node1 small-mtu"): "cx7-mtu: the cable node1 p0 - node2 p0 has MTU 1500 at one end and 9000 at the other",
    ("pair", "node2 subnet-differs"): f"cx7-one-network: {TWO}",
}
"""By fabric, and by node and fault, the first finding."""

NODES = {"pair": 2, "triangle": 3, "ring": 4}


@pytest.mark.parametrize("fabric", NODES)
def test_the_first_line_names_the_cable(fabric, lab_with):
    lab = lab_with(nodes=NODES[fabric], fabric=fabric)
    assert lab.json("fabric")["fabric"]["kind"] == fabric
    said = {}
    for kind, fault in FIRST:
        if kind == fabric:
            lab.fault(*fault.split())
            said[kind, fault] = first(lab.json("fabric", code=None))
            lab.fault(*fault.split(), off=True)
    assert {case: told for case, told in said.items() if not told.startswith(FIRST[case])} == {}
    lab.fault("node1", "no-ipv6")
    document = lab.json("fabric")
    assert (document["fabric"]["kind"], document["verdict"]) == (fabric, "pass"), "then subnets tell"


def test_a_deploy_over_a_ring_is_refused_while_two_of_its_cables_are_exchanged(lab_with):
    lab = lab_with(nodes=4, fabric="ring")
    lab.fault("node2", "cables-exchanged")
    refused = lab.json("plan", "--topology", "cluster", code=3)["error"]["message"]
    assert "the cables in p0 and p1 of node2 are exchanged" in refused


def test_pairs_of_which_one_node_is_deaf_are_two_pairs_by_their_subnets(lab_with):
    lab = lab_with(nodes=4, fabric="pair")
    lab.fault("node2", "no-ipv6")
    assert lab.json("fabric")["verdict"] == "pass"


def test_no_remedy_closes_a_ring_without_the_node_whose_cable_is_wrong(lab_with):
    lab = lab_with(nodes=4, fabric="ring")
    lab.fault("node4", "cable-loop")
    lab.fault("node3", "cable-elsewhere")
    (wrong,) = (one for one in lab.json("fabric", code=3)["cluster"] if one["id"] == "cx7-cabling")
    assert "plug its other end into node4 p1" in wrong["hint"], "it has the subnets of that port"
    assert "connect node1" not in wrong["hint"], "that would leave no port for node4"


def first(document):
    """The first finding, as `sparkops fabric` prints it."""
    checks = [check for node in document["nodes"] for check in node["checks"]] + document["cluster"]
    held = [check for check in checks if check["status"] in ("warn", "fail")]
    order = document["order"]
    found = min(held, key=lambda check: order.index(check["id"]), default=None)
    return f"{found['id']}: {found['message']}" if found else ""


def test_two_pairs_are_a_fabric_of_their_own_but_none_for_a_cluster_of_four(lab_with):
    lab = lab_with(nodes=4, fabric="pair")
    document = lab.json("fabric")
    islands = [{"kind": "pair", "order": ["node1", "node2"]}, {"kind": "pair", "order": ["node3", "node4"]}]
    assert document["fabric"]["islands"] == islands
    wanted = ("--topology", "cluster", "--recipe", recipe(lab, "four", tensor=4)[-1])
    document = lab.json("preflight", *wanted, code=3)
    assert first(document) == "cx7-cabling: no cable connects node3 and node4 to node1 and node2"
    hint = lab.json("plan", *wanted, code=3)["error"]["hint"]
    assert "to use only these nodes: --limit node1,node2 --set args.tensor-parallel-size=2" in hint
    assert lab.json("fabric", "--limit", "node3,node4")["fabric"]["kind"] == "pair"


def test_each_group_of_a_mixed_lab_is_judged_by_itself_also_while_a_node_is_away(lab_with):
    lab = lab_with(nodes=13, fabric="mixed")
    islands = lab.json("fabric")["fabric"]["islands"]
    assert [(one["kind"], len(one["order"])) for one in islands] == [
        ("pair", 2), ("triangle", 3), ("ring", 4), ("switch", 4),
    ]  # fmt: skip
    lab.fault("node1", "unreachable")
    lab.fault("node4", "cables-exchanged")
    lab.fault("node8", "cable-pulled")
    (finding,) = (one for one in lab.json("fabric", code=None)["cluster"] if one["id"] == "cx7-cabling")
    assert finding["message"].split("; ") == [
        "the cables in p0 and p1 of node4 are exchanged: each port has the subnet of the other cable",
        "no cable connects node7 to node8, so the ring is open, unless node1 (not reached) is there",
    ]


@pytest.mark.parametrize("fabric", ["triangle", "ring"])
def test_a_node_that_is_away_does_not_make_a_cable_wrong(fabric, lab_with):
    lab = lab_with(nodes=NODES[fabric], fabric=fabric)
    lab.fault("node3", "unreachable")
    document = lab.json("fabric", code=None)
    assert [one["status"] for one in document["cluster"] if one["id"] == "cx7-cabling"] == ["skip"]


def test_each_fault_of_cables_has_its_case():
    assert {fault.split()[1] for _, fault in FIRST} >= CABLES - {"no-ipv6", "netplan-cuts-off", "cx7-weak"}


def test_a_cable_that_carries_little_is_found_by_measuring_it(lab_with, until):
    lab = lab_with(nodes=3, fabric="triangle")
    lab.fault("node3", "cx7-weak")
    assert lab.json("fabric")["verdict"] == "pass", "its link looks healthy"
    document = lab.json("fabric", "--deep")
    found = [(one["from"]["node"], one["to"]["node"], one["gbps"]) for one in document["fabric"]["measured"]]
    assert sorted(found) == [
        ("node1", "node2", 97.28), ("node1", "node2", 97.28), *[("node1", "node3", 13.31)] * 2,
        *[("node2", "node3", 13.31)] * 2,
    ]  # fmt: skip
    assert first(document) == "cx7-bandwidth: node3 carries only 13 Gb/s"
    (remedy,) = (one["hint"] for one in document["cluster"] if one["id"] == "cx7-bandwidth")
    assert remedy.startswith("on node3, when no model serves: sudo apt full-upgrade && sudo reboot")
    lab.typed("node3", "sudo apt full-upgrade && sudo reboot")
    assert until(lambda: not first(lab.json("fabric", "--deep", code=None)))


def test_a_node_without_the_tool_is_named_and_the_others_are_measured(lab_with):
    lab = lab_with(nodes=3)
    (lab.directory / "bin" / "ib_write_bw").unlink()
    shown = lab.cli("fabric", "--deep", code=0)
    assert "not measured: node1: ib_write_bw is not there: sudo apt install perftest" in shown.out


def test_the_port_of_the_switch_is_shown_where_lldp_names_it(lab_with):
    lab = lab_with(nodes=3)
    tool = lab.directory / "bin" / "lldpcli"
    lines = ("via=LLDP", "chassis.name=crs812", "port.ifname=qsfp-1")
    tool.write_text("#!/bin/sh\n" + "".join(f"echo lldp.enp1s0f0np0.{line}\n" for line in lines))
    tool.chmod(0o755)
    lab.fault("node1", "link-100g")
    document = lab.json("fabric", code=None)
    assert [one["lldp"] for one in document["fabric"]["ports"][0]["interfaces"]] == ["crs812 qsfp-1", None]
    assert "p0 at crs812 qsfp-1 (enp1s0f0np0, enP2p1s0f0np0) runs at 100 Gb/s" in first(document)


EACH_CABLE = {"NCCL_NET_PLUGIN": "none", "NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_IB_MERGE_NICS": "0"}


def recipe(lab, name, **sizes):
    """A recipe with these parallel sizes."""
    args = {f"{way}-parallel-size": size for way, size in sizes.items()}
    file = lab.work / f"{name}.yml"
    file.write_text(json.dumps({"extends": "openai-gpt-oss-120b", "args": args}))
    return ("--topology", "cluster", "--recipe", file)


def environment(lab, name):
    """The variables of the node's engine."""
    (container,) = [one for node, one in lab.running() if node == name]
    return dict(
        line.split("=", 1) for line in json.loads(lab.on(name, "docker", "inspect", container))[0]["Config"]["Env"]
    )


def test_a_triangle_carries_a_split_by_layers_with_ray_and_without(lab_with):
    lab = lab_with(nodes=3, fabric="triangle")
    words = recipe(lab, "three", pipeline=3, tensor=1)
    assert lab.json("preflight", *words)["verdict"] == "pass"
    for executor in ("mp", "ray"):
        assert lab.json("deploy", *words, "--executor", executor)["changed"]
        assert lab.json("status")["deployments"][0]["state"] == "serving"
        told = environment(lab, "node2")
        assert told.items() >= EACH_CABLE.items()
        assert (told["NCCL_SOCKET_IFNAME"], told["VLLM_HOST_IP"]) == ("enP7s7", lab.address("node2"))
        assert told["NCCL_IB_HCA"].split(",") == ["rocep1s0f0", "roceP2p1s0f0", "rocep1s0f1", "roceP2p1s0f1"]


def test_two_neighbours_of_a_triangle_use_the_ports_of_their_cable(lab_with):
    lab = lab_with(nodes=3, fabric="triangle")
    for limit in ("node1,node2", "node1,node3"):
        assert lab.json("preflight", "--limit", limit)["verdict"] == "pass", limit
        lab.deploy("cluster", "--limit", limit)
        assert lab.json("status", "--limit", limit)["deployments"][0]["state"] == "serving", limit
        lab.json("stop", "--remove")


def test_a_ring_carries_tensor_parallelism_over_all_nodes_in_the_order_of_the_cables_only(lab_with):
    lab = lab_with(nodes=4, fabric="ring")
    words = recipe(lab, "four", tensor=4)
    for wrong, said in (
        (("--executor", "ray"), "Ray cannot use a ring"),
        (("--set", "args.tensor-parallel-size=2", "--set", "args.pipeline-parallel-size=2"), "size 4, not 2"),
    ):
        refused = lab.json("deploy", *words, *wrong, code=3)["error"]
        assert said in refused["message"]
        assert "fabric-split" in refused["message"]
    three = lab.json("deploy", "--topology", "cluster", "--set", "args.pipeline-parallel-size=3", code=3)["error"]
    assert "no cable connects node1 to node3, but others lead on to node4" in three["message"]
    sizes = "--set args.tensor-parallel-size={} --set args.pipeline-parallel-size=1"
    for way in (f"--limit node1,node2,node3,node4 {sizes.format(4)}", f"--limit node1,node2 {sizes.format(2)}"):
        assert way in three["hint"]
        lab.cli("plan", "--topology", "cluster", *way.split(), code=0)
    with lab.trouble("node4", "unreachable"):
        away = lab.json("plan", "--topology", "cluster", "--set", "args.pipeline-parallel-size=3", code=3)["error"]
        assert away["hint"].startswith("find out first why node4 was not reached")
    apart = lab.json("deploy", "--topology", "cluster", "--limit", "node1,node3", code=3)["error"]
    assert "the fabric addresses of node1 and node3 share no subnet" in apart["message"]
    inventory = yaml.safe_load((lab.directory / "inventory.yml").read_text())
    hosts = inventory["all"]["hosts"]
    inventory["all"]["hosts"] = {name: hosts[name] for name in ("node1", "node3", "node4", "node2")}
    other = lab.work / "in another order.yml"
    other.write_text(yaml.safe_dump(inventory, sort_keys=False))
    (lab.work / "in another order.yml.known_hosts").write_text(
        (lab.directory / "inventory.yml.known_hosts").read_text()
    )
    lab.cli("-i", other, "deploy", *words, lab=False, code=0)
    assert [node["name"] for node in lab.json("status")["deployments"][0]["nodes"]] in (
        ["node1", "node2", "node3", "node4"],
        ["node1", "node4", "node3", "node2"],
    )
    assert environment(lab, "node3")["NCCL_ALGO"] == "Ring"
    with lab.trouble("node3", "cable-pulled"):
        (shown,) = lab.json("status", code=5)["deployments"]
        assert shown["cause"].startswith(("the CX7 link of node2 is down", "the CX7 link of node3 is down"))
    lab.json("status")
