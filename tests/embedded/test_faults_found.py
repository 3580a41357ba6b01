"""Every fault that the lab knows of a node's fitness is found by the check that is there for it, and by no other.

This proves both: what the checks find, and that a lab node without faults has nothing that they could hold against it.
"""

from __future__ import annotations

from typing import Any

import pytest

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

BOTH_ENDS = {"cx7-pings"}
"""Which end of a cable loses packets cannot be told from two nodes."""


def held(checks: list[dict[str, Any]]) -> set[str]:
    return {check["id"] for check in checks if check["status"] in ("warn", "fail")}


def test_every_fault_of_the_lab_is_in_the_table():
    assert FOUND.keys() | ONLY_WHILE_SERVING == FAULTS.keys()


@pytest.mark.parametrize("fault", FOUND)
def test_a_fault_is_found_by_its_check_and_by_no_other(empty, fault):
    with empty.trouble("node1", fault):
        document = empty.cli("preflight", "--json").document
    mine, other = document["nodes"]
    assert held(mine["checks"]) | held(document["cluster"]) == set(FOUND[fault])
    assert held(other["checks"]) <= BOTH_ENDS & set(FOUND[fault])


def test_a_node_without_its_faults_is_fit_again(empty):
    for fault in FOUND:
        empty.fault("node1", fault)
    for fault in FOUND:
        empty.fault("node1", fault, off=True)
    assert empty.json("preflight")["verdict"] == "pass"
