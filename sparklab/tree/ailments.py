"""Faults that only change files below the node's root: the text of each file, or None to remove it."""

import contextlib
import os

from sparklab import files
from sparklab.layout import USER, Node
from sparklab.tree import etc, network

TARGET = "etc/systemd/system/default.target"
DEVICES = ("uverbs0", "uverbs1", "uverbs2", "uverbs3", "rdma_cm")
REBOOT = "*** System restart required ***\n"

AILMENTS: dict[str, dict[str, str | None]] = {
    "no-toolkit": {"var/run/cdi/nvidia.yaml": None},
    "no-linger": {f"var/lib/systemd/linger/{USER}": None},
    "clock-free": {"run/systemd/timesync/synchronized": None},
    "reboot-pending": {
        "var/run/reboot-required": REBOOT,
        "var/run/reboot-required.pkgs": "linux-image-6.17.0-1018-nvidia\n",
    },
    "long-up": {"proc/uptime": "7776423.51 153000112.20\n"},
    "firewall": {"etc/ufw/ufw.conf": "ENABLED=yes\nLOGLEVEL=low\n"},
    "no-infiniband": dict.fromkeys(f"dev/infiniband/{name}" for name in DEVICES),
    "avahi-conflict": {
        "run/avahi-daemon/pid": "812\n",
        "proc/812/cmdline": "avahi-daemon: running [{hostname}-30.local]\n",
    },
    "kernel-kho": {
        "proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz-7.0.0-1019-nvidia root=/dev/nvme0n1p2 ro quiet splash\n",
        "proc/sys/kernel/osrelease": "7.0.0-1019-nvidia\n",
    },
    "kernel-differs": {"proc/sys/kernel/osrelease": "6.17.0-1008-nvidia\n"},
}


def publish(node: Node) -> None:
    """Write every file that a fault may change, according to the faults that are on."""
    healthy = etc.contents(node)
    wanted = {path: healthy.get(path) for touched in AILMENTS.values() for path in touched}
    for kind, touched in AILMENTS.items():
        if node.fault(kind):
            wanted |= {path: text and text.replace("{hostname}", node.hostname) for path, text in touched.items()}
    for path in ("proc/driver/nvidia/version", "sys/module/nvidia/version"):
        wanted[path] = healthy[path].replace(etc.DRIVER, driver(node))
    wanted["etc/machine-id"] = machine_id(node) + "\n"
    for path, text in wanted.items():
        _put(node, path, text)
    target = "graphical" if node.fault("desktop") else "multi-user"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(node.root(TARGET))
    os.symlink(f"/usr/lib/systemd/system/{target}.target", node.root(TARGET))


def _put(node: Node, path: str, text: str | None) -> None:
    if text is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(node.root(path))
    elif files.read(node.root(path), "\0") != text:
        network.put(node, path, text)


def machine_id(node: Node) -> str:
    """Return the machine-id; a cloned node has that of the first node, the first one that of the second."""
    if not node.fault("cloned"):
        return str(node.record["machine_id"])
    other = next(name for name in ("node1", "node2") if name != node.name)
    return str(Node(os.path.join(os.path.dirname(node.directory), other)).record.get("machine_id", "0" * 32))


def driver(node: Node) -> str:
    """Return the version of the loaded driver."""
    if node.fault("driver-branch"):
        return "590.48.01"
    return "580.126.09" if node.fault("driver-differs") else etc.DRIVER


def kernel(node: Node) -> str:
    return files.read(node.root("proc", "sys", "kernel", "osrelease")).strip() or etc.KERNEL
