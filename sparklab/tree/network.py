"""Interfaces of a node: both of a port with a cable are up, in subnets of their own; as sysfs and as data for `ip`."""

import os
from typing import Any

from sparklab import files
from sparklab.cables import PORTS, SWITCH
from sparklab.layout import Node

Interface = dict[str, Any]
"""name, up, mtu, mac, link_local, speed, port, addresses: pairs of address and prefix."""

CX7 = ("enp1s0", "enP2p1")
RDMA = {
    "rocep1s0f0": "enp1s0f0np0",
    "rocep1s0f1": "enp1s0f1np1",
    "roceP2p1s0f0": "enP2p1s0f0np0",
    "roceP2p1s0f1": "enP2p1s0f1np1",
}
MACS = {
    "enP7s7": 0x11, "enp1s0f0np0": 0x12, "enp1s0f1np1": 0x13, "enP2p1s0f0np0": 0x16, "enP2p1s0f1np1": 0x17,
    "wlP9s9": 0x8C, "docker0": 0xBD,
}  # fmt: skip
"""The last byte of each address; the interfaces are in the kernel's order, without `lo`."""

MOST_HEARD = 64
"""Nodes of a large switch that answer in time."""

STRANGER = "fe80::1"
"""What answers at the other end of a cable that leads to none of the lab's nodes."""


def interfaces(node: Node) -> list[Interface]:
    """Every interface in the kernel's order."""
    prefix, ours, applied = node.record["prefix"], fabric(node), node.applied
    addresses = {"lo": ("127.0.0.1", 8), "enP7s7": (node.address, prefix), "docker0": ("172.17.0.1", 16)}
    if node.fault("bridge-on-fabric"):
        addresses["docker0"] = (f"{node.fabric[0].rpartition('.')[0]}.254", prefix)
    addresses |= {name: (address, _prefix(node, name)) for name, address in addressed(node).items()}
    found = []
    for name in ("lo", *MACS):
        up, cx7 = name in ("lo", "enP7s7", *ours), name.startswith(CX7)
        if cx7 and node.fault("no-cable"):
            continue
        large = name in applied or (name in ours and not node.fault("small-mtu") and not node.fault("not-set-up"))
        mtu = 65536 if name == "lo" else 9000 if large else 1500
        mac = f"{node.record['mac']}:{MACS[name]:02x}" if name in MACS else "00:00:00:00:00:00"
        found.append(
            {
                "name": name,
                "up": up,
                "mtu": mtu,
                "mac": mac,
                "link_local": link_local(mac) if up and name != "lo" and not node.fault("no-ipv6") else "",
                "speed": (_speed(node, name) if cx7 else 10000) if up else -1,
                "port": name[-2:] if cx7 else "",
                "addresses": [addresses[name]] if name in addresses else [],
            }
        )
    return found


def _prefix(node: Node, name: str) -> int:
    port = next(port for port, names in PORTS.items() if name in names)
    return int(node.ports.get(port, {}).get("prefix", node.record["prefix"]))


def _speed(node: Node, name: str) -> int:
    """Mb/s of a port: a cable is as slow as its slower end."""
    port = next(port for port, names in PORTS.items() if name in names)
    other = node.ports.get(port, {}).get("other")
    return min(_end_speed(end) for end in (node, *([node.beside(other)] if other else [])))


def _end_speed(node: Node) -> int:
    return 10000 if node.fault("link-10g") else 100000 if node.fault("link-100g") else 200000


def fabric(node: Node) -> tuple[str, ...]:
    """Return the fabric interfaces that are up."""
    found = [name for port in sorted(node.links) for name in PORTS[port]]
    return tuple(found[::2] if node.fault("one-twin-down") else found)


def configured(node: Node) -> dict[str, str]:
    """Return the IPv4 address that each fabric interface is given, up or down."""
    found = {
        name: own for port, one in node.ports.items() for name, own in zip(PORTS[port], one["addresses"], strict=True)
    }
    if node.fault("not-set-up"):
        found = {name: own for name, own in found.items() if "address" in node.applied.get(name, {})}
    if node.fault("subnet-differs"):
        found |= {name: _moved(own) for name, own in found.items() if name == next(iter(found))}
    if node.fault("address-twice"):
        found |= dict(list(zip(found, node.beside("node1").fabric, strict=False))[:1])
    return found


def _moved(address: str) -> str:
    """The address in a subnet that no other interface has."""
    first, second, _, fourth = address.split(".")
    return f"{first}.{second}.250.{fourth}"


def addressed(node: Node) -> dict[str, str]:
    """Return the IPv4 address of each fabric interface that is up and has one."""
    own, up = configured(node), fabric(node)
    bare = up[1::2] if node.fault("twin-without-ipv4") else ()
    return {name: own[name] for name in up if name in own and (name not in bare or name in node.applied)}


def link_local(mac: str) -> str:
    """The IPv6 address that an interface gives itself by its hardware address."""
    first, second, third, fourth, fifth, sixth = (int(part, 16) for part in mac.split(":"))
    return f"fe80::{(first ^ 2) << 8 | second:x}:{third:02x}ff:fe{fourth:02x}:{fifth << 8 | sixth:x}"


def hears(node: Node, name: str) -> list[str]:
    """The link-local addresses that answer at an interface: its own, and what its cable leads to."""
    port = next((port for port, names in PORTS.items() if name in names), "")
    segment = node.links.get(port)
    if segment is None or node.fault("no-ipv6"):
        return []
    switched = node.ports.get(port, {}).get("segment") == segment == SWITCH
    ends = {node.name} | {one["other"] for one in node.ports.values() if one["segment"] == segment and one["other"]}
    nodes = node.siblings()[:MOST_HEARD] if switched else [node.beside(end) for end in ends]
    found = [address for one in nodes for address in _answers(one, segment)]
    return [*found, STRANGER] if segment.startswith("a device") else found


def _answers(node: Node, segment: str) -> list[str]:
    """The link-local addresses of a node's interfaces on a segment."""
    names = {name for port, one in node.links.items() if one == segment for name in PORTS[port]}
    return (
        []
        if node.fault("pings-lost")
        else [one["link_local"] for one in interfaces(node) if one["name"] in names and one["link_local"]]
    )


def publish(node: Node) -> None:
    """Write /sys/class/net and /sys/class/infiniband as they are now."""
    if node.fault("no-cable"):
        for name in filter(lambda name: name.startswith(CX7), MACS):
            files.clear(node.root("sys", "class", "net", name))
        for device in RDMA:
            files.clear(node.root("sys", "class", "infiniband", device))
    for interface in interfaces(node):
        up, port = interface["up"], interface["port"]
        values = {
            "operstate": "unknown" if interface["name"] == "lo" else "up" if up else "down",
            "carrier": "1" if up else "0",
            **{name: interface[name] for name in ("mtu", "speed")},
            "address": interface["mac"],
            **({"phys_port_name": port, "device/vendor": "0x15b3"} if port else {}),
        }
        _put_all(node, f"sys/class/net/{interface['name']}", values)
    addresses = configured(node)
    for device, name, up in rdma(node):
        _publish_rdma(node, device, name, up, addresses.get(name, ""))


def name_sockets(node: Node) -> None:
    """Record how the kernel's table of sockets writes the node's addresses."""
    mine = (node.address, *node.fabric, node.loopback)
    names = ("".join(f"{int(part):02X}" for part in reversed(address.split("."))) for address in mine)
    files.make(node.path("sockets"), f"{' '.join(names)}\n")


def rdma(node: Node) -> list[tuple[str, str, bool]]:
    """RDMA device, its netdev, and whether it is active."""
    states = {interface["name"]: interface["up"] for interface in interfaces(node)}
    found = [(device, name) for device, name in RDMA.items() if name in states]
    return [(device, name, states[name] and not node.fault("rdma-down")) for device, name in found]


def _publish_rdma(node: Node, device: str, name: str, up: bool, address: str) -> None:
    """`address` is empty for a netdev of the other port, which has no table of GIDs."""
    values = {
        "ports/1/state": "4: ACTIVE" if up else "1: DOWN",
        "ports/1/phys_state": "5: LinkUp" if up else "3: Disabled",
        "ports/1/rate": _rate(node) if up else "40 Gb/sec (4X QDR)",
        "ports/1/link_layer": "Ethernet",
        **dict.fromkeys(("ports/1/counters/port_rcv_data", "ports/1/counters/port_xmit_data"), "0"),
        f"device/net/{name}/mtu": "9000",
        "fw_ver": "28.47.1088" if node.fault("firmware-differs") else "28.45.4028",
    }
    link_local = "fe80:0000:0000:0000:4ebb:47ff:fe2d:1a17"
    mapped = _mapped(address) if address and up and not node.fault("gid-missing") else ":".join(["0000"] * 8)
    for index, gid in enumerate((link_local, link_local, mapped, mapped) if address else ()):
        values[f"ports/1/gids/{index}"] = gid
        values[f"ports/1/gid_attrs/types/{index}"] = "RoCE v2" if index % 2 else "IB/RoCE v1"
        values[f"ports/1/gid_attrs/ndevs/{index}"] = name
    _put_all(node, f"sys/class/infiniband/{device}", values)


def _rate(node: Node) -> str:
    """How the kernel words the speed of an RDMA device."""
    slow = {"link-100g": "100 Gb/sec (2X HDR)", "link-10g": "10 Gb/sec (4X SDR)"}
    return next((rate for fault, rate in slow.items() if node.fault(fault)), "200 Gb/sec (4X HDR)")


def _mapped(address: str) -> str:
    """The IPv4 address as the kernel writes it in a GID."""
    a, b, c, d = (int(part) for part in address.split("."))
    return f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"


def _put_all(node: Node, base: str, values: dict[str, Any]) -> None:
    for name, value in values.items():
        put(node, f"{base}/{name}", f"{value}\n")


def put(node: Node, path: str, text: str) -> None:
    """Write a file; readers of an existing one see the old or the new text."""
    target = node.root(path)
    (files.write if os.path.exists(target) else files.make)(target, text)
