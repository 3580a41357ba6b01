"""ib_write_bw: two nodes meet over TCP, and print how much the cable between them carries."""

import contextlib
import socket
import time

from sparklab.layout import Node, here
from sparklab.tools.say import fail, out
from sparklab.tree import network as tree

HEADER = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
SHARE = 0.4864
"""What one interface carries of the speed of its port: 97.28 of 200 Gb/s."""
CRAWL = 13.31
"""Gb/s of a NIC with too little power."""
SECONDS = 2
PATIENCE = 20


def main(name: str, words: list[str]) -> int:
    node = here()
    device, port = words[words.index("-d") + 1], int(words[words.index("-p") + 1])
    netdev = next((netdev for found, netdev, active in tree.rdma(node) if found == device and active), "")
    own = tree.addressed(node).get(netdev)
    if not own:
        return fail(f" IB device {device} not found\n Unable to find the Infiniband/RoCE device")
    peer = words[-1] if words[-1].count(".") == 3 else ""
    met = _reach(node, own, peer, port) if peer else _wait(own, port)
    if met is None:
        return fail(f" Couldn't connect to {peer}:{port}\n Unable to init the socket connection")
    with met:
        time.sleep(node.seconds(SECONDS))
        met.sendall(b".")
        met.recv(1)
    carried = min(_carries(one, netdev) for one in (node, node.at(peer) or node))
    out(
        f"{HEADER}\n 65536      {int(carried * 4768)}           0.00               {carried:.2f}               0.176554"
    )
    return 0


def _wait(own: str, port: int) -> socket.socket | None:
    with contextlib.suppress(OSError), socket.create_server((own, port)) as server:
        server.settimeout(PATIENCE)
        return server.accept()[0]
    return None


def _reach(node: Node, own: str, peer: str, port: int) -> socket.socket | None:
    if not node.cut_off_from(peer):
        with contextlib.suppress(OSError):
            return socket.create_connection((peer, port), 3, source_address=(own, 0))
    return None


def _carries(node: Node, netdev: str) -> float:
    if node.fault("cx7-weak"):
        return CRAWL
    speeds = {one["name"]: one["speed"] for one in tree.interfaces(node)}
    return float(speeds.get(netdev, 0)) / 1000 * SHARE
