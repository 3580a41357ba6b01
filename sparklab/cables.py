"""Which QSFP ports of a lab's nodes are connected, and the addresses of their interfaces."""

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

OF_A_CABLE = 29
"""Prefix length of a cable's subnets. Behind a longer one, sparkops expects a router."""

BEHIND_SWITCH = 32
"""The blocks of addresses before this one are those of nodes on a switch (`layout.addresses`)."""

Ports = dict[str, dict[str, Any]]
"""By port: its `segment`, the `other` node of a cable (None for a switch), its `addresses` and their `prefix`."""


def check(fabric: str, nodes: int) -> None:
    """Raises LabError if so many nodes cannot be connected like this."""
    if fabric not in FABRICS:
        raise LabError(f"no fabric is called {fabric}", f"one of: {', '.join(FABRICS)}")
    size = SIZES.get(fabric, 1)
    if more := -nodes % size:
        raise LabError(f"{fabric}s need a multiple of {size} nodes, not {nodes}", f"try --nodes {nodes + more}")
    if fabric == "ring" and nodes < 4:
        raise LabError(f"a ring has at least 4 nodes, not {nodes}", "three nodes are a triangle: --fabric triangle")


def ports(fabric: str, octet: int, index: int, nodes: int, switched: tuple[tuple[str, str], int]) -> Ports:
    """The cabled ports of one node (from 1). On a switch its interfaces have the two addresses `switched`."""
    kind, first, size = _group(fabric, index, nodes)
    if kind == SWITCH:
        addresses, prefix = switched
        return {"p0": {"segment": SWITCH, "other": None, "addresses": list(addresses), "prefix": prefix}}
    following, before = (first + (index - first + step) % size for step in (1, -1))
    if kind == "pair":
        return {"p0": _cable(octet, first, index, following)}
    return {"p0": _cable(octet, index, index, following), "p1": _cable(octet, before, index, before)}


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


def _cable(octet: int, number: int, index: int, other: int) -> dict[str, Any]:
    """Cable `number`, of which each end's two interfaces are in two subnets of its own."""
    block, place = divmod(number - 1, 32)
    fourth = 8 * place + (1 if index == number else 2)
    addresses = [f"127.{octet}.{64 * side + BEHIND_SWITCH + block}.{fourth}" for side in (1, 2)]
    return {"segment": f"cable{number}", "other": f"node{other}", "addresses": addresses, "prefix": OF_A_CABLE}
