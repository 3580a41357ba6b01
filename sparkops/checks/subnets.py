"""Checks of each node's fabric subnets: one an interface, and none that the LAN, a bridge or a tunnel has too."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from sparkops.checks.check import LINKS, FabricCheck, Here, Said, fail, good, warn
from sparkops.checks.fabric import NETPLAN, used
from sparkops.core.facts import Facts, known

PROPOSED = tuple(IPv4Network(f"{net}.0/24") for net in ("192.168.100", "192.168.177", "10.20.0", "172.30.100"))
BRIDGES = ("docker", "br-", "virbr", "lxdbr", "cni", "flannel", "podman")
TUNNELS = ("tailscale", "wg", "tun", "zt", "veth")
"""Made by software. The route of a bridge stays while nothing is on it."""


@FabricCheck(
    id="cx7-subnets",
    title="The two interfaces are in different subnets",
    why="In one subnet, answers may leave through the other interface (ARP flux), and NCCL's queue pairs time out.",
    source="NVIDIA's current text has two subnets, its setup script one: sources differ, so it is a warning",
    hint=(f"give the second interface another subnet in {NETPLAN}; or set the sysctls arp_ignore=1 and arp_announce=2"),
    reads=(*LINKS, "sysctl"),
).each_node
def subnets(here: Here) -> Iterator[Said]:
    """Those of a second cable are looked at too: routes do not know which cable was meant."""
    mine = used(here)
    others = (one for port in here.facts.ports for one in port.interfaces if one not in mine)
    networks = [(one.name, address.network) for one in (*mine, *others) if one.up for address in one.ipv4]
    for (first, network), (second, other) in combinations(networks, 2):
        if first != second and network.overlaps(other) and not network.is_link_local:
            evidence = f"arp_ignore={_arp(here.facts, 'arp_ignore')} arp_announce={_arp(here.facts, 'arp_announce')}"
            yield warn(f"{first} and {second} share the subnet {network}", evidence=evidence)
            return
    yield good(evidence=", ".join(f"{name} {network}" for name, network in networks))


def _arp(facts: Facts, name: str) -> str:
    return known(facts.sysctl, {}).get(f"net/ipv4/conf/all/{name}", "?")


@FabricCheck(
    id="cx7-lan",
    title="The fabric's subnets overlap no LAN, bridge or tunnel",
    why=(
        "Setup scripts choose 192.168.0.0/24 and 192.168.1.0/24, which most home networks use. Docker uses subnets "
        "from 172.17.0.0/16, then from 192.168.0.0/20. Routes then collide."
    ),
    source="NVIDIA multi-sparks-through-switch, detect_and_configure_cluster_networking.py",
    hint=f"choose another subnet for the fabric, such as 192.168.100.0/24, in {NETPLAN}",
    severity="fail",
    deploys=True,
).each_node
def lan(here: Here) -> Iterator[Said]:
    mine = [(one.name, address.network) for one in used(here) for address in one.ipv4]
    free = f"choose another subnet for the fabric, such as {_free(here.facts)}, in {NETPLAN}"
    for name, network in mine:
        for other, theirs in elsewhere(here.facts):
            if network.overlaps(theirs) and not network.is_link_local:
                yield _collision(name, network, other, theirs, free)


def _free(facts: Facts) -> IPv4Network:
    """One of those that guides propose which nothing on the node has yet."""
    taken = [network for _, network in elsewhere(facts)]
    return next((one for one in PROPOSED if not any(one.overlaps(other) for other in taken)), PROPOSED[0])


def _collision(name: str, network: IPv4Network, other: str, theirs: IPv4Network, hint: str) -> Said:
    """Routes go by the narrower subnet, so what software spans over the fabric only hides addresses from itself."""
    if other.startswith(BRIDGES + TUNNELS) and theirs.prefixlen < network.prefixlen:
        return warn(f"{name}'s subnet {network} lies within {theirs} of {other}: traffic of {other} may be lost", hint)
    return fail(
        f"{name}'s subnet {network} is also the subnet of {other} ({theirs}): packets take the wrong route", hint
    )


def elsewhere(facts: Facts) -> list[tuple[str, IPv4Network]]:
    """Subnets of whatever is not CX7: the LAN, and what containers, machines and tunnels were given."""
    rest = (one for one in facts.interfaces if one.port is None and one.name != "lo")
    kept = (one for one in rest if one.up or one.name.startswith(BRIDGES))
    return [(one.name, address.network) for one in kept for address in one.ipv4]
