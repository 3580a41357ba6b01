"""The fabric for JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from sparkops.core.fabric import Cabling, End, Fabric, Segment, cabling_of
from sparkops.core.fabric.bandwidth import Carried, Side
from sparkops.core.facts import Interface, Port
from sparkops.core.situation import Situation


def drawn(s: Situation) -> dict[str, Any]:
    """All ports, and what connects them."""
    return {
        "kind": s.cabling.kind,
        "order": list(s.cabling.order),
        "islands": [{"kind": one.kind, "order": list(one.order)} for one in _islands(s)],
        "segments": [_segment(s.fabric, one) for one in s.fabric.segments],
        "ports": [
            {
                **_end(end),
                "up": port.up,
                "speed_mbps": _speed(port),
                "interfaces": [_interface(one, s.lldp(end.node)) for one in port.interfaces],
            }
            for end, port in s.fabric.ports.items()
        ],
        "measured": None if s.measured is None else [_measured(one) for one in s.measured],
    }


def _islands(s: Situation) -> Iterator[Cabling]:
    return (cabling_of(s.fabric, island) for island in s.cabling.islands)


def _end(end: End) -> dict[str, str]:
    return {"node": end.node, "port": end.port}


def _segment(fabric: Fabric, segment: Segment) -> dict[str, Any]:
    subnets = {str(network): None for end in segment.ends for network in fabric.ports[end].networks}
    return {
        "switch": fabric.switched(segment),
        "ends": [_end(end) for end in segment.ends],
        "speed_mbps": min((speed for end in segment.ends if (speed := _speed(fabric.ports[end]))), default=None),
        "subnets": list(subnets),
        "heard": segment.heard,
    }


def _measured(one: Carried) -> dict[str, Any]:
    return {
        "from": _side(one.couple.sender),
        "to": _side(one.couple.receiver),
        "gbps": one.gbps,
        "problem": one.problem or None,
    }


def _side(side: Side) -> dict[str, str]:
    return {"node": side.node, "interface": side.interface}


def _speed(port: Port) -> int | None:
    """A port is as fast as the slower one of its interfaces says: each reports the speed of the cable."""
    return min((one.speed_mbps for one in port.interfaces if one.up and one.speed_mbps), default=None)


def _interface(one: Interface, lldp: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": one.name,
        "up": one.up,
        "speed_mbps": one.speed_mbps,
        "mtu": one.mtu,
        "mac": one.mac,
        "addresses": [str(address) for address in one.ipv4],
        "lldp": lldp.get(one.name),
        "rdma": one.rdma and {"device": one.rdma.name, "active": one.rdma.active, "firmware": one.rdma.firmware},
        "gids": [
            {"index": gid.index, "kind": gid.kind, "address": gid.ipv4 or gid.address}
            for gid in (one.rdma.gids if one.rdma else ())
        ],
    }
