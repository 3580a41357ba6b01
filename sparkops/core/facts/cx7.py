"""Which CX7 port of a node carries the cluster."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network

from sparkops.core.facts.network import Interface
from sparkops.core.facts.raw import Unread
from sparkops.core.facts.reading import grouped

Networks = frozenset[IPv4Network]

NO_CARD = "there is no CX7 interface; usually that means that no cable is plugged in"


@dataclass(frozen=True)
class Link:
    """The port in use. One netdev alone carries half of the cable's 200 Gb/s, so `twin` should have an address too.

    `devices` are the RDMA devices of both; empty means that the address is on plain Ethernet.
    """

    interface: str
    address: str
    twin: str | None
    twin_address: str | None
    devices: tuple[str, ...]
    port: str | None

    @property
    def complete(self) -> bool:
        return self.twin_address is not None and len(self.devices) == 2


@dataclass(frozen=True)
class Port:
    """One QSFP port with the netdevs that share it, the plainer name first."""

    name: str
    interfaces: tuple[Interface, ...]

    @property
    def usable(self) -> tuple[Interface, ...]:
        return tuple(one for one in self.interfaces if one.up and one.address)

    @property
    def up(self) -> bool:
        return any(one.up for one in self.interfaces)

    @property
    def networks(self) -> Networks:
        return frozenset(address.network for one in self.interfaces if one.up for address in one.ipv4)


def ports(interfaces: Iterable[Interface]) -> tuple[Port, ...]:
    """The CX7 ports of a node, in order of their names."""
    groups = grouped((one.port, one) for one in interfaces if one.port is not None)
    return tuple(Port(name, tuple(sorted(groups[name], key=_plain_first))) for name in sorted(groups))


def find(interfaces: tuple[Interface, ...], wanted: str | None = None) -> Link | Unread:
    """The port that owns the wanted address, else the first with the most usable interfaces; or why there is none."""
    found = ports(interfaces)
    if wanted is not None:
        return _owner(interfaces, found, wanted)
    best = max(found, key=lambda port: len(port.usable), default=None)
    if best is None:
        return Unread(NO_CARD)
    if not best.usable:
        return Unread(_unusable(found))
    return _link(best, best.usable[0])


def _owner(interfaces: tuple[Interface, ...], found: tuple[Port, ...], wanted: str) -> Link | Unread:
    owner = next((one for one in interfaces if any(str(address.ip) == wanted for address in one.ipv4)), None)
    if owner is None:
        down = "" if any(one.up for port in found for one in port.interfaces) else _unusable(found)
        return Unread(down or f"no interface has the fabric address {wanted}")
    if not owner.up:
        return Unread(f"{owner.name} has the fabric address {wanted}, but is {owner.state or 'not up'}")
    port = next((port for port in found if owner in port.interfaces), None)
    return _link(port or Port("", (owner,)), owner, wanted)


def _link(port: Port, primary: Interface, address: str | None = None) -> Link:
    twin = next((one for one in port.interfaces if one.name != primary.name), None)
    usable = twin if twin in port.usable else None
    devices = tuple(one.rdma.name for one in (primary, usable) if one is not None and one.rdma and one.rdma.active)
    return Link(
        interface=primary.name,
        address=address or primary.address or "",
        twin=twin.name if twin else None,
        twin_address=usable.address if usable else None,
        devices=devices,
        port=port.name or None,
    )


def _unusable(found: tuple[Port, ...]) -> str:
    if not found:
        return NO_CARD
    up = [one.name for port in found for one in port.interfaces if one.up]
    if up:
        return f"{' and '.join(up)} {'is up but has' if len(up) == 1 else 'are up but have'} no IPv4 address"
    names = ", ".join(one.name for port in found for one in port.interfaces)
    return f"the CX7 ports are down, without carrier ({names}): check the cable first, then the other node"


def _plain_first(interface: Interface) -> tuple[bool, str]:
    return (interface.name != interface.name.lower(), interface.name)
