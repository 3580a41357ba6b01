"""How copies spread: chains in which every node that lacks an image gets it from the node before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface

from sparkops.core.facts import Facts, Link
from sparkops.core.facts.raw import Unread
from sparkops.core.inventory import Node

COPY_STALL = 120.0
"""Seconds without progress that end a copy of an image or a model, unless `--stall` says otherwise."""


@dataclass(frozen=True)
class Hop:
    """One transfer: from address `bind` of the sender to `address`. `why` says why it does not use the fabric."""

    sender: str
    receiver: str
    user: str
    address: str
    port: int
    bind: str | None
    fabric: bool
    why: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        return (self.user, self.address, str(self.port), self.bind or "-")


def chains(order: Sequence[str], complete: frozenset[str]) -> tuple[tuple[str, ...], ...]:
    """One chain for each complete node: the node, then those after it that lack the image, up to the next complete one.

    The order is circular: nodes before the first complete one follow the last node.
    """
    if not complete or all(name in complete for name in order):
        return ()
    first = next(place for place, name in enumerate(order) if name in complete)
    found: list[list[str]] = []
    for name in (*order[first:], *order[:first]):
        if name in complete:
            found.append([name])
        else:
            found[-1].append(name)
    return tuple(tuple(chain) for chain in found if len(chain) > 1)


def hop(sender: str, receiver: Node, facts: Mapping[str, Facts], nodes: Mapping[str, Node]) -> Hop:
    """Use the fabric if both ends have it in one network, else the address of the inventory."""
    ours = facts[sender].find_link(nodes[sender].fabric_address)
    theirs = facts[receiver.name].find_link(receiver.fabric_address)
    user = receiver.user or str(getattr(facts[receiver.name].id, "name", ""))
    if isinstance(ours, Unread):
        why = f"{sender} cannot use the fabric: {ours.reason}"
    elif isinstance(theirs, Unread):
        why = f"{receiver.name} cannot use the fabric: {theirs.reason}"
    elif shared := _shared(_addresses(facts[sender], ours), _addresses(facts[receiver.name], theirs)):
        return Hop(sender, receiver.name, user, str(shared[1].ip), receiver.port, str(shared[0].ip), True)
    else:
        why = f"the fabric addresses of {sender} and {receiver.name} are in different networks"
    own = nodes[sender].address
    bind = own if facts[sender].interface_of(own) else None
    return Hop(sender, receiver.name, user, receiver.address, receiver.port, bind, False, why)


def origins(one: Hop, facts: Facts) -> tuple[str, ...]:
    """The sender's addresses that the receiver may see."""
    if one.bind:
        return (one.bind,)
    known = (address.ip for interface in facts.interfaces for address in interface.ipv4)
    return tuple(str(address) for address in known if not address.is_loopback)


def _addresses(facts: Facts, link: Link) -> list[IPv4Interface]:
    """The address of the link, then those of all cables: in a ring, each cable has a network of its own."""
    every = [(one.name, own) for one in facts.interfaces if one.up for own in one.ipv4]
    first = (own for name, own in every if name == link.interface and str(own.ip) == link.address)
    return list(dict.fromkeys((*first, *(own for port in facts.ports for one in port.usable for own in one.ipv4))))


def _shared(ours: Sequence[IPv4Interface], theirs: Sequence[IPv4Interface]) -> Sequence[IPv4Interface]:
    """The first addresses of both in one network; empty without any."""
    return next(((one, other) for one in ours for other in theirs if one.network == other.network), ())
