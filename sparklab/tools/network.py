"""ip, ibdev2netdev, rdma, ethtool and ping, all from the same list of interfaces."""

import json
from typing import Any

from sparklab.layout import Node, here
from sparklab.tools.say import fail, out
from sparklab.tree import network as tree
from sparklab.tree.network import interfaces

FOREVER = 4294967295
PLAIN = 1472
"""The payload of a packet of 1500 bytes."""


def main(name: str, words: list[str]) -> int:
    return PROGRAMS[name](here(), words)


def ibdev2netdev(node: Node, words: list[str]) -> int:
    up = {interface["name"]: interface["up"] for interface in interfaces(node)}
    for device, netdev, _active in tree.rdma(node):
        out(f"{device} port 1 ==> {netdev} ({'Up' if up[netdev] else 'Down'})")
    return 0


def rdma(node: Node, words: list[str]) -> int:
    for device, netdev, active in tree.rdma(node):
        state = "state ACTIVE physical_state LINK_UP" if active else "state DOWN physical_state DISABLED"
        out(f"link {device}/1 {state} netdev {netdev}")
    return 0


def ethtool(node: Node, words: list[str]) -> int:
    name = words[-1] if words else ""
    found = next((i for i in interfaces(node) if i["name"] == name), None)
    if found is None:
        return fail("netlink error: No such device", 75)
    up = found["up"]
    speed = f"{found['speed']}Mb/s" if up else "Unknown!"
    port = "Direct Attach Copper" if found["port"] else "Twisted Pair"
    duplex = "Full" if up else "Unknown! (255)"
    link = "yes" if up else "no (No cable)"
    out(
        f"Settings for {name}:\n\tSpeed: {speed}\n\tDuplex: {duplex}\n\tAuto-negotiation: on\n\tPort: {port}\n\tLink detected: {link}"
    )
    return fail("netlink error: Operation not permitted", 0)


def ping(node: Node, words: list[str]) -> int:
    """Reaches the lab's own addresses; not over the fabric when either end's link is down."""
    target = words[-1]
    peer = node.at(target)
    down = node.cut_off_from(target)
    count = int(words[words.index("-c") + 1]) if "-c" in words else 1
    size = int(words[words.index("-s") + 1]) if "-s" in words else 56
    out(f"PING {target} ({target}) {size}({size + 28}) bytes of data.")
    reached = peer is not None and target != peer.loopback and not down
    if peer is not None and target in peer.fabric:
        reached = reached and not any(_loses(one, size) for one in (node, peer))
    if reached:
        for number in range(1, count + 1):
            out(f"{size + 8} bytes from {target}: icmp_seq={number} ttl=64 time=0.4{number % 10} ms")
    got = count if reached else 0
    out(
        f"\n--- {target} ping statistics ---\n{count} packets transmitted, {got} received, {0 if reached else 100}% packet loss, time 0ms"
    )
    return 0 if reached else 1


def _loses(node: Node, size: int) -> bool:
    return node.fault("pings-lost") or (size > PLAIN and node.fault("big-pings-lost"))


def ip(node: Node, words: list[str]) -> int:
    options = [word for word in words if word.startswith("-")]
    rest = [word for word in words if not word.startswith("-")] or ["addr"]
    name = rest[rest.index("dev") + 1] if "dev" in rest else rest[-1] if len(rest) > 2 else ""
    chosen = [i for i in interfaces(node) if name in ("", i["name"])]
    if "route".startswith(rest[0]):
        return _route(node, options, rest)
    if name and not chosen:
        return fail(f'Device "{name}" does not exist.')
    addresses = "address".startswith(rest[0])
    if any(option in ("-j", "-json") for option in options):
        out(json.dumps([_json(index, interface, addresses) for index, interface in enumerate(chosen, start=1)]))
    elif any(option in ("-br", "-brief") for option in options):
        for interface in chosen:
            out(_brief(interface, addresses))
    elif any(option in ("-o", "-oneline") for option in options) and addresses:
        for index, interface in enumerate(chosen, start=1):
            for address, prefix in interface["addresses"]:
                out(
                    f"{index}: {interface['name']}    inet {address}/{prefix} scope global {interface['name']}\\       valid_lft forever"
                )
    else:
        for index, interface in enumerate(chosen, start=1):
            out(_long(index, interface, addresses))
    return 0


def _route(node: Node, options: list[str], rest: list[str]) -> int:
    network = ".".join(node.address.split(".")[:3])
    if "get" in rest:
        target = rest[-1]
        links = tree.addressed(node)
        device = next((n for n, a in links.items() if target.split(".")[:3] == a.split(".")[:3]), "enP7s7")
        source = links.get(device, node.address)
        out(f"{target} dev {device} src {source} uid 1000 \n    cache ")
    elif any(option in ("-j", "-json") for option in options):
        out(
            json.dumps(
                [{"dst": "default", "gateway": f"{network}.1", "dev": "enP7s7", "protocol": "dhcp", "flags": []}]
            )
        )
    else:
        out(f"default via {network}.1 dev enP7s7 proto dhcp src {node.address} metric 100 ")
        out(f"{network}.0/24 dev enP7s7 proto kernel scope link src {node.address} metric 100 ")
    return 0


def _flags(interface: dict[str, Any]) -> list[str]:
    if interface["name"] == "lo":
        return ["LOOPBACK", "UP", "LOWER_UP"]
    return (
        ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"]
        if interface["up"]
        else ["NO-CARRIER", "BROADCAST", "MULTICAST", "UP"]
    )


def _state(interface: dict[str, Any]) -> str:
    return "UNKNOWN" if interface["name"] == "lo" else "UP" if interface["up"] else "DOWN"


def _brief(interface: dict[str, Any], addresses: bool) -> str:
    head = f"{interface['name']:<16} {_state(interface):<14} "
    if addresses:
        return head + "".join(f"{address}/{prefix} " for address, prefix in interface["addresses"])
    return f"{head}{interface['mac']} <{','.join(_flags(interface))}> "


def _long(index: int, interface: dict[str, Any], addresses: bool) -> str:
    name, state = interface["name"], _state(interface)
    kind = "loopback" if name == "lo" else "ether"
    text = f"{index}: {name}: <{','.join(_flags(interface))}> mtu {interface['mtu']} qdisc mq state {state} group default qlen 1000\n"
    text += f"    link/{kind} {interface['mac']} brd ff:ff:ff:ff:ff:ff"
    for address, prefix in interface["addresses"] if addresses else []:
        scope = "host" if name == "lo" else "global"
        text += f"\n    inet {address}/{prefix} scope {scope} {name}\n       valid_lft forever preferred_lft forever"
    return text


def _json(index: int, interface: dict[str, Any], addresses: bool) -> dict[str, Any]:
    loop = interface["name"] == "lo"
    found: dict[str, Any] = {
        "ifindex": index,
        "ifname": interface["name"],
        "flags": _flags(interface),
        "mtu": interface["mtu"],
        "qdisc": "noqueue" if loop else "mq",
        "operstate": _state(interface),
        "group": "default",
        "txqlen": 1000,
        "link_type": "loopback" if loop else "ether",
        "address": interface["mac"],
        "broadcast": "00:00:00:00:00:00" if loop else "ff:ff:ff:ff:ff:ff",
    }
    if addresses:
        found["addr_info"] = [
            {
                "family": "inet",
                "local": address,
                "prefixlen": prefix,
                "scope": "host" if loop else "global",
                "label": interface["name"],
                "valid_life_time": FOREVER,
                "preferred_life_time": FOREVER,
            }
            for address, prefix in interface["addresses"]
        ]
    return found


PROGRAMS = {"ip": ip, "ibdev2netdev": ibdev2netdev, "rdma": rdma, "ethtool": ethtool, "ping": ping}
