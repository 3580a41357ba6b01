"""Every fault that the lab knows of a node's fitness is found by the check that is there for it, and by no other.

A crowd of nodes has one fault each, and one preflight names them all. What the checks say of real captures, and with
which exit code: tests/unit/checks/cases.yml, tests/world/test_preflight_runs.py.
"""

from __future__ import annotations

import re
from typing import Any

from sparkops.lab.faults import FAULTS

FOUND: dict[str, tuple[str, ...]] = {
    "unreachable": ("ssh",),
    "node-hangs": ("ssh",),
    "garbage": ("ssh",),
    "bad-host-key": ("host-key",),
    "no-docker-group": ("docker-usable",),
    "sudo-password": ("drop-permitted",),
    "cx7-down": ("cx7-usable",),
    "no-image": ("image-present",),
    "no-model": ("model-present",),
    "page-cache-full": ("page-cache",),
    "gpu-hangs": ("driver", "answers"),
    "gpu-garbage": ("driver",),
    "gpu-wedged": ("gpu-clock",),
    "gpu-hot": ("thermals",),
    "gpu-held": ("memory-fits", "gpu-free"),
    "gpu-stranger": ("gpu-strangers",),
    "no-toolkit": ("gpu-in-container",),
    "driver-updated": ("driver", "driver-loaded"),
    "driver-differs": ("driver-same",),
    "driver-branch": ("driver-branch", "driver-same"),
    "kernel-differs": ("kernel-same", "reboot-pending"),
    "kernel-kho": ("kernel", "kernel-kho", "kernel-same"),
    "cloned": ("machines-differ",),
    "memory-reserved": ("memory-total",),
    "swap-used": ("swap",),
    "no-earlyoom": ("earlyoom",),
    "no-linger": ("linger",),
    "disk-low": ("disk-room",),
    "disk-full": ("disk-room",),
    "clock-skew": ("clock-skew",),
    "clock-free": ("clock-synchronized",),
    "reboot-pending": ("reboot-pending",),
    "torn-update": ("updates-whole",),
    "desktop": ("desktop",),
    "long-up": ("uptime",),
    "port-taken": ("ports-free",),
    "image-differs": ("image-same",),
    "model-torn": ("model-present",),
    "no-cable": ("cx7-usable",),
    "one-twin-down": ("cx7-twins",),
    "twin-without-ipv4": ("cx7-addresses",),
    "link-100g": ("cx7-speed",),
    "link-10g": ("cx7-speed",),
    "small-mtu": ("cx7-mtu",),
    "other-cage": ("cx7-same-port",),
    "bridge-on-fabric": ("cx7-lan",),
    "gid-missing": ("cx7-gids",),
    "firmware-differs": ("cx7-firmware",),
    "rdma-down": ("cx7-usable", "cx7-rdma"),
    "no-infiniband": ("rdma-devices",),
    "pings-lost": ("cx7-pings",),
    "big-pings-lost": ("cx7-pings",),
    "firewall": ("firewall",),
    "phantom-profile": ("nm-phantoms",),
    "avahi-conflict": ("avahi-name",),
}
ONLY_WHILE_SERVING = {
    "lost-after-send", "worker-never-joins", "crash-while-loading", "engine-killed", "engine-frozen",
    "peer-dead-health-green", "slow", "reboot", "docker-hangs",
}  # fmt: skip
"""What no node shows before something is done with it."""

ON_THE_HEAD = "port-taken"
"""Only the first node of a cluster listens on the port of the API."""

PINGS = "cx7-pings"
"""Which end of a cable loses packets cannot be told from its two ends, so who asked may be named too."""


def held(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [check for check in checks if check["status"] in ("warn", "fail")]


def named(check: dict[str, Any]) -> set[str]:
    """The nodes that a verdict over all nodes names, but for the many that agree."""
    parts = f"{check['message']}; {check['evidence']}".split(";")
    return {node for part in parts if " more" not in part for node in re.findall(r"node\d+", part)}


def test_each_fault_in_a_crowd_is_found_on_its_node_by_its_check_and_by_no_other(lab_with):
    assert FOUND.keys() | ONLY_WHILE_SERVING == FAULTS.keys(), "say in FOUND which checks find a new fault"
    lab = lab_with(nodes=len(FOUND) + 3)
    first, *_, healthy = lab.names
    faulty = dict(zip(lab.names, sorted(FOUND, key=lambda fault: fault != ON_THE_HEAD), strict=False))
    for node, fault in faulty.items():
        lab.fault(node, fault)
    lab.mark()
    document = lab.json("preflight", code=4)
    told = {node["name"]: {check["id"] for check in held(node["checks"])} for node in document["nodes"]}
    for check in held(document["cluster"]):
        for node in named(check) - {first}:  # with which a clone is compared
            told[node].add(check["id"])
    expected = {node: set(FOUND[faulty[node]]) if node in faulty else set() for node in lab.names}
    wrong = {
        (node, faulty.get(node)): told[node] for node in lab.names if told[node] - {PINGS} != expected[node] - {PINGS}
    }
    assert wrong == {}
    assert {faulty.get(node) for node in lab.names if PINGS in told[node]} >= {"pings-lost", "big-pings-lost"}
    assert {check["id"] for check in held(document["cluster"])} <= {
        check for checks in FOUND.values() for check in checks
    }
    assert lab.connections()[healthy] == 1
    assert [one.shown.split()[0] for one in lab.received() if one.node == healthy] == ["@facts", "@peers"]

    for node, fault in faulty.items():
        lab.fault(node, fault, off=True)
    assert lab.json("preflight")["verdict"] == "pass", "a node without its fault is fit again"
