"""Subnets and addresses that no node of the fabric uses yet."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from itertools import chain

from sparkops.core.facts import Facts
from sparkops.errors import UsageError

POOL = tuple(map(IPv4Network, ("192.168.100.0/22", "192.168.104.0/21", "192.168.112.0/20", "10.20.0.0/16")))
"""NVIDIA's playbook connect-two-sparks has the first two /24 networks, eugr's setup-cluster.sh the last network."""

EXAMPLE = "10.30.0.0/16"

FIRST_HOST = 10
"""The first node's number in a subnet, as in NVIDIA's playbook."""

LONGEST_PREFIX = 24
LARGEST = 240
"""Nodes in one /24 network; more get a /20."""


def problem(text: str) -> str | None:
    """Why no subnets can be taken from this network."""
    try:
        network = IPv4Network(text)
    except ValueError:
        return "is not an IPv4 network"
    if network.prefixlen > LONGEST_PREFIX or not network.is_private:
        return f"has no private /{LONGEST_PREFIX} subnet"
    return None


def asked_pool(text: str) -> str:
    """The network that a user names for new subnets; raises UsageError."""
    if why := problem(text):
        raise UsageError(f"--pool {text} {why}", hint=f"name a network such as --pool {EXAMPLE}")
    return text


@dataclass
class AddressPool:
    """Gives out subnets and addresses, none twice. `named` are those that nodes are to get."""

    pool: Sequence[IPv4Network]
    used: set[IPv4Network]
    taken: set[IPv4Address]
    named: dict[str, IPv4Interface]

    @classmethod
    def beside(
        cls,
        facts: Mapping[str, Facts],
        reserved: Iterable[IPv4Interface],
        named: Mapping[str, str],
        pool: Sequence[IPv4Network],
    ) -> "AddressPool":
        """What no node has yet."""
        interfaces = [one for its in facts.values() for one in its.interfaces if one.name != "lo"]
        every = {address for one in interfaces for address in one.ipv4}
        taken = {address.ip for address in every}
        wanted = {node: IPv4Interface(f"{address}/{LONGEST_PREFIX}") for node, address in named.items()}
        new = {node: address for node, address in wanted.items() if address.ip not in taken}
        every |= {*new.values(), *reserved}
        return cls(pool, {one.network for one in every}, {one.ip for one in every}, new)

    def subnet(self, nodes: int) -> IPv4Network:
        prefix = LONGEST_PREFIX if nodes <= LARGEST else LONGEST_PREFIX - 4
        large = (one for one in self.pool if one.prefixlen <= prefix)
        subnets = chain.from_iterable(one.subnets(new_prefix=prefix) for one in large)
        found = next((one for one in subnets if not any(map(one.overlaps, self.used))), None)
        if found is None:
            raise UsageError(
                f"{', '.join(map(str, self.pool))}: no further /{prefix} subnet is free for the fabric",
                hint=f"name a network that the nodes do not use yet, such as --pool {EXAMPLE}",
            )
        self.used.add(found)
        return found

    def address(self, node: str, network: IPv4Network) -> IPv4Interface | None:
        """The node's named one, else the first free one, from the usual number on, and then from the first."""
        if node in self.named and self.named[node].network == network:
            return self.named.pop(node)
        numbers = chain(range(FIRST_HOST, network.num_addresses - 1), range(1, FIRST_HOST))
        hosts = (network.network_address + number for number in numbers if number < network.num_addresses - 1)
        found = next((one for one in hosts if one not in self.taken), None)
        if found is None:
            return None
        self.taken.add(found)
        return IPv4Interface(f"{found}/{network.prefixlen}")
