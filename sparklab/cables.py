"""Which QSFP ports of a lab's nodes are connected, and the addresses of their interfaces."""

from typing import Any

from sparklab.errors import LabError

FABRICS = ("switch", "pair", "triangle", "ring")
PORTS = {"p0": ("enp1s0f0np0", "enP2p1s0f0np0"), "p1": ("enp1s0f1np1", "enP2p1s0f1np1")}
"""The two interfaces of each port."""

SWITCH = "switch"
MOST_CABLES = 64
SIZES = {"pair": 2, "triangle": 3}
"""Nodes of one pair and of one triangle; a ring has all nodes of the lab."""

Ports = dict[str, dict[str, Any]]
"""By port: its `segment`, the `other` node of a cable (None for a switch), its `addresses`."""


def check(fabric: str, nodes: int) -> None:
    """Raises LabError if so many nodes cannot be connected like this."""
    if fabric not in FABRICS:
        raise LabError(f"no fabric is called {fabric}", f"one of: {', '.join(FABRICS)}")
    size = SIZES.get(fabric, 1)
    if more := -nodes % size:
        raise LabError(f"{fabric}s need a multiple of {size} nodes, not {nodes}", f"try --nodes {nodes + more}")
    if fabric == "ring" and nodes < 4:
        raise LabError(f"a ring has at least 4 nodes, not {nodes}", "three nodes are a triangle: --fabric triangle")
    if fabric != SWITCH and nodes > MOST_CABLES:
        raise LabError(f"a lab has at most {MOST_CABLES} nodes with cables between them", "try --fabric switch")


def ports(fabric: str, octet: int, index: int, nodes: int, switched: tuple[str, str]) -> Ports:
    """The cabled ports of one node (from 1). On a switch its interfaces have the two addresses `switched`."""
    if fabric == SWITCH:
        return {"p0": {"segment": SWITCH, "other": None, "addresses": list(switched)}}
    if fabric == "pair":
        other = index + 1 if index % 2 else index - 1
        return {"p0": _cable(octet, min(index, other), index, other)}
    size = SIZES.get(fabric, nodes)
    first = index - (index - 1) % size
    following, before = (first + (index - first + step) % size for step in (1, -1))
    return {"p0": _cable(octet, index, index, following), "p1": _cable(octet, before, index, before)}


def _cable(octet: int, number: int, index: int, other: int) -> dict[str, Any]:
    """Cable `number`, of which each end's two interfaces are in two subnets of its own."""
    addresses = [f"127.{octet}.{64 * side + number - 1}.{10 + index}" for side in (1, 2)]
    return {"segment": f"cable{number}", "other": f"node{other}", "addresses": addresses}
