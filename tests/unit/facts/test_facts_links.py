"""Which port is chosen for the cluster."""

from collections.abc import Mapping
from ipaddress import IPv4Interface
from pathlib import Path

from sparkops.core.facts import Interface, Rdma, Unread
from sparkops.core.facts.cx7 import find
from support import golden

PORTS = {"p0": ("enp1s0f0np0", "enP2p1s0f0np0"), "p1": ("enp1s0f1np1", "enP2p1s0f1np1")}


def interface(name: str, port: str | None, addresses: tuple[str, ...], up: bool = True) -> Interface:
    rdma = Rdma(name.replace("en", "roce", 1), name, "4: ACTIVE" if up else "1: DOWN", "", "", "Ethernet", "", ())
    ipv4 = tuple(IPv4Interface(address) for address in addresses)
    return Interface(name, "up" if up else "down", up, 9000, "", 200000, ipv4, port, None, rdma if port else None)


def node(up: Mapping[str, tuple[str, ...]]) -> tuple[Interface, ...]:
    """With a plain interface, and the addresses of each CX7 interface that is up."""
    cx7 = [(name, port) for port, names in PORTS.items() for name in names]
    found = [interface(name, port, up.get(name, ()), name in up) for name, port in cx7]
    return (interface("enP7s7", None, ("192.168.1.5/24",)), *found)


def test_a_port_is_chosen_or_it_is_said_why_not() -> None:
    """`| NAME ADDRESS…` of each CX7 interface that is up, and with `? ADDRESS` what is wanted."""

    def outcome(block: str) -> str:
        rows = [line.split() for line in block.splitlines()]
        up = {row[0]: tuple(row[1:]) for row in rows if row[0] != "?"}
        found = find(node(up), next((row[1] for row in rows if row[0] == "?"), None))
        return found.reason if isinstance(found, Unread) else f"{found}, {'complete' if found.complete else 'half'}"

    golden.hold_blocks(Path(__file__).with_name("links.txt"), outcome)


def test_without_any_cx7_it_is_the_cable() -> None:
    none = find((interface("enP7s7", None, ("192.168.1.5/24",)),))
    assert none == Unread("there is no CX7 interface; usually that means that no cable is plugged in")
