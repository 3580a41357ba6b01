"""Cables that are wrong, over emulated nodes: what `sparkops fabric` says first names the right one, in one line."""

import pytest

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
    ("ring", "node3 cables-exchanged"): "cx7-cabling: the cables in p0 and p1 of node3 are exchanged",
    ("ring", "node3 link-100g"): "cx7-speed: p0 to node3 p1 (enp1s0f0np0, enP2p1s0f0np0) runs at 100 Gb/s",
    ("ring", "node2 one-twin-down"): "cx7-twins: enP2p1s0f0np0 is down",
    ("ring", "node2 twin-without-ipv4"): "cx7-addresses: enP2p1s0f0np0 has no IPv4 address",
    ("pair", "node2 cable-elsewhere"): "cx7-cabling: the cable in node2 p0 does not lead to node1",
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


def first(document):
    """The first finding, as `sparkops fabric` prints it."""
    checks = [check for node in document["nodes"] for check in node["checks"]] + document["cluster"]
    held = [check for check in checks if check["status"] in ("warn", "fail")]
    order = document["order"]
    found = min(held, key=lambda check: order.index(check["id"]), default=None)
    return f"{found['id']}: {found['message']}" if found else ""


def test_two_pairs_are_no_fabric_for_four_nodes(lab_with):
    lab = lab_with(nodes=4, fabric="pair")
    document = lab.json("fabric", code=3)
    assert document["fabric"]["kind"] == "partly cabled"
    assert first(document) == "cx7-cabling: no cable connects node3 and node4 to node1 and node2"
    assert lab.json("fabric", "--limit", "node3,node4")["fabric"]["kind"] == "pair"


def test_each_fault_of_cables_has_its_case():
    assert {fault.split()[1] for _, fault in FIRST} >= CABLES - {"no-ipv6"}
