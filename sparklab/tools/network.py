"""ip, ibdev2netdev, rdma, ethtool and ping, all from the same list of interfaces."""

import json
import os
from ipaddress import ip_interface
from typing import Any

from sparklab.layout import Node, here
from sparklab.tools.say import fail, out
from sparklab.tree import network as tree
from sparklab.tree.network import Interface, interfaces

FOREVER = 4294967295
PLAIN = 1472
"""The payload of a packet of 1500 bytes."""


def main(name: str, words: list[str]) -> int:
    node = here()
    match name:
        case "ibdev2netdev":
            up = {interface["name"]: interface["up"] for interface in interfaces(node)}
            for device, netdev, _ in tree.rdma(node):
                out(f"{device} port 1 ==> {netdev} ({'Up' if up[netdev] else 'Down'})")
        case "rdma":
            for device, netdev, active in tree.rdma(node):
                state = "state ACTIVE physical_state LINK_UP" if active else "state DOWN physical_state DISABLED"
                out(f"link {device}/1 {state} netdev {netdev}")
        case "ethtool":
            return ethtool(node, words[-1] if words else "")
        case "ping":
            return ping(node, words)
        case "ip":
            return ip(node, words)
    return 0


def ethtool(node: Node, name: str) -> int:
    found = next((interface for interface in interfaces(node) if interface["name"] == name), None)
    if found is None:
        return fail("netlink error: No such device", 75)
    up = found["up"]
    about = {
        "Speed": f"{found['speed']}Mb/s" if up else "Unknown!",
        "Duplex": "Full" if up else "Unknown! (255)",
        "Auto-negotiation": "on",
        "Port": "Direct Attach Copper" if found["port"] else "Twisted Pair",
        "Link detected": "yes" if up else "no (No cable)",
    }
    out("\n\t".join([f"Settings for {name}:", *(f"{key}: {value}" for key, value in about.items())]))
    return fail("netlink error: Operation not permitted", 0)


def ping(node: Node, words: list[str]) -> int:
    """Reaches the lab's own addresses; over the fabric only what the cable of the interface leads to."""
    target = words[-1]
    if "-6" in words:
        if "-i" in words and float(words[words.index("-i") + 1]) < 1:
            return fail(
                "ping: minimal interval for multicast ping for user must be >= 1000 ms, use -i 1 (or higher)", 2
            )
        return _ping_all(node, target.partition("%")[2])
    peer = node.at(target)
    count = int(words[words.index("-c") + 1]) if "-c" in words else 1
    size = int(words[words.index("-s") + 1]) if "-s" in words else 56
    reached = peer is not None and target != peer.loopback and not node.cut_off_from(target)
    if peer is not None and target in peer.fabric:
        bound = words[words.index("-I") + 1] if "-I" in words else ""
        reached = reached and _in_its_subnet(node, bound, target) and not any(_loses(one, size) for one in (node, peer))
    out(f"PING {target} ({target}) {size}({size + 28}) bytes of data.")
    got = count if reached else 0
    for number in range(1, got + 1):
        out(f"{size + 8} bytes from {target}: icmp_seq={number} ttl=64 time=0.4{number % 10} ms")
    out(f"\n--- {target} ping statistics ---")
    out(f"{count} packets transmitted, {got} received, {0 if reached else 100}% packet loss, time 0ms")
    return 0 if reached else 1


def _in_its_subnet(node: Node, interface: str, target: str) -> bool:
    """Does the interface that the ping is bound to have an address beside the target's, if it is bound to one?"""
    own = tree.addressed(node).get(interface)
    return not interface or own is None or _network(node, own) == _network(node, target)


def _network(node: Node, address: str) -> object:
    return ip_interface(f"{address}/{node.record['prefix']}").network


def _ping_all(node: Node, interface: str) -> int:
    """Ask all IPv6 nodes at an interface; each answers, the interface itself too."""
    heard = tree.hears(node, interface)
    out(f"PING ff02::1%{interface} (ff02::1%{interface}) 56 data bytes")
    for number, address in enumerate(heard):
        more = " (DUP!)" if number else ""
        out(f"64 bytes from {address}%{interface}: icmp_seq=1 ttl=64 time=0.4{number % 10} ms{more}")
    out(f"\n--- ff02::1%{interface} ping statistics ---")
    out(f"1 packets transmitted, {min(len(heard), 1)} received, +{max(len(heard) - 1, 0)} duplicates, 0% packet loss")
    return 0 if heard else 1


def _loses(node: Node, size: int) -> bool:
    return node.fault("pings-lost") or (size > PLAIN and node.fault("big-pings-lost"))


def ip(node: Node, words: list[str]) -> int:
    options = [word.lstrip("-") for word in words if word.startswith("-")]
    rest = [word for word in words if not word.startswith("-")] or ["addr"]
    if "route".startswith(rest[0]):
        return _route(node, not {"j", "json"}.isdisjoint(options), rest)
    if rest[1:2] == ["set"]:
        return 0 if os.environ.get("SPARKLAB_SUDO") == "1" else fail("RTNETLINK answers: Operation not permitted", 2)
    name = rest[rest.index("dev") + 1] if "dev" in rest else rest[-1] if len(rest) > 2 else ""
    chosen = [interface for interface in interfaces(node) if name in ("", interface["name"])]
    if name and not chosen:
        return fail(f'Device "{name}" does not exist.')
    addresses = "address".startswith(rest[0])
    if {"j", "json"} & {*options}:
        out(json.dumps([_json(index, interface, addresses) for index, interface in enumerate(chosen, start=1)]))
        return 0
    for index, interface in enumerate(chosen, start=1):
        if {"br", "brief"} & {*options}:
            out(_brief(interface, addresses))
        elif {"o", "oneline"} & {*options} and addresses:
            for own, size in interface["addresses"]:
                title = interface["name"]
                out(f"{index}: {title}    inet {own}/{size} scope global {title}\\       valid_lft forever")
        else:
            out(_long(index, interface, addresses))
    return 0


def _route(node: Node, as_json: bool, rest: list[str]) -> int:
    network = node.address.rpartition(".")[0]
    if "get" in rest:
        target, links = rest[-1], tree.addressed(node)
        alike = (name for name, own in links.items() if own.rpartition(".")[0] == target.rpartition(".")[0])
        device = next(alike, "enP7s7")
        out(f"{target} dev {device} src {links.get(device, node.address)} uid 1000 \n    cache ")
    elif as_json:
        route = {"dst": "default", "gateway": f"{network}.1", "dev": "enP7s7", "protocol": "dhcp", "flags": []}
        out(json.dumps([route]))
    else:
        out(f"default via {network}.1 dev enP7s7 proto dhcp src {node.address} metric 100 ")
        out(f"{network}.0/24 dev enP7s7 proto kernel scope link src {node.address} metric 100 ")
    return 0


def _flags(interface: Interface) -> list[str]:
    if interface["name"] == "lo":
        return ["LOOPBACK", "UP", "LOWER_UP"]
    shared = ["BROADCAST", "MULTICAST", "UP"]
    return [*shared, "LOWER_UP"] if interface["up"] else ["NO-CARRIER", *shared]


def _state(interface: Interface) -> str:
    return "UNKNOWN" if interface["name"] == "lo" else "UP" if interface["up"] else "DOWN"


def _brief(interface: Interface, addresses: bool) -> str:
    head = f"{interface['name']:<16} {_state(interface):<14} "
    if addresses:
        return head + "".join(f"{address}/{prefix} " for address, prefix in interface["addresses"])
    return f"{head}{interface['mac']} <{','.join(_flags(interface))}> "


def _long(index: int, interface: Interface, addresses: bool) -> str:
    name = interface["name"]
    kind, scope = ("loopback", "host") if name == "lo" else ("ether", "global")
    about = f"mtu {interface['mtu']} qdisc mq state {_state(interface)} group default qlen 1000"
    text = f"{index}: {name}: <{','.join(_flags(interface))}> {about}\n"
    text += f"    link/{kind} {interface['mac']} brd ff:ff:ff:ff:ff:ff"
    for address, prefix in interface["addresses"] if addresses else []:
        text += f"\n    inet {address}/{prefix} scope {scope} {name}\n       valid_lft forever preferred_lft forever"
    return text


def _json(index: int, interface: Interface, addresses: bool) -> dict[str, Any]:
    loop, name = interface["name"] == "lo", interface["name"]
    found: dict[str, Any] = {
        "ifindex": index,
        "ifname": name,
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
    about = {"scope": "host" if loop else "global", "label": name}
    about |= dict.fromkeys(("valid_life_time", "preferred_life_time"), FOREVER)
    shown = [{"family": "inet", "local": own, "prefixlen": size, **about} for own, size in interface["addresses"]]
    if interface["link_local"]:
        six = {"family": "inet6", "local": interface["link_local"], "prefixlen": 64, **about, "scope": "link"}
        shown.append(six)
    return found | ({"addr_info": shown} if addresses else {})
