"""The default backend: SSH servers on loopback in one daemon, no root, no Docker, Linux."""

import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sparklab import files, layout, processes
from sparklab.daemon import modelhub
from sparklab.daemon.control import ask
from sparklab.errors import LabError
from sparklab.faults import FAULTS
from sparklab.tree import build, keys, network

__all__ = ["FAULTS", "down", "fault", "running", "status", "up"]

OURS = (
    "at", "bin", "images", "keys", "nodes", "inventory.yml", "inventory.yml.known_hosts", "daemon.log",
    "processes.jsonl",
)  # fmt: skip
START_SECONDS = 180.0
CLAIM_PORT = 2221
"""Bound at the first node's address until the lab listens."""


def up(directory: Path, record: dict[str, Any]) -> None:
    """Write the nodes, start the daemon, wait until it answers; a failure leaves nothing."""
    if not sys.platform.startswith("linux"):
        raise LabError(
            "the embedded lab needs Linux",
            "other systems lack /proc and most addresses of 127.0.0.0/8; try --backend docker",
        )
    with claimed_octet(record["count"]) as octet:
        record |= {"octet": octet, "short": tempfile.mkdtemp(prefix="sl-", dir="/tmp"), "hub": modelhub.url(octet)}
        files.write_json(directory / "lab.json", record)
        try:
            _write(directory, record)
            _start(directory, record)
        except BaseException:
            down(directory, record)
            raise


def _write(directory: Path, record: dict[str, Any]) -> None:
    (directory / "keys").mkdir(mode=0o700)
    client_key = keys.make(directory / "keys" / "client", "sparkops-lab")
    (directory / "at").mkdir()
    build.programs(directory)
    known = [build.node(directory, record, index, client_key) for index in range(1, record["count"] + 1)]
    nodes = [layout.Node(directory / "nodes" / f"node{index}") for index in range(1, record["count"] + 1)]
    for node in nodes:
        os.makedirs(node.record["short"])
        network.publish(node)  # again: a port has a link once the other end is there
    files.write(directory / "inventory.yml", build.inventory(directory, nodes))
    files.write(directory / "inventory.yml.known_hosts", "".join(known))


def _start(directory: Path, record: dict[str, Any]) -> None:
    environment = dict(os.environ) | {"SPARKLAB_LAB": record["id"], "PYTHONPATH": layout.PACKAGE_ROOT}
    with open(directory / "daemon.log", "ab") as log:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "sparklab.daemon.main", str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
    files.write_json(directory / "lab.json", record | {"daemon": [daemon.pid, processes.start_of(daemon.pid)]})
    until = time.monotonic() + START_SECONDS
    while not os.path.exists(os.path.join(record["short"], "control")):
        if daemon.poll() is not None or time.monotonic() > until:
            tail = files.read(directory / "daemon.log").strip().splitlines()[-1:]
            raise LabError(
                f"the lab did not start: {' '.join(tail) or 'no answer'}", "run `sparkops lab down`, then try again"
            )
        time.sleep(0.02)
    daemon.returncode = 0  # it outlives this process on purpose


def running(record: dict[str, Any]) -> bool:
    return bool(record.get("daemon")) and processes.alive(*record["daemon"])


def down(directory: Path, record: dict[str, Any]) -> None:
    """End every process of the lab, daemon alive or not, then remove what `up` wrote and nothing else."""
    roots = _recorded(directory)
    if record.get("daemon"):
        roots.append((record["daemon"][0], record["daemon"][1]))
    processes.end([f"SPARKLAB_LAB={record['id']}"], roots)
    if short := record.get("short"):
        files.clear(short)
    for name in OURS:
        files.clear(directory / name)


def _recorded(directory: Path) -> list[tuple[int, int]]:
    lines = files.read(directory / "processes.jsonl").splitlines()
    pairs = (line.strip("[] \n").split(",") for line in lines)
    return [(int(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2]


def status(directory: Path, record: dict[str, Any], reset: bool) -> dict[str, Any]:
    return ask(os.path.join(record["short"], "control"), {"do": "status", "reset": reset})


def fault(directory: Path, record: dict[str, Any], node: str, kind: str, off: bool, after: int) -> None:
    if kind not in FAULTS:
        raise LabError(f"no fault is called {kind}", "one of: " + ", ".join(FAULTS))
    request = {"do": "fault", "node": node, "kind": kind, "off": off, "after": after}
    ask(os.path.join(record["short"], "control"), request)


@contextmanager
def claimed_octet(nodes: int = 2) -> Iterator[int]:
    """A second octet of 127.x that no other lab of this machine uses or can take before the block ends.

    `$SPARKLAB_OCTET` names one, so that addresses, plan ids and hashes are equal in each run.
    """
    given = os.environ.get("SPARKLAB_OCTET")
    for octet in [int(given)] if given else random.sample(range(20, 250), 230):
        with socket.socket() as claim:
            if _free(claim, octet, nodes):
                yield octet
                return
    raise LabError(
        "no free loopback network is left",
        "stop other labs on this machine: `sparkops lab down` with their SPARKOPS_LAB_DIR",
    )


def _free(claim: socket.socket, octet: int, nodes: int) -> bool:
    """Is it ours now? A lab whose first nodes are switched off still has its hub, and its other nodes."""
    own = [layout.addresses(octet, index) for index in range(1, nodes + 1)]
    first = own[0][0]
    ssh = [(address, layout.SSH_PORT) for addresses in own for address in addresses[:3]]
    try:
        claim.bind((first, CLAIM_PORT))
        for place in (*ssh, (first, 8000), (modelhub.address(octet), modelhub.PORT)):
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(place)
    except OSError:
        return False
    return True
