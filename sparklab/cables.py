"""Which QSFP ports of a lab's nodes are connected, and the addresses of their interfaces."""

from collections.abc import Callable
from typing import Any

from sparklab.errors import LabError

FABRICS = ("switch", "pair", "triangle", "ring", "mixed")
PORTS = {"p0": ("enp1s0f0np0", "enP2p1s0f0np0"), "p1": ("enp1s0f1np1", "enP2p1s0f1np1")}
"""The two interfaces of each port."""

SWITCH = "switch"
SIZES = {"pair": 2, "triangle": 3}
"""Nodes of one pair and of one triangle; a ring has all nodes of the lab."""

MIXED = (("pair", 2), ("triangle", 3), ("ring", 4), (SWITCH, 4))
"""The groups of a mixed lab, again and again; of the last ones, those without all their nodes are on the switch."""

Ports = dict[str, dict[str, Any]]
"""By port: its `segment`, the `other` node of a cable (None for a switch), its `addresses` and their `prefix`."""

Addressed = Callable[[int | None, int], dict[str, Any]]
"""The `addresses` and `prefix` of a port, by the number of its cable and which end it is (1 or 2); for a switch, by
None and the number of the node."""


def check(fabric: str, nodes: int) -> None:
    """Raises LabError if so many nodes cannot be connected like this."""
    if fabric not in FABRICS:
        raise LabError(f"no fabric is called {fabric}", f"one of: {', '.join(FABRICS)}")
    size = SIZES.get(fabric, 1)
    if more := -nodes % size:
        raise LabError(f"{fabric}s need a multiple of {size} nodes, not {nodes}", f"try --nodes {nodes + more}")
    if fabric == "ring" and nodes < 4:
        raise LabError(f"a ring has at least 4 nodes, not {nodes}", "three nodes are a triangle: --fabric triangle")


def ports(fabric: str, index: int, nodes: int, addressed: Addressed) -> Ports:
    """The cabled ports of one node (from 1)."""
    kind, first, size = _group(fabric, index, nodes)
    if kind == SWITCH:
        return {"p0": {"segment": SWITCH, "other": None} | addressed(None, index)}

    def cable(number: int, other: int) -> dict[str, Any]:
        ends = {"segment": f"cable{number}", "other": f"node{other}"}
        return ends | addressed(number, 1 if index == number else 2)

    following, before = (first + (index - first + step) % size for step in (1, -1))
    if kind == "pair":
        return {"p0": cable(first, following)}
    return {"p0": cable(index, following), "p1": cable(before, before)}


def _group(fabric: str, index: int, nodes: int) -> tuple[str, int, int]:
    """The kind of the group that the node is cabled in, its first node, and how many nodes it has."""
    if fabric != "mixed":
        size = SIZES.get(fabric, nodes)
        return fabric, index - (index - 1) % size, size
    first = index - (index - 1) % sum(size for _, size in MIXED)
    for kind, size in MIXED:
        if index < first + size:
            return kind if first + size - 1 <= nodes else SWITCH, first, size
        first += size
    raise AssertionError(index)
