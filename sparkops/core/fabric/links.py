"""Which port of each node a cluster on one cable or switch uses."""

from collections.abc import Mapping, Sequence

from sparkops.core.fabric.cabling import Cabling
from sparkops.core.fabric.graph import End, Fabric
from sparkops.core.facts import Facts, Link, Unread
from sparkops.core.inventory import Node


def links(
    fabric: Fabric, cabling: Cabling, nodes: Sequence[Node], facts: Mapping[str, Facts]
) -> dict[str, Link | Unread]:
    """Each node's link, or why it has none: the port of `fabric_address`, else the first with the most addresses.

    If these are not on one cable or switch, but other ports of all nodes are, then those.
    """
    found = {node.name: facts[node.name].find_link(node.fabric_address) for node in nodes}
    whole = [one for one in cabling.segments if len(one.nodes) == len(nodes)]
    used = {End(name, one.port or "") for name, one in found.items() if not isinstance(one, Unread)}
    if not whole or any(node.fabric_address for node in nodes) or any(used <= {*one.ends} for one in whole):
        return found
    ends = {node.name: whole[0].end_of(node.name) for node in nodes}
    usable = {name: fabric.ports[end].usable for name, end in ends.items() if end}
    if len(usable) < len(nodes) or not all(usable.values()):
        return found
    return {name: facts[name].find_link(its[0].address) for name, its in usable.items()}
