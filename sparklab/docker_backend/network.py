"""Cables: a switch in its own network namespace, one bridge a network, and a veth pair for every interface of a node.

The host is one more port of the management bridge. Nothing is routed and no packet filter of the host is passed,
so neither Docker's FORWARD rules nor other labs matter.
"""

import ipaddress
import json
import random

from sparklab.docker_backend.place import FABRIC, INTERFACES, MANAGEMENT, NodePlace, Place
from sparklab.docker_backend.shell import run, tried
from sparklab.errors import LabError

BRIDGES = {MANAGEMENT: "management", **{interface: f"fabric{number}" for number, interface in enumerate(FABRIC)}}
JUMBO = "9000"


def free_subnet() -> str:
    """The first three numbers of a /24 that no route of this machine covers."""
    routes = [route["dst"] for route in json.loads(run("ip", "-j", "-4", "route") or "[]") if route["dst"] != "default"]
    taken = [ipaddress.ip_network(route, strict=False) for route in routes]
    numbers = list(range(1, 255))
    random.shuffle(numbers)
    for number in numbers:
        wanted = ipaddress.ip_network(f"10.86.{number}.0/24")
        if not any(wanted.overlaps(network) for network in taken):
            return f"10.86.{number}"
    raise LabError(
        "no free management network is left below 10.86.0.0/16",
        "stop other labs on this machine: `sparkops lab down` with their SPARKOPS_LAB_DIR",
    )


def up(place: Place) -> None:
    """The switch and the host's port."""
    run("ip", "netns", "add", place.switch)
    for bridge in BRIDGES.values():
        _inside(place, "link", "add", bridge, "type", "bridge")
        _inside(place, "link", "set", bridge, "mtu", JUMBO, "up")
    run("ip", "link", "add", place.uplink, "type", "veth", "peer", "name", "host", "netns", place.switch)
    _inside(place, "link", "set", "host", "master", BRIDGES[MANAGEMENT], "up")
    run("ip", "addr", "add", f"{place.record['subnet']}.1/24", "dev", place.uplink)
    run("ip", "link", "set", place.uplink, "up")


def down(place: Place) -> None:
    """Remove the lab's network; interfaces go with their namespace or their peer."""
    tried("ip", "link", "del", place.uplink)
    tried("ip", "netns", "del", place.switch)


def plug(node: NodePlace, pid: int) -> None:
    """Give a node that has just started its interfaces; the node itself configures them."""
    for interface in INTERFACES:
        _connect(node, pid, interface, BRIDGES.get(interface))


def unplug(node: NodePlace) -> None:
    """Remove all cables, so that what is left of a dead node's network namespace cannot answer."""
    for interface in INTERFACES:
        tried("ip", "-n", node.lab.switch, "link", "del", node.cable(interface))


def _connect(node: NodePlace, pid: int, interface: str, bridge: str | None) -> None:
    end = node.cable(interface)
    tried("ip", "-n", node.lab.switch, "link", "del", end)
    words = ["ip", "link", "add", interface, "address", node.mac(interface), "netns", str(pid), "type", "veth"]
    run(*words, "peer", "name", end, "netns", node.lab.switch)
    if bridge:
        if bridge != BRIDGES[MANAGEMENT]:
            _inside(node.lab, "link", "set", end, "mtu", JUMBO)
        _inside(node.lab, "link", "set", end, "master", bridge, "up")


def cables(node: NodePlace, interfaces: tuple[str, ...], plugged: bool) -> None:
    """Plug or unplug these interfaces. With two nodes, both ends of the CX7 cable lose the link."""
    others = [other for other in node.lab.nodes if other.index != node.index]
    ends = [node, *others] if len(others) == 1 and MANAGEMENT not in interfaces else [node]
    for end in ends:
        for interface in interfaces:
            tried("ip", "-n", node.lab.switch, "link", "set", end.cable(interface), "up" if plugged else "down")


def _inside(place: Place, *words: str) -> None:
    run("ip", "-n", place.switch, *words)
