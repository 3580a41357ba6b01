"""Checks of the CX7 fabric between the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from sparkops.core.facts import Unread
from sparkops.core.findings import Finding
from sparkops.core.situation import Situation


def cx7_usable(s: Situation) -> Iterator[Finding]:
    """Only asked of a cluster: solo topologies never use the fabric."""
    if s.revision.topology != "cluster":
        return
    for place in s.placement.engines:
        facts = s.facts[place.node.name]
        found = facts.find_fabric(place.node.fabric_address)
        if isinstance(found, Unread):
            yield Finding(
                "cx7-usable",
                "fail",
                f"no usable CX7 link: {found.reason}",
                hint="check the cable and the addresses (`sparkops facts`); --allow cx7-usable goes over the "
                "management network, many times slower",
                node=place.node.name,
            )
