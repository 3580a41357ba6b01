"""Checks of the fabric between nodes: addresses, packet sizes, ports, and whether peers answer over it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from sparkops.checks.check import CannotTell, FabricCheck, Here, Said, apart, fail, good, read, some, warn
from sparkops.checks.fabric import NETPLAN, SET_UP, cabled
from sparkops.core.fabric import cabling_of
from sparkops.core.facts import Interface, Ping
from sparkops.core.facts.reading import grouped
from sparkops.core.situation import Situation

JUMBO = 9000
HEADERS = 28
"""Bytes of the IP and ICMP headers before the payload of a ping."""

FEW = 4
"""Peers that a node asks over each interface."""

HARDWARE = (
    "remove `macaddress:` from /etc/netplan/40-cx7.yaml, then: sudo netplan apply; if the file does not set it, ask "
    "the vendor of the NIC"
)


def links(s: Situation) -> Mapping[str, tuple[Interface, ...]]:
    """Interfaces in use by node; `cx7-usable` reports nodes without a cable."""
    found = {}
    for place in s.placement.engines:
        try:
            found[place.node.name] = cabled(Here(s, place.node, s.facts[place.node.name]))
        except CannotTell:
            continue
    if not found:
        raise CannotTell("no CX7 link (see the check cx7-usable)")
    return found


def targets(s: Situation) -> dict[str, list[tuple[str, str, int]]]:
    """By node, what it pings: (interface, address, payload bytes). At most four peers each, spread evenly."""
    found = links(s)
    if not s.cabling.one_network:
        return {name: list(_over_cables(s, name)) for name in found}
    names, asked = list(found), dict[str, list[tuple[str, str, int]]]()
    for at, name in enumerate(names):
        for step in _steps(len(names)):
            peer = names[(at + step) % len(names)]
            asked.setdefault(name, []).extend(_pairs(found[name], found[peer]))
    return asked


def _over_cables(s: Situation, name: str) -> Iterator[tuple[str, str, int]]:
    """What a node pings over each of its cables."""
    for one in (one for one in s.cabling.segments if name in one.nodes):
        at, many = one.nodes.index(name), len(one.nodes)
        for peer in (one.nodes[(at + step) % many] for step in _steps(many)):
            mine, theirs = one.end_of(name), one.end_of(peer)
            if mine and theirs:
                yield from _pairs(s.fabric.ports[mine].interfaces, s.fabric.ports[theirs].interfaces)


def _steps(many: int) -> list[int]:
    """Distances to the peers to ping: all of a few nodes, else both neighbours and two further peers."""
    return sorted({1, 2, many // 2, many - 1}) if many > FEW + 1 else list(range(1, many))


def _pairs(mine: tuple[Interface, ...], theirs: tuple[Interface, ...]) -> Iterator[tuple[str, str, int]]:
    """Pair each interface with the peer's in the same subnet, else with the peer's at the same position."""
    for place, one in enumerate(mine):
        others = [other for other in theirs if other.address and other.up]
        same = [other for other in others if {a.network for a in one.ipv4} & {a.network for a in other.ipv4}]
        chosen = next((other for other in same if other in theirs[place : place + 1]), None)
        peer = chosen or next(iter(same), None) or next(iter(theirs[place : place + 1]), None)
        if one.up and one.address and peer and peer.address and peer.up:
            yield one.name, peer.address, min(one.mtu, peer.mtu) - HEADERS


@FabricCheck(
    id="cx7-one-network",
    title="Nodes on one cable or switch use the same subnets",
    why="Nodes in different subnets reach each other only through a router. A cable or a switch is not a router.",
    source="NVIDIA/dgx-spark-playbooks, connect-two-sparks",
    hint=f"use one subnet for the first interface of every node and another subnet for the second, in {NETPLAN}",
).all_nodes
def one_network(s: Situation) -> Iterator[Said]:
    if s.cabling.one_network and not s.cabling.groups:
        yield from _alike(links(s), "the nodes'", ())
        return
    for one in s.cabling.segments:
        ends = {end.node: s.fabric.ports[end].interfaces for end in one.ends}
        yield from _alike(ends, f"at the cable {one}, the nodes'", one.nodes)


def _alike(found: Mapping[str, tuple[Interface, ...]], whose: str, nodes: tuple[str, ...]) -> Iterator[Said]:
    first, second = _by_network(found, 0), _by_network(found, 1)
    if len(first) > 1:
        yield Said("warn", f"{whose} fabric addresses are in different subnets", "", apart(first), nodes)
    elif len(second) > 1:
        problem = f"{whose} second fabric addresses are in different subnets"
        yield Said("warn", problem, "", apart(second), nodes)
    else:
        yield good(evidence=apart(first | second))


def _by_network(found: Mapping[str, tuple[Interface, ...]], at: int) -> dict[str, list[str]]:
    """Nodes by the subnet of the first (0) or second (1) interface; nodes without an address there are left out."""
    places = ((_network(one), name) for name, both in found.items() for one in both[at : at + 1])
    return grouped((network, name) for network, name in places if network)


def _network(one: Interface) -> str:
    """The subnet of the address in use; empty without one, or while the link is down."""
    return next((str(found.network) for found in one.ipv4 if one.up and str(found.ip) == one.address), "")


def _not_in_a_ring(s: Situation) -> None:
    if not s.cabling.one_network:
        raise CannotTell("not all nodes share one cable or switch: each cable has subnets of its own")


@FabricCheck(
    id="cx7-one-owner",
    title="No two nodes have the same fabric address",
    why="A copied netplan file gives two nodes one address. Packets may then reach the wrong node.",
    source="NVIDIA/dgx-spark-playbooks, multi-sparks-through-switch: its script checks that addresses are unique",
    hint=f"give each node its own address in {NETPLAN}",
    severity="fail",
    deploys=True,
    by_copy=False,
).all_nodes
def one_owner(s: Situation) -> Iterator[Said]:
    """Of all copies together, but of nodes that no cable connects apart: each pair may have the same addresses."""
    found: dict[str, tuple[Interface, ...]] = {}
    for copy in s.copies:
        with suppress(CannotTell):
            found |= links(copy)
    if not found:
        raise CannotTell("no CX7 link (see the check cx7-usable)")
    for island in cabling_of(s.fabric, list(found)).islands:
        yield from _one_owner({name: found[name] for name in island})


def _one_owner(found: Mapping[str, tuple[Interface, ...]]) -> Iterator[Said]:
    owners: dict[str, list[str]] = {}
    for name, both in found.items():
        for address in dict.fromkeys(str(found.ip) for one in both if one.up for found in one.ipv4):
            owners.setdefault(address, []).append(name)
    for address, names in owners.items():
        if len(names) > 1:
            yield fail(
                f"{some(names)} have the same fabric address {address}", evidence=f"{address}: {', '.join(names)}"
            )
    yield from _one_hardware(found)


def _one_hardware(found: Mapping[str, tuple[Interface, ...]]) -> Iterator[Said]:
    """Switches forward by hardware address, and RDMA's default GIDs contain it."""
    owners = grouped((one.mac, name) for name, both in found.items() for one in both)
    for names in dict.fromkeys(tuple(names) for mac, names in owners.items() if mac and len(names) > 1):
        told = "; ".join(mac for mac, found in owners.items() if tuple(found) == names)
        yield warn(f"{some(names)} have the same hardware address on the fabric ({told})", HARDWARE, ", ".join(names))


@FabricCheck(
    id="cx7-mtu",
    title="All fabric interfaces have an MTU of 9000",
    why=(
        "An MTU of 1500 works, but limits RDMA packets to 1024 bytes instead of 4096. If the MTUs of the two ends "
        "differ, packets are lost."
    ),
    source="eugr/spark-vllm-docker, docs/NETWORKING.md; measured with TCP: MTU 1500 107 Gb/s, MTU 9000 111 Gb/s",
    hint=f"{SET_UP}; a switch needs an MTU above 9000",
).all_nodes
def mtu(s: Situation) -> Iterator[Said]:
    groups: dict[str, list[str]] = {}
    for name, both in links(s).items():
        for size in dict.fromkeys(one.mtu for one in both if one.up and one.mtu):
            groups.setdefault(str(size), []).append(name)
    differing = [*_unlike_ends(s)]
    yield from (warn(told, evidence=apart(groups)) for told in differing)
    if len(groups) > 1 and not differing:
        yield warn("MTUs differ between the nodes or the interfaces", evidence=apart(groups))
    small = {size: names for size, names in groups.items() if int(size) < JUMBO}
    for told, names in small.items():
        yield warn(
            f"the MTU is {told} instead of {JUMBO} on {some(names) if s.partial or len(groups) > 1 else 'all nodes'}"
        )


def _unlike_ends(s: Situation) -> Iterator[str]:
    """The cables whose two ends have different MTUs."""
    for one in s.cabling.segments:
        at = [min((it.mtu for it in s.fabric.ports[end].interfaces if it.up), default=0) for end in one.ends]
        if len(at) == 2 and at[0] != at[1]:
            yield f"the cable {one} has MTU {at[0]} at one end and {at[1]} at the other"


@FabricCheck(
    id="cx7-same-port",
    title="All nodes use the same QSFP port",
    why=(
        "NVIDIA's tools, and scripts with fixed interface names, need the same port on all nodes. sparkops itself "
        "finds the port on each node."
    ),
    source="NVIDIA/dgx-spark-playbooks, connect-two-sparks: use the same port on both nodes",
    hint="move the cable so that all nodes use the same QSFP port",
).all_nodes
def same_port(s: Situation) -> Iterator[Said]:
    _not_in_a_ring(s)
    groups = grouped((str(both[0].port), name) for name, both in links(s).items())
    up = [frozenset(s.facts[name].up_ports) for name in links(s)]
    if len(groups) > 1 and not frozenset.intersection(*up):
        yield warn("the nodes use different QSFP ports", evidence=apart(groups))
    else:
        yield good(evidence=apart(groups))


@FabricCheck(
    id="cx7-pings",
    title="The other nodes answer small and large pings over the fabric",
    why=(
        "A ping may use only the named interface and may not be split into smaller packets. So it fails if the cable, "
        "the addresses or the MTU of this interface are wrong."
    ),
    source="ping -M do -s 8972 -I INTERFACE PEER (christopherowen/dgx-spark-networking)",
    hint="check cable, addresses and MTU at both ends",
    severity="fail",
).each_node
def pings(here: Here) -> Iterator[Said]:
    """Nodes that no cable connects need not answer: that is for the check cx7-cabling."""
    if not here.s.peers:
        raise CannotTell("needs at least two nodes with a CX7 link")
    found = here.s.peers.get(here.name)
    if found is None:
        raise CannotTell("this node has no CX7 link, or no other node has one")
    beside = s.cabling.beside(here.name) if (s := here.s).cabling.heard or s.cabling.groups else s.cabling.order
    tried = [ping for ping in read(found).pings if s.fabric_owners.get(ping.address, here.name) in {here.name, *beside}]
    if not tried:
        raise CannotTell("no peer to ping")
    if all("not found" in ping.said or "failed to run" in ping.said for ping in tried):
        raise CannotTell(tried[0].said)
    cut_off = {here.s.fabric_owners.get(address) for address in here.s.silent}
    for ping in tried:
        yield from _ping(here, ping, here.name in cut_off)


def _ping(here: Here, ping: Ping, cut_off: bool) -> Iterator[Said]:
    """Report a failed ping, unless nobody reaches that peer: then only the peer's own pings are reported."""
    way = f"{here.s.fabric_owners.get(ping.address, ping.address)} over {ping.interface}"
    if ping.answered:
        yield good(evidence=f"{way}: {ping.said}")
    elif ping.small:
        small = f"{way} answers small pings, but no ping of {ping.size + HEADERS} bytes"
        yield warn(small, _try(here, ping), f"{ping.address}: {ping.said}")
    elif cut_off or ping.address not in here.s.silent:
        yield fail(f"{way} does not answer", _try(here, ping), f"{ping.address}: {ping.said}")


def _try(here: Here, ping: Ping) -> str:
    size = min(ping.size, JUMBO - HEADERS)
    tries = f"ping -c 1 -M do -s {size} -I {ping.interface} {ping.address}"
    return f"check cable, addresses and MTU at both ends, then on {here.name}: {tries}"
