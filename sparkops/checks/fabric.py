"""Checks of the CX7 fabric between the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from sparkops.core.facts import Fabric, Unread, ring
from sparkops.core.findings import Finding
from sparkops.core.situation import Situation


def cx7_usable(s: Situation) -> Iterator[Finding]:
    """Only asked of a cluster: solo topologies never use the fabric."""
    if s.revision.topology != "cluster":
        return
    for place in s.placement.engines:
        facts = s.facts[place.node.name]
        found = facts.find_fabric(place.node.fabric_address)
        problem = found.reason if isinstance(found, Unread) else "" if found.devices else _plain(found)
        if problem:
            yield Finding(
                "cx7-usable",
                "fail",
                f"no usable CX7 link: {problem}",
                hint="check the cable and the addresses (`sparkops facts`); --allow cx7-usable goes over plain "
                "Ethernet, many times slower",
                node=place.node.name,
            )


def no_ring(s: Situation) -> Iterator[Finding]:
    """Only asked of a cluster, as above."""
    engines = [place.node.name for place in s.placement.engines] if s.revision.topology == "cluster" else []
    if ring({name: s.facts[name].interfaces for name in engines}):
        yield Finding(
            "no-ring",
            "fail",
            f"the CX7 ports of {', '.join(engines)} are cabled as a ring, which is not supported yet",
            hint="use a switch, or --limit to two of them",
        )


def _plain(found: Fabric) -> str:
    return f"{found.address} is on {found.interface}, which has no active RDMA device"
