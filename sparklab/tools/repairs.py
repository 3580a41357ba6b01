"""What ends a fault from inside a node: the command that a person would type on a real machine."""

import os
import re
from typing import Any

from sparklab import files
from sparklab.layout import Node, here

REPAIRS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("apt install earlyoom|systemctl enable --now earlyoom", ("no-earlyoom",), ()),
    ("apt install nvidia-container-toolkit", ("no-toolkit",), ()),
    ("apt install nvidia-driver-580-open", (), ("driver-branch",)),
    ("apt install nvidia-spark-grub-kho", (), ("kernel-kho",)),
    ("apt full-upgrade", ("torn-update",), ("cx7-weak", "driver-differs", "kernel-kho")),
    ("docker stop open-webui", ("gpu-stranger",), ()),
    ("fwupdmgr update", (), ("firmware-differs",)),
    (r"ip link set \S+ up", ("one-twin-down", "gid-missing"), ()),
    ("loginctl enable-linger", ("no-linger",), ()),
    (r"modprobe .*\bmlx5_ib\b", ("no-infiniband", "rdma-down"), ()),
    ("nmcli connection modify .* connection.autoconnect no", ("phantom-profile",), ()),
    ("swapoff -a", ("swap-used",), ()),
    ("systemctl set-default multi-user.target", ("desktop",), ()),
    ("timedatectl set-ntp true", ("clock-skew", "clock-free"), ()),
    (r"usermod -aG docker \S+", ("no-docker-group",), ()),
)
"""A command, the faults that it ends at once, and those that end at the next boot."""

BOOT = frozenset(
    {"driver-updated", "gpu-garbage", "gpu-hangs", "kernel-differs", "long-up", "reboot-pending", "swap-used"}
)
"""Faults that a boot ends, whatever was done before."""


def done(name: str, words: list[str]) -> None:
    """End the faults that this command, which succeeded, repairs."""
    line, node = " ".join([name, *words]), here()
    for command, now, boot in REPAIRS:
        if re.match(command, line):
            for kind in boot:
                files.make(node.path("at-boot", kind), "")
            end(node, *now)


def end(node: Node, *kinds: str) -> None:
    """Switch off those of the faults that are on."""
    for kind in filter(node.fault, kinds):
        control(node, {"do": "fault", "node": node.name, "kind": kind, "off": True})


def control(node: Node, request: dict[str, Any]) -> None:
    """Ask the lab's process."""
    from sparklab.daemon.control import ask

    ask(os.path.join(files.read_json(os.path.join(node.lab_directory, "lab.json"))["short"], "control"), request)


def at_boot(node: Node) -> list[str]:
    """The faults that end with this boot."""
    waiting = os.listdir(node.path("at-boot")) if os.path.isdir(node.path("at-boot")) else []
    for kind in waiting:
        os.unlink(node.path("at-boot", kind))
    return sorted(kind for kind in {*waiting, *BOOT} if node.fault(kind))
