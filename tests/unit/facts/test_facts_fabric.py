"""Which port is chosen for the cluster, and when several nodes make a ring."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Interface

from sparkops.core.facts import Fabric, Interface, Rdma, Unread, ring
from sparkops.core.facts.fabric import find

PORTS = {"p0": ("enp1s0f0np0", "enP2p1s0f0np0"), "p1": ("enp1s0f1np1", "enP2p1s0f1np1")}


def interface(name: str, port: str | None, addresses: tuple[str, ...], up: bool = True) -> Interface:
    rdma = Rdma(name.replace("en", "roce", 1), name, "4: ACTIVE" if up else "1: DOWN", "", "", "Ethernet", "", ())
    ipv4 = tuple(IPv4Interface(address) for address in addresses)
    return Interface(name, "up" if up else "down", up, 9000, "", 200000, ipv4, port, None, rdma if port else None)


def node(addresses: Mapping[str, tuple[str, ...]], up: tuple[str, ...] = ()) -> tuple[Interface, ...]:
    cx7 = [(name, port) for port, names in PORTS.items() for name in names]
    found = [interface(name, port, addresses.get(name, ()), name in addresses or name in up) for name, port in cx7]
    return (interface("enP7s7", None, ("192.168.1.5/24",)), *found)


BOTH = {"enp1s0f0np0": ("10.0.0.1/24",), "enP2p1s0f0np0": ("10.0.1.1/24",)}


def test_the_plainer_name_of_the_two_twins_leads():
    found = find(node(BOTH))
    assert isinstance(found, Fabric)
    assert (found.interface, found.twin, found.port) == ("enp1s0f0np0", "enP2p1s0f0np0", "p0")


def test_a_port_with_both_twins_addressed_wins_over_one_with_a_single_address():
    found = find(
        node({"enp1s0f0np0": ("10.0.0.1/24",), "enp1s0f1np1": ("10.0.2.1/24",), "enP2p1s0f1np1": ("10.0.3.1/24",)})
    )
    assert isinstance(found, Fabric)
    assert found.port == "p1"


def test_the_twin_leads_when_only_it_has_an_address():
    found = find(node({"enP2p1s0f0np0": ("10.0.1.1/24",)}, up=("enp1s0f0np0",)))
    assert isinstance(found, Fabric)
    assert (found.interface, found.twin, found.twin_address, found.complete) == (
        "enP2p1s0f0np0",
        "enp1s0f0np0",
        None,
        False,
    )


def test_a_configured_address_goes_before_a_link_local_one():
    found = find(node({"enp1s0f0np0": ("169.254.7.7/16", "10.0.0.1/24")}))
    assert isinstance(found, Fabric)
    assert found.address == "10.0.0.1"


def test_the_wanted_address_decides_whatever_port_has_it():
    found = find(node(BOTH | {"enP2p1s0f1np1": ("10.0.3.1/24",)}), "10.0.3.1")
    assert isinstance(found, Fabric)
    assert (found.interface, found.address, found.devices) == ("enP2p1s0f1np1", "10.0.3.1", ("roceP2p1s0f1np1",))


def test_a_wanted_address_on_plain_ethernet_has_no_rdma_devices():
    found = find(node(BOTH), "192.168.1.5")
    assert isinstance(found, Fabric)
    assert (found.interface, found.devices, found.twin) == ("enP7s7", (), None)


def test_what_is_wrong_is_said():
    assert find(node(BOTH), "10.9.9.9") == Unread("no interface has the fabric address 10.9.9.9")
    assert find(node({}, up=("enp1s0f0np0",))) == Unread("enp1s0f0np0 is up but without an IPv4 address")
    down = find(node({}))
    assert isinstance(down, Unread)
    assert down.reason.startswith("every CX7 interface is down")
    none = find((interface("enP7s7", None, ("192.168.1.5/24",)),))
    assert isinstance(none, Unread)
    assert "no cable" in none.reason


def cabled(number: int, left: int, right: int) -> tuple[Interface, ...]:
    """A node whose port 0 is on cable `left` and port 1 on cable `right`; each cable has two subnets."""
    subnets = zip(PORTS["p0"] + PORTS["p1"], (left, left + 100, right, right + 100), strict=True)
    return node({name: (f"10.{subnet}.0.{number}/24",) for name, subnet in subnets})


def test_three_nodes_each_cabled_to_both_others_are_a_ring():
    assert ring({"a": cabled(1, 1, 2), "b": cabled(2, 2, 3), "c": cabled(3, 3, 1)})


def test_two_nodes_with_two_cables_are_no_ring():
    assert not ring({"a": cabled(1, 1, 2), "b": cabled(2, 1, 2)})


def test_nodes_at_a_switch_are_no_ring():
    assert not ring({"a": cabled(1, 1, 1), "b": cabled(2, 1, 1), "c": cabled(3, 1, 1)})
