"""Addresses and MTU of a fabric: what interfaces have stays, and what they lack is chosen."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network

from sparkops.core.fabric.address_pool import POOL, AddressPool
from sparkops.core.fabric.graph import Fabric, Segment
from sparkops.core.facts import Facts, Interface, known

MTU = 9000
"""eugr/spark-vllm-docker, docs/NETWORKING.md: jumbo frames at every interface of the fabric."""

_NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class InterfaceSetting:
    """The addresses of an interface that lacks something: a `new` one; or those that it has, if it lacks only the MTU.

    These are named again, because netplan takes those away that it does not know, such as one set by NetworkManager.
    """

    addresses: tuple[IPv4Interface, ...]
    new: bool


Settings = Mapping[str, Mapping[str, InterfaceSetting]]
"""By node, then by interface."""


def lacking(
    fabric: Fabric,
    facts: Mapping[str, Facts],
    named: Mapping[str, str] | None = None,
    pool: Sequence[IPv4Network] = POOL,
    reserved: Iterable[IPv4Interface] = (),
) -> Settings:
    """What the interfaces lack at each end of each cable, or on a switch. Those of one port get different subnets.

    Interfaces that DHCP, a bond or a bridge manages, or that have the default route, are left alone. `named` are the
    fabric addresses of the inventory: a node without its own one gets it. `reserved` ones are given to none. Raises
    UsageError if the pool has no further subnet that overlaps none of the nodes' networks.
    """
    addresses = AddressPool.beside(facts, reserved, named or {}, pool)
    found: dict[str, dict[str, InterfaceSetting]] = {node: {} for node in facts}
    for segment in fabric.segments:
        members = _members(fabric, segment, facts)
        if sum(map(bool, members.values())) > 1:
            for node, interface, setting in _segment(members, addresses):
                found[node][interface] = setting
    return {node: settings for node, settings in found.items() if settings}


def _members(fabric: Fabric, segment: Segment, facts: Mapping[str, Facts]) -> dict[str, list[Interface]]:
    """By node, its interfaces on the segment that are up and that nobody else manages."""
    found: dict[str, list[Interface]] = {node: [] for node in segment.nodes}
    for end in segment.ends:
        routed = {route.interface for route in known(facts[end.node].routes, ())}
        own = [one for one in fabric.ports[end].interfaces if one.up and not one.managed and one.name not in routed]
        found[end.node] += [one for one in own if _NAME.fullmatch(one.name)]
    return found


def _segment(
    members: Mapping[str, Sequence[Interface]], addresses: AddressPool
) -> Iterator[tuple[str, str, InterfaceSetting]]:
    """What the interfaces of a segment lack. If a node has all its addresses, the others join its subnets."""
    most = max(map(len, members.values()))
    bare = [node for node, its in members.items() if not all(map(_networks, its))]
    whole = any(len(its) == most and node not in bare for node, its in members.items())
    place: dict[IPv4Network, int] = {}  # of its interface among those of its port
    for its in members.values():
        for at, one in enumerate(its):
            place |= {network: at for network in _networks(one) if network not in place}
    place |= {addresses.named[node].network: 0 for node in bare if node in addresses.named}
    while bare and not whole and len(place) < most:
        place[addresses.subnet(len(members))] = next(at for at in range(most) if at not in place.values())
    for node, its in members.items():
        own = {network for one in its for network in _networks(one)}
        free = [network for network in place if network not in own] or list(place)
        for at, one in enumerate(its):
            address = None if _networks(one) else addresses.address(node, _taken(free, place, at))
            if address or one.mtu < MTU:
                yield node, one.name, InterfaceSetting((address,) if address else _static(one), new=address is not None)


def _taken(free: list[IPv4Network], place: Mapping[IPv4Network, int], at: int) -> IPv4Network:
    """Of the free subnets, that of this place, else the first; the last one stays for further interfaces."""
    found = min(free, key=lambda network: place[network] != at)
    if len(free) > 1:
        free.remove(found)
    return found


def _networks(interface: Interface) -> list[IPv4Network]:
    return [address.network for address in _static(interface)]


def _static(interface: Interface) -> tuple[IPv4Interface, ...]:
    """Its addresses without a link-local one, which it gives itself while it has no other."""
    return tuple(address for address in interface.ipv4 if not address.is_link_local)
