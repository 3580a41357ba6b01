"""Cables of the kernel (veth pairs) between network namespaces: who is at the other end shows without an address."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sparkops.core.fabric import cabling_of, graph
from sparkops.core.fabric.miscabling import miscablings
from sparkops.core.facts import Facts, absent
from sparkops.core.facts.network import addresses
from sparkops.core.facts.peers import Peers, peers
from support.paths import ROOT

NODES = ("sparks-a", "sparks-b", "sparks-c")
PORTS = {"p0": "enp1s0f0np0", "p1": "enp1s0f1np1"}
TRIANGLE = [(f"{one} p0", f"{other} p1") for one, other in zip(NODES, (*NODES[1:], NODES[0]), strict=True)]

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ping"), reason="needs root, and ping of iputils")


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def namespaces() -> Iterator[None]:
    for node in NODES:
        ip("netns", "add", node)
    yield
    for node in NODES:
        ip("netns", "del", node)


def plug(one: str, other: str) -> None:
    """A cable between two ports, such as `sparks-a p0`."""
    (here, near), (there, far) = (end.split() for end in (one, other))
    veth = ["link", "add", PORTS[near], "netns", here, "type", "veth", "peer", "name", PORTS[far], "netns", there]
    ip(*veth)
    for node, port in ((here, near), (there, far)):
        ip("-n", node, "link", "set", PORTS[port], "up")


def inside(node: str, *words: str) -> str:
    """What a user without rights gets from a command there."""
    command = ["ip", "netns", "exec", node, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def facts(node: str) -> Facts:
    return replace(absent("not asked"), ip_addr=addresses(inside(node, "ip", "-j", "addr")))


def heard(node: str, known: dict[str, Facts]) -> Peers:
    among = [one.link_local for its in known.values() for one in its.interfaces if one.port and one.link_local]
    up = [word for one in known[node].interfaces if one.port and one.up for word in ("--hear", one.name)]
    script = (ROOT / "sparkops" / "node" / "peers.sh").read_text()
    found = peers(inside(node, "sh", "-c", script, "peers", "--among", " ".join(among), *up))
    assert isinstance(found, Peers)
    return found


def settled() -> dict[str, Facts]:
    """The nodes' facts once each interface that is up has its IPv6 address for good."""
    for node in NODES:
        for _ in range(50):
            if "tentative" not in inside(node, "ip", "addr"):
                break
            time.sleep(0.2)
    return {node: facts(node) for node in NODES}


def test_a_triangle_of_real_cables_is_seen_without_any_address_and_a_missing_one_is_named(namespaces):
    for one, other in TRIANGLE:
        plug(one, other)
    known = settled()
    cables = graph(known, {node: heard(node, known) for node in NODES})
    assert cabling_of(cables, NODES).kind == "triangle"
    assert {tuple(map(str, one.ends)) for one in cables.segments} == {tuple(sorted(pair)) for pair in TRIANGLE}

    ip("-n", "sparks-a", "link", "set", PORTS["p0"], "down")
    known = settled()
    cables = graph(known, {node: heard(node, known) for node in NODES})
    (wrong,) = miscablings(cables, cabling_of(cables, NODES))
    assert wrong.problem == "no cable connects sparks-a to sparks-b, so the triangle is open"
    assert wrong.remedy == "connect sparks-a p0 to sparks-b p1"
