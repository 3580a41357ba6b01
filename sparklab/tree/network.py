"""Interfaces of a node: one cable in port 0, both its interfaces up with their own subnets, as sysfs and as data for `ip`."""

import os
from typing import Any

from sparklab import files
from sparklab.layout import Node

FABRIC = ("enp1s0f0np0", "enP2p1s0f0np0")
OTHER_PORT = ("enp1s0f1np1", "enP2p1s0f1np1")
CX7 = ("enp1s0", "enP2p1")
RDMA = {
    "rocep1s0f0": "enp1s0f0np0",
    "rocep1s0f1": "enp1s0f1np1",
    "roceP2p1s0f0": "enP2p1s0f0np0",
    "roceP2p1s0f1": "enP2p1s0f1np1",
}
MACS = {"enP7s7": 0x11, "enp1s0f0np0": 0x12, "enp1s0f1np1": 0x13, "enP2p1s0f0np0": 0x16, "enP2p1s0f1np1": 0x17}
ORDER = ("lo", "enP7s7", "enp1s0f0np0", "enp1s0f1np1", "enP2p1s0f0np0", "enP2p1s0f1np1", "wlP9s9", "docker0")


def interfaces(node: Node) -> list[dict[str, Any]]:
    """Every interface in the kernel's order: name, up, mtu, mac, speed, port, (address, prefix) pairs."""
    stem = node.record["mac"]
    ours = fabric(node)
    addresses = {
        "lo": [("127.0.0.1", 8)],
        "enP7s7": [(node.address, node.record["prefix"])],
        "docker0": [_docker(node)],
    }
    addresses |= {name: [(address, node.record["prefix"])] for name, address in addressed(node).items()}
    found = []
    for name in ORDER:
        up = name in ("lo", "enP7s7", *ours)
        cx7 = name.startswith(CX7)
        if cx7 and node.fault("no-cable"):
            continue
        found.append(
            {
                "name": name,
                "up": up,
                "mtu": 65536 if name == "lo" else _mtu(node) if name in ours else 1500,
                "mac": _mac(stem, name),
                "speed": (_speed(node) if cx7 else 10000) if up else -1,
                "port": name[-2:] if cx7 else "",
                "addresses": addresses.get(name, []),
            }
        )
    return found


def port_in_use(node: Node) -> tuple[str, str]:
    """The two netdevs of the port that the cable is in."""
    return OTHER_PORT if node.fault("other-cage") else FABRIC


def fabric(node: Node) -> tuple[str, ...]:
    """The interfaces that are up, as the node's faults have it now."""
    return () if node.unplugged else port_in_use(node)[:1] if node.fault("one-twin-down") else port_in_use(node)


def addressed(node: Node) -> dict[str, str]:
    """The interfaces that are up and have an IPv4 address."""
    found = dict(zip(fabric(node), node.fabric, strict=False))
    return dict(list(found.items())[:1]) if node.fault("twin-without-ipv4") else found


def _docker(node: Node) -> tuple[str, int]:
    """Of the bridge that Docker makes on every node."""
    if node.fault("bridge-on-fabric"):
        return f"{node.fabric[0].rpartition('.')[0]}.254", node.record["prefix"]
    return "172.17.0.1", 16


def _speed(node: Node) -> int:
    return 100000 if node.fault("link-100g") else 10000 if node.fault("link-10g") else 200000


def _mtu(node: Node) -> int:
    return 1500 if node.fault("small-mtu") else 9000


def _mac(stem: str, name: str) -> str:
    if name == "lo":
        return "00:00:00:00:00:00"
    return f"{stem}:{MACS.get(name, 0x8C if name == 'wlP9s9' else 0xBD):02x}"


def publish(node: Node) -> None:
    """Write /sys/class/net and /sys/class/infiniband as they are now."""
    for kind in ("net", "infiniband"):
        absent = [name for name in (*MACS, *RDMA) if name.startswith((*CX7, "roce"))] if node.fault("no-cable") else []
        for name in absent:
            files.clear(node.root("sys", "class", kind, name))
    for interface in interfaces(node):
        base = f"sys/class/net/{interface['name']}"
        up = interface["up"]
        values = {
            "operstate": "unknown" if interface["name"] == "lo" else "up" if up else "down",
            "carrier": "1" if up else "0",
            "mtu": str(interface["mtu"]),
            "speed": str(interface["speed"]),
            "address": interface["mac"],
        }
        if interface["port"]:
            values["phys_port_name"] = interface["port"]
            values["device/vendor"] = "0x15b3"
        for name, value in values.items():
            put(node, f"{base}/{name}", value + "\n")
    addresses = dict(zip(port_in_use(node), node.fabric, strict=True))
    for device, name, up in rdma(node):
        publish_rdma(node, device, name, up, addresses.get(name, ""))


def rdma(node: Node) -> list[tuple[str, str, bool]]:
    """RDMA device, its netdev, and whether it is active."""
    states = {interface["name"]: interface["up"] for interface in interfaces(node)}
    found = [(device, name) for device, name in RDMA.items() if name in states]
    return [(device, name, states[name] and not node.fault("rdma-down")) for device, name in found]


def publish_rdma(node: Node, device: str, name: str, up: bool, address: str) -> None:
    base = f"sys/class/infiniband/{device}"
    port = f"{base}/ports/1"
    put(node, f"{port}/state", "4: ACTIVE\n" if up else "1: DOWN\n")
    put(node, f"{port}/phys_state", "5: LinkUp\n" if up else "3: Disabled\n")
    put(node, f"{port}/rate", "200 Gb/sec (4X HDR)\n" if up else "40 Gb/sec (4X QDR)\n")
    put(node, f"{port}/link_layer", "Ethernet\n")
    put(node, f"{base}/device/net/{name}/mtu", "9000\n")
    put(node, f"{base}/fw_ver", "28.47.1088\n" if node.fault("firmware-differs") else "28.45.4028\n")
    if not address:
        return
    link_local = "fe80:0000:0000:0000:4ebb:47ff:fe2d:1a17"
    mapped = "0000:0000:0000:0000:0000:ffff:" + _hex(address) if up and not node.fault("gid-missing") else NO_GID
    for index in range(4):
        put(node, f"{port}/gids/{index}", (link_local if index < 2 else mapped) + "\n")
        put(node, f"{port}/gid_attrs/types/{index}", ("RoCE v2" if index % 2 else "IB/RoCE v1") + "\n")
        put(node, f"{port}/gid_attrs/ndevs/{index}", name + "\n")


NO_GID = "0000:" * 7 + "0000"


def _hex(address: str) -> str:
    a, b, c, d = (int(part) for part in address.split("."))
    return f"{a:02x}{b:02x}:{c:02x}{d:02x}"


def put(node: Node, path: str, text: str) -> None:
    """A new file at once, an old one so that readers see either text."""
    target = node.root(path)
    (files.write if os.path.exists(target) else files.make)(target, text)
