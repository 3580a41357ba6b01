"""Cables: a switch in its own network namespace, one bridge a network, and a veth pair for every interface of a node.

A cable between two nodes is a veth pair from one to the other, which no bridge is part of. An interface without a
cable has its other end in the switch's namespace, in no bridge and down. The host is one more port of the management
bridge. Nothing is routed and no packet filter of the host is passed, so neither Docker's FORWARD rules nor other labs
matter.
"""

import ipaddress
import json
import random
from collections.abc import Iterable

from sparklab.cables import PORTS
from sparklab.docker_backend.engine import docker
from sparklab.docker_backend.place import INTERFACES, MANAGEMENT, NodePlace, Place
from sparklab.docker_backend.shell import run, tried
from sparklab.errors import LabError

BRIDGES = {MANAGEMENT: "management", **{interface: f"fabric{number}" for number, interface in enumerate(PORTS["p0"])}}
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


def plug(node: NodePlace) -> None:
    """Give a node that has just started its interfaces; the node itself configures them."""
    wires = Wires(node.lab)
    for interface in INTERFACES:
        wires.lay(node, interface)


def unplug(node: NodePlace) -> None:
    """Remove all interfaces, so that what is left of a dead node's network namespace cannot answer."""
    wires = Wires(node.lab)
    for interface in INTERFACES:
        wires.remove(node, interface)
        if opposite := node.opposite(interface):
            wires.loose(*opposite)


def cables(node: NodePlace, interfaces: Iterable[str], plugged: bool) -> None:
    """Plug or unplug these interfaces; a cable between two nodes has no link at either end then."""
    wires = Wires(node.lab)
    for interface in interfaces:
        mark = node.unplugged / interface
        if plugged:
            mark.unlink(missing_ok=True)
        else:
            mark.parent.mkdir(exist_ok=True)
            mark.touch()
        if node.opposite(interface):
            wires.lay(node, interface)
        else:
            tried("ip", "-n", node.lab.switch, "link", "set", node.end(interface), "up" if plugged else "down")


class Wires:
    """Veth pairs between the network namespaces of the switch and of the nodes that run now."""

    def __init__(self, place: Place) -> None:
        asked = ("inspect", "--format", "{{.State.Pid}}", *(node.container for node in place.nodes))
        pids = docker(place, *asked).split()
        self.pids = {node.name: pid for node, pid in zip(place.nodes, pids, strict=True) if pid != "0"}

    def lay(self, node: NodePlace, interface: str) -> None:
        """Lead an interface to where its cable leads. Without a link it is loose, and so is the opposite one."""
        opposite = node.opposite(interface)
        if opposite is None:
            self._switch(node, interface)
        elif all(self._linked(*end) for end in ((node, interface), opposite)):
            self.remove(*opposite)
            self._add(node, interface, *self._end(*opposite))
        else:
            self.loose(node, interface)
            self.loose(*opposite)

    def loose(self, node: NodePlace, interface: str) -> None:
        """Lead it nowhere, if its node runs: its other end lies in the switch's namespace, and is down."""
        if node.name in self.pids:
            self._add(node, interface, node.end(interface), "netns", node.lab.switch)

    def remove(self, node: NodePlace, interface: str) -> None:
        """Also where only the switch's end is left, of a node that was killed."""
        tried("ip", "-n", node.lab.switch, "link", "del", node.end(interface))
        if pid := self.pids.get(node.name):
            tried("nsenter", "-t", pid, "-n", "ip", "link", "del", interface)

    def _switch(self, node: NodePlace, interface: str) -> None:
        self.loose(node, interface)
        if bridge := BRIDGES.get(interface):  # the other ports have no cable
            mtu = "1500" if interface == MANAGEMENT else JUMBO
            state = "up" if self._linked(node, interface) else "down"
            _inside(node.lab, "link", "set", node.end(interface), "mtu", mtu, "master", bridge, state)

    def _linked(self, node: NodePlace, interface: str) -> bool:
        """Has it a link, if the other end has?"""
        return node.name in self.pids and not (node.unplugged / interface).exists()

    def _add(self, node: NodePlace, interface: str, *peer: str) -> None:
        self.remove(node, interface)
        run("ip", "link", "add", *self._end(node, interface), "type", "veth", "peer", "name", *peer)

    def _end(self, node: NodePlace, interface: str) -> tuple[str, ...]:
        return interface, "address", node.mac(interface), "netns", self.pids[node.name]


def _inside(place: Place, *words: str) -> None:
    run("ip", "-n", place.switch, *words)
