"""How copies spread: chains in which every node that lacks an image gets it from the node before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    elif _networks(facts[sender], ours) & _networks(facts[receiver.name], theirs):
        return Hop(sender, receiver.name, user, theirs.address, receiver.port, ours.address, True)
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


def _networks(facts: Facts, link: Link) -> frozenset[str]:
    found = next((one for one in facts.interfaces if one.name == link.interface), None)
    own = [address for address in found.ipv4 if str(address.ip) == link.address] if found else []
    return frozenset(str(address.network) for address in own)
