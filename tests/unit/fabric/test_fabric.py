"""Fabrics of emulated cables: what facts and answers of the peers tell of them, and what is said of mistakes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

import yaml

from sparkops.core.choice import Wanted, choose
from sparkops.core.copying import hop
from sparkops.core.fabric import cabling_of, graph
from sparkops.core.fabric.address_pool import POOL
from sparkops.core.fabric.addressing import InterfaceSetting, lacking
from sparkops.core.fabric.miscabling import miscablings, unsure
from sparkops.core.fabric.netplan import addresses, merged, readable
from sparkops.core.facts import Facts, Peers, absent
from sparkops.core.facts.network import Address
from sparkops.core.inventory import Node
from support import golden

NETDEVS = {"p0": ("enp1s0f0np0", "enP2p1s0f0np0"), "p1": ("enp1s0f1np1", "enP2p1s0f1np1")}


@dataclass(frozen=True)
class Plug:
    """A port as one word: `p0=CABLE:ADDRESS,ADDRESS`; the addresses are those of its two interfaces, a /24 each."""

    node: str
    port: str
    cable: str
    addresses: tuple[str, ...]

    @property
    def interfaces(self) -> tuple[str, str]:
        return NETDEVS[self.port]

    def link_local(self, interface: str) -> str:
        return f"fe80::{self.node.encode().hex()[-4:]}:{sum(interface.encode()):x}"


def plugs(text: str) -> list[Plug]:
    """The ports with a cable. A line names a node, then its ports."""
    found = []
    for node, *words in map(str.split, text.splitlines()):
        for word in words:
            port, _, rest = word.partition("=")
            cable, _, addresses = rest.partition(":")
            found.append(Plug(node, port, cable, tuple(addresses.split(",")) if addresses else ()))
    return found


def facts(mine: Sequence[Plug], deaf: bool) -> Facts:
    """A node's facts, of its interfaces only; without IPv6 if it is deaf."""
    plugged = {one.port: one for one in mine}
    net, ip = dict[str, Mapping[str, str]](), dict[str, Address]()
    for port, names in NETDEVS.items():
        plug = plugged.get(port)
        for place, name in enumerate(names):
            state = "up" if plug else "down"
            own = plug.addresses[place : place + 1] if plug else ()
            ipv4 = tuple(IPv4Interface(f"{address}/24") for address in own if address != "-")
            heard = plug.link_local(name) if plug and not deaf else ""
            net[name] = {"operstate": state, "carrier": "1" if plug else "0", "phys_port_name": port}
            ip[name] = Address(state, 9000, "", bool(plug), ipv4, heard)
    return replace(absent("not asked"), net=net, ip_addr=ip)


def peers(mine: Sequence[Plug], everyone: Sequence[Plug]) -> Peers:
    """What answers at each interface, its own addresses and a stranger's among them (a cable `?…`)."""
    heard = [
        (name, other.link_local(there))
        for one in mine
        for name in one.interfaces
        for other in everyone
        if other.cable == one.cable
        for there in other.interfaces
    ]
    heard += [(one.interfaces[0], "fe80::99") for one in mine if one.cable.startswith("?")]
    return Peers((), None, tuple(heard))


def outcome(block: str) -> str:
    lines = block.splitlines()
    deaf = lines[0] == "without IPv6"
    lines = lines[deaf:]
    nodes = [line.split()[0] for line in lines]
    everyone = plugs("\n".join(lines))
    known = {node: facts([one for one in everyone if one.node == node], deaf) for node in nodes}
    asked = {} if deaf else {node: peers([one for one in everyone if one.node == node], everyone) for node in nodes}
    fabric = graph(known, asked)
    found = cabling_of(fabric, nodes)
    said = [f"{found.kind}: {' '.join(found.order)}"]
    said += [" -- ".join(map(str, one.ends)) for one in fabric.segments]
    said += [f"{one.problem}\n  {one.remedy}" for one in miscablings(fabric, found)]
    said += [f"unknown: {', '.join(map(str, ends))}" for ends in [unsure(fabric, found)] if ends]
    return "\n".join(said)


def chosen(block: str) -> str:
    """The last line is what is wanted: copies x span, then `keeps COPIES` (such as `a+b,c+d`) and `short NODES`."""
    *lines, asked = block.splitlines()
    nodes = [line.split()[0] for line in lines]
    everyone = plugs("\n".join(lines))
    fabric = graph({node: facts([one for one in everyone if one.node == node], deaf=True) for node in nodes})
    sizes, *more = asked.split()
    copies, span = map(int, sizes.split("x"))
    named = dict(zip(more[::2], more[1::2], strict=True))
    short = dict.fromkeys(filter(None, named.get("short", "").split(",")), "too little memory")
    keeps = tuple(tuple(copy.split("+")) for copy in named.get("keeps", "").split(",") if copy)
    found = choose(Wanted(copies, span, keeps, short), nodes, fabric)
    return "\n".join([", ".join(map(" + ".join, found.copies)), *(f"{node}: {why}" for node, why in found.why.items())])


def addressed(block: str) -> str:
    """By node, what each interface lacks. First lines `pool NETWORK` and `named ADDRESS...` are other arguments.

    The interfaces of a node with a `*` have MTU 1500.
    """
    lines = block.splitlines()
    said = {line.split()[0]: line.split()[1:] for line in lines if line.startswith(("pool ", "named "))}
    lines = lines[len(said) :]
    pool = tuple(map(IPv4Network, said.get("pool", ()))) or POOL
    everyone = plugs("\n".join(lines))
    names = [line.split()[0] for line in lines]
    known = {node: facts([one for one in everyone if one.node == node], deaf=False) for node in names}
    small = {node: {name: replace(one, mtu=1500) for name, one in its.ip_addr.items()} for node, its in known.items()}
    known |= {node: replace(known[node], ip_addr=small[node], net={}) for node in names if node.endswith("*")}
    fabric = graph(known, {node: peers([one for one in everyone if one.node == node], everyone) for node in names})
    found = lacking(fabric, known, dict(zip(names, said.get("named", ()), strict=False)), pool)
    return "\n".join(
        f"{node} {name} {'' if one.new else 'MTU '}{', '.join(map(str, one.addresses))}"
        for node, its in found.items()
        for name, one in its.items()
    )


def test_kinds_and_miscablings() -> None:
    golden.hold_blocks(Path(__file__).with_name("fabrics.txt"), outcome)


def test_the_nodes_that_a_deployment_takes() -> None:
    golden.hold_blocks(Path(__file__).with_name("choices.txt"), chosen)


def test_the_addresses_that_interfaces_lack() -> None:
    golden.hold_blocks(Path(__file__).with_name("addresses.txt"), lambda block: golden.refusal(addressed, block))


def test_a_file_keeps_its_lines_and_one_that_a_person_changed_is_left_alone() -> None:
    one, other = (InterfaceSetting((IPv4Interface(f"10.0.{net}.1/24"),), new=True) for net in (1, 2))
    first = merged("", {"a0": one, "a1": replace(other, new=False)})
    both = merged(first, {"a0": replace(one, new=False), "b0": other})
    assert both.startswith(first)
    assert both.removeprefix(first).split(":")[0].strip() == "b0"
    assert yaml.safe_load(both)["network"]["ethernets"]["a1"] == {"mtu": 9000, "addresses": ["10.0.2.1/24"]}
    for changed in (
        first.replace("a1:", "# a1:"),
        first + "  wifis: {}\n",
        first.replace("10.0.1.1", "1.999.1"),
        "network: {version: 2}\n",
    ):
        assert not readable(changed)
    assert readable("")
    assert [*map(str, addresses(both))] == ["10.0.1.1/24", "10.0.2.1/24", "10.0.2.1/24"]


RING = """
node1 p0=a:10.0.1.1,10.0.2.1 p1=d:10.0.7.1,10.0.8.1
node2 p0=b:10.0.3.2,10.0.4.2 p1=a:10.0.1.2,10.0.2.2
node3 p0=c:10.0.5.3,10.0.6.3 p1=b:10.0.3.3,10.0.4.3
node4 p0=d:10.0.7.4,10.0.8.4 p1=c:10.0.5.4,10.0.6.4
"""


def test_neighbours_of_a_ring_copy_over_the_cable_between_them() -> None:
    plugged = plugs(RING.strip())
    names = list(dict.fromkeys(one.node for one in plugged))
    known = {name: facts([one for one in plugged if one.node == name], deaf=False) for name in names}
    nodes = {name: Node(name, f"192.0.2.{at}") for at, name in enumerate(names, 1)}
    ways = [hop(one, nodes[other], known, nodes) for one, other in zip(names, (*names[1:], names[0]), strict=True)]
    assert [(way.bind, way.address, way.fabric) for way in ways] == [
        ("10.0.1.1", "10.0.1.2", True), ("10.0.3.2", "10.0.3.3", True),
        ("10.0.5.3", "10.0.5.4", True), ("10.0.7.4", "10.0.7.1", True),
    ]  # fmt: skip
    assert not hop("node1", nodes["node3"], known, nodes).fabric, "no cable connects them"
