"""Checks of each node's side of the CX7 fabric and of its subnets. Only a cluster uses it."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from sparkops.checks.check import LINKS, CannotTell, FabricCheck, Here, Said, asked, fail, good, read, some, warn
from sparkops.core.fabric import End
from sparkops.core.facts import Facts, Interface, Link, Unread, known
from sparkops.core.facts.reading import grouped

NETPLAN = "/etc/netplan/40-cx7.yaml (mode 600), then: sudo netplan apply"
FULL, HALF = 200_000, 100_000
"""Mb/s of one cable, as each of its two netdevs reports it."""

PROPOSED = tuple(IPv4Network(f"{net}.0/24") for net in ("192.168.100", "192.168.177", "10.20.0", "172.30.100"))
BRIDGES = ("docker", "br-", "virbr", "lxdbr", "cni", "flannel", "podman")
TUNNELS = ("tailscale", "wg", "tun", "zt", "veth")
"""Interfaces made by software. A bridge keeps its route while nothing uses it."""

LOST = "try sudo reboot on the node; if that does not help, unplug the power for a minute (sudo dmesg shows errors)"
READ_THEM = "run `ip -j addr` on the node; if it fails there too, reboot the node: sudo reboot"
SET_UP = "give the interfaces what they lack: `sparkops fabric setup`"
SPARE = f"{SET_UP}; or unplug the second cable: one cable is enough for the full bandwidth of a GB10"


@FabricCheck(
    id="cx7-usable",
    title="Every node of a cluster has a usable CX7 link",
    why="Without the link, NCCL silently uses the management network, and the model is many times slower.",
    source="NVIDIA/dgx-spark-playbooks, connect-two-sparks; NCCL falls back to TCP sockets without a message",
    hint="check the cable; `sparkops facts` shows the interfaces and their addresses",
    severity="fail",
    deploys=True,
).each_node
def usable(here: Here) -> Iterator[Said]:
    """Without a cable, an address, or an address on the link, NCCL silently uses plain Ethernet."""
    addresses = asked(here.facts.ip_addr)
    if isinstance(addresses, Unread):
        yield fail(
            f"the IP addresses could not be read ({addresses.reason}), so the CX7 link cannot be checked", READ_THEM
        )
        return
    found = link(here)
    problem = ""
    if isinstance(found, Unread):
        problem = found.reason
    elif not found.devices:
        problem = f"the fabric address {found.address} is on {found.interface}, which has no active RDMA device"
    if problem:
        yield fail(problem, _hint(problem), _shown(here))
    else:
        yield good(evidence=_shown(here))


def link(here: Here) -> Link | Unread:
    """The link that the cluster uses on this node, or why there is none."""
    return here.s.links[here.name] if here.name in here.s.links else here.facts.find_link(here.node.fabric_address)


def used(here: Here) -> tuple[Interface, ...]:
    """The netdevs of the QSFP port in use, the one with the fabric address first; of all ports with a cable in a ring.

    Raises CannotTell without a link: only `cx7-usable` reports that.
    """
    read(here.facts.ip_addr)
    found, ends = link(here), [end for end in here.s.cabling.ends if end.node == here.name]
    name = None if isinstance(found, Unread) else found.port
    # the cable of a triangle may lead to a node that is not reached, and another one to the node that is
    if ends and not (here.s.cabling.one_network and (name is None or End(here.name, name) in ends)):
        return tuple(one for end in ends for one in here.s.fabric.ports[end].interfaces)
    if isinstance(found, Unread) or name is None:
        raise CannotTell("no CX7 link (see the check cx7-usable)")
    port = next(port for port in here.facts.ports if port.name == name)
    return tuple(sorted(port.interfaces, key=lambda one: one.name != found.interface))


def cabled(here: Here) -> tuple[Interface, ...]:
    """Interfaces of the QSFP port in use, else of the first port with link."""
    try:
        return used(here)
    except CannotTell:
        plugged = next((port for port in here.facts.ports if port.up), None)
        if plugged is None or here.node.fabric_address:
            raise
        return plugged.interfaces


@FabricCheck(
    id="cx7-twins",
    title="Both interfaces of the QSFP port are up",
    why=(
        "A GB10 connects each QSFP port through two PCIe x4 links, and each link has its own network interface. One "
        "interface carries only half of the 200 Gb/s."
    ),
    source="eugr/spark-vllm-docker, docs/NETWORKING.md (measured: one interface 92 to 112 Gb/s, both 185 to 198 Gb/s)",
    hint=f"on the node: sudo ip link set INTERFACE up; add both interfaces to {NETPLAN}",
).each_node
def both_up(here: Here) -> Iterator[Said]:
    found = cabled(here)
    for alone in (both[0].name for both in grouped((one.port, one) for one in found).values() if len(both) < 2):
        yield warn(f"the port has one interface, {alone}, not two: the link has half of its bandwidth", LOST)
    for name in (one.name for one in found if not one.up):
        up = f"on the node: sudo ip link set {name} up; give it an IPv4 address in {NETPLAN}"
        yield warn(f"{name} is down: the link has half of its bandwidth", up, _shown(here))


@FabricCheck(
    id="cx7-addresses",
    title="Both interfaces of the QSFP port have an IPv4 address",
    why=(
        "NCCL uses an interface only if it has its own IPv4 address. A link-local address (169.254.x.x) may change, "
        "so do not write one into the inventory."
    ),
    source="NVIDIA/dgx-spark-playbooks, connect-two-sparks: 192.168.100.N and 192.168.101.N",
    hint=SET_UP,
).each_node
def addresses(here: Here) -> Iterator[Said]:
    if not any(one.ipv4 for one in used(here)):
        raise CannotTell("no address (see the check cx7-usable)")
    with_address = {one.port for one in used(here) if one.ipv4}
    for one in used(here):
        if one.up and not one.ipv4:
            lost = "the link has half of its bandwidth" if one.port in with_address else "its cable is not used"
            yield warn(f"{one.name} has no IPv4 address: {lost}", evidence=_shown(here))
        elif one.ipv4 and all(address.ip.is_link_local for address in one.ipv4):
            yield warn(f"{one.name} has only a link-local address, which may change", evidence=_shown(here))
    mine = {one.name for one in used(here)}
    beside = [one for port in here.facts.ports for one in port.interfaces if one.name not in mine]
    if idle := [one.name for one in beside if one.up and not one.ipv4]:
        hint = SET_UP if here.s.away else SPARE  # it may lead to a node that was not reached
        yield warn(f"the cable in the other QSFP port is not used: no IPv4 address on {some(idle)}", hint)


@FabricCheck(
    id="cx7-speed",
    title="The link runs at 200 Gb/s",
    why="A switch port with autonegotiation runs at 100 Gb/s. A lower or unknown speed means a bad cable or port.",
    source="NVIDIA/dgx-spark-playbooks, multi-sparks-through-switch: ethtool must print 200000Mb/s",
    hint="on the switch: set 200G-baseCR4 without autonegotiation; without a switch: reseat or replace the cable",
    severity="fail",
    deploys=True,
).each_node
def speed(here: Here) -> Iterator[Said]:
    read(here.facts.net)
    for (port, mbps), both in grouped(((one.port, one.speed_mbps), one.name) for one in cabled(here) if one.up).items():
        names = f"{port}{_towards(here, str(port))} ({', '.join(both)})"
        if mbps is None:
            yield fail(f"the speed of {names} is unknown")
        elif mbps < FULL:
            say = fail if mbps < HALF else warn
            yield say(f"{names} runs at {mbps // 1000} Gb/s instead of {FULL // 1000} Gb/s")
        else:
            yield good(evidence=f"{names} {mbps // 1000} Gb/s")


def _towards(here: Here, port: str) -> str:
    """Where the cable of a port leads: to another node's port, or to what LLDP names; empty if that is not known."""
    segment = here.s.fabric.segment_of.get(End(here.name, port))
    others = [end for end in segment.ends if end.node != here.name] if segment else []
    told = here.s.lldp(here.name)
    named = [told[one.name] for one in here.facts.interfaces if one.port == port and one.name in told]
    return f" to {others[0]}" if len(others) == 1 else f" at {named[0]}" if named else ""


@FabricCheck(
    id="cx7-rdma",
    title="The RDMA devices are active",
    why="An RDMA device may be down although its interface is up. NCCL then uses TCP: at most 9 instead of 23 GB/s.",
    source="rdma-link(8): a usable device has `state ACTIVE physical_state LINK_UP`",
    hint="try sudo reboot on the node; if `rdma link` still shows no ACTIVE device, unplug the power for a minute",
    severity="fail",
).each_node
def rdma(here: Here) -> Iterator[Said]:
    up = [one for one in cabled(here) if one.up]
    for one in up:
        if one.rdma is None:
            yield fail(f"{one.name} has no RDMA device")
        elif not one.rdma.active:
            yield fail(
                f"the RDMA device {one.rdma.name} of {one.name} is {one.rdma.state.rpartition(' ')[2] or 'not active'}"
            )
        else:
            yield good(evidence=f"{one.rdma.name} {one.rdma.state}")


@FabricCheck(
    id="rdma-devices",
    title="Containers can use the RDMA devices",
    why="Containers get the RDMA devices from /dev/infiniband. Without them NCCL uses slow TCP sockets.",
    source="Blackwellboy/model-serving-minefield: without /dev/infiniband there is no RDMA",
    hint="on the node: sudo modprobe -a ib_uverbs rdma_cm mlx5_ib",
    severity="fail",
    reads=(*LINKS, "dev-infiniband"),
).each_node
def devices(here: Here) -> Iterator[Said]:
    if not here.facts.ports:
        raise CannotTell("no CX7 link (see the check cx7-usable)")
    found = read(here.facts.dev_infiniband)
    if not any(name.startswith("uverbs") for name in found):
        yield fail("/dev/infiniband has no uverbs device: containers cannot use RDMA")
    elif "rdma_cm" not in found:
        yield warn("/dev/infiniband has no device rdma_cm", evidence=", ".join(found))


def _hint(problem: str) -> str:
    go_on = "or use plain Ethernet, which is many times slower: deploy with --allow cx7-usable"
    if "no active RDMA" in problem:
        return (
            "on the node: sudo modprobe -a mlx5_ib ib_uverbs rdma_cm; then check: rdma link; if no device is ACTIVE: "
            f"sudo reboot; {go_on}"
        )
    if "no interface has" in problem:
        return f"give the interface this address in {NETPLAN}, or correct `fabric_address` in the inventory; {go_on}"
    if "no IPv4" in problem:
        return f"{SET_UP}; {go_on}"
    return (
        "plug in the cable (same port on all nodes); if the link stays down: sudo reboot; then check: "
        f"`sparkops preflight`; {go_on}"
    )


def _shown(here: Here) -> str:
    rows = (one for port in here.facts.ports for one in port.interfaces)
    told = (f"{one.name} {one.state or '?'} {one.speed_mbps or '-'} {one.address or 'no IPv4'}" for one in rows)
    return ", ".join(told) or "no CX7 interface"


@FabricCheck(
    id="cx7-subnets",
    title="The two interfaces of the QSFP port are in different subnets",
    why="If both share a subnet, replies may leave through the wrong interface (ARP flux), and NCCL times out.",
    source="NVIDIA/dgx-spark-playbooks: the guide uses two subnets, the setup script one, so this check only warns",
    hint=(
        f"give the second interface another subnet in {NETPLAN}; or on the node: sudo sysctl -w "
        "net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"
    ),
    reads=(*LINKS, "sysctl"),
).each_node
def subnets(here: Here) -> Iterator[Said]:
    """Include the interfaces of a second cable: a route may use either."""
    mine = used(here)
    others = (one for port in here.facts.ports for one in port.interfaces if one not in mine)
    networks = [(one.name, address.network) for one in (*mine, *others) if one.up for address in one.ipv4]
    for (first, network), (second, other) in combinations(networks, 2):
        if first != second and network.overlaps(other) and not network.is_link_local:
            ignore, announce = _arp(here.facts, "arp_ignore"), _arp(here.facts, "arp_announce")
            shared, evidence = (
                f"{first} and {second} share the subnet {network}",
                f"arp_ignore={ignore} arp_announce={announce}",
            )
            if ignore in ("1", "2") and announce == "2":
                yield good(f"{shared}, but each answers ARP only for its own address", evidence)
            else:
                yield warn(shared, evidence=evidence)
            return
    yield good(evidence=", ".join(f"{name} {network}" for name, network in networks))


def _arp(facts: Facts, name: str) -> str:
    return known(facts.sysctl, {}).get(f"net/ipv4/conf/all/{name}", "?")


@FabricCheck(
    id="cx7-lan",
    title="The fabric's subnets do not overlap the subnet of a LAN, bridge or tunnel",
    why=(
        "If subnets overlap, packets take the wrong route. Setup scripts choose 192.168.0.0/24 and 192.168.1.0/24, "
        "which most home networks use. Docker uses 172.17.0.0/16 to 172.31.0.0/16, then parts of 192.168.0.0/16."
    ),
    source="NVIDIA/dgx-spark-playbooks, multi-sparks-through-switch, detect_and_configure_cluster_networking.py",
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
    """The first usual subnet that the node does not use yet."""
    taken = [network for _, network in elsewhere(facts)]
    return next((one for one in PROPOSED if not any(one.overlaps(other) for other in taken)), PROPOSED[0])


def _collision(name: str, network: IPv4Network, other: str, theirs: IPv4Network, hint: str) -> Said:
    """Routes prefer the narrower subnet, so a wider subnet of a bridge or tunnel is only a warning."""
    if other.startswith(BRIDGES + TUNNELS) and theirs.prefixlen < network.prefixlen:
        return warn(f"{name}'s subnet {network} is a part of {other}'s subnet {theirs}: {other} may lose traffic", hint)
    return fail(f"{name}'s subnet {network} overlaps {other}'s subnet {theirs}: packets take the wrong route", hint)


def elsewhere(facts: Facts) -> list[tuple[str, IPv4Network]]:
    """Subnets of all other interfaces: LAN, containers, virtual machines and tunnels."""
    rest = (one for one in facts.interfaces if one.port is None and one.name != "lo")
    kept = (one for one in rest if one.up or one.name.startswith(BRIDGES))
    return [(one.name, address.network) for one in kept for address in one.ipv4]
