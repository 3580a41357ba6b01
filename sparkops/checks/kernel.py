"""Checks of DGX OS and its kernel: bad versions, memory reserved by kexec handover, equal versions on all nodes."""

from collections.abc import Iterator

from sparkops.checks.check import Check, Here, Said, good, read, warn
from sparkops.checks.driver import UPGRADE, Cures, parity
from sparkops.core.facts import known
from sparkops.core.situation import Situation
from sparkops.core.topology import SEVERAL

KHO_KERNELS = ("7.0.0-1019",)
"""Kernels whose kexec handover reserves memory that RDMA registration then lacks."""

KHO_ON = ("kho", "kho=on", "kho=1", "kho=y")
"""Words of a kernel's command line that enable it."""

BAD = {
    "7.0.0-1019": "it freezes under load with driver 580.178.04, and kexec handover reserves 9 GiB of memory",
    "6.17.0-1032": "with the boot option kho=off, it sends over RoCE at 13 Gb/s, a tenth of the link's speed",
}


@Check(
    id="kernel",
    title="The kernel has no known problem",
    why="Some kernel versions of DGX OS freeze the node, or send at a tenth of the link's speed.",
    source="forums.developer.nvidia.com, topic 383254 (2026-09-13); christopherowen/dgx-spark-networking",
    hint=(
        "on the node: sudo apt full-upgrade && sudo reboot, if `apt list --upgradable` shows a newer kernel; else boot "
        "the previous kernel, which GRUB's menu lists under Advanced options"
    ),
    reads=("uname", "cmdline"),
).each_node
def known_bad(here: Here) -> Iterator[Said]:
    release = read(here.facts.uname).release
    cmdline = known(here.facts.cmdline, "")
    if why := problem(release, cmdline):
        yield warn(f"kernel {release}: {why}", evidence=cmdline)
    yield good(evidence=release)


def problem(release: str, cmdline: str = "") -> str:
    """Why this kernel is bad; empty if it is not, or only with another command line."""
    found = next((bad for bad in BAD if release.startswith(f"{bad}-")), "")
    return "" if found == "6.17.0-1032" and "kho=off" not in cmdline.split() else BAD.get(found, "")


@Check(
    id="kernel-kho",
    title="Kexec handover reserves no memory",
    why=(
        "Kernel 7.0.0-1019 reserves 9 GiB for kexec handover, and RDMA then fails: `ibv_reg_mr_iova2 failed: Cannot "
        "allocate memory`."
    ),
    source="forums.developer.nvidia.com, topic 383254; package nvidia-spark-grub-kho (DGX OS update 7.6.0)",
    hint="on the node: sudo apt install nvidia-spark-grub-kho && sudo reboot (or boot the kernel with kho=off)",
    reads=("uname", "cmdline", "meminfo"),
).each_node
def kho(here: Here) -> Iterator[Said]:
    """CmaTotal 0 beside a CmaFree shows the reservation, whatever the kernel's version."""
    release, memory = read(here.facts.uname).release, read(here.facts.meminfo)
    words, total = known(here.facts.cmdline, "").split(), memory.cma_total_kib
    affected = any(release.startswith(f"{bad}-") for bad in KHO_KERNELS) or any(on in words for on in KHO_ON)
    if "kho=off" not in words and (affected or (total == 0 and (memory.cma_free_kib or release.startswith("7.")))):
        yield warn(
            "kexec handover (KHO) reserves memory, so RDMA cannot register memory (ENOMEM)",
            evidence=f"CmaTotal {total} kB",
        )


@Check(
    id="kernel-same",
    title="All nodes run the same kernel",
    why="If kernels differ, a kernel problem shows on one node only, and the slowest node slows the whole cluster.",
    source="other preflight tools, such as joeynyc/spark-doctor and hasso5703/dgx-spark-qwen38",
    hint=f"on the nodes with the older version: {UPGRADE}",
    reads=("uname",),
    topologies=SEVERAL,
).all_nodes
def kernel_same(s: Situation) -> Iterator[Said]:
    kernels = {name: kernel.release for name, facts in s.facts.items() if (kernel := known(facts.uname, None))}
    bad = frozenset(release for release in kernels.values() if problem(release))
    yield from parity("the kernel", kernels, Cures(UPGRADE, "see the check kernel", bad))


@Check(
    id="dgx-os-same",
    title="All nodes have the same update of DGX OS",
    why="An update of DGX OS brings kernel, driver, CX7 firmware and the NVIDIA packages together.",
    source="/etc/dgx-release: DGX_OTA_VERSION, before the first update DGX_SWBUILD_VERSION",
    hint=f"on the nodes with the older version: {UPGRADE}",
    reads=("dgx-release",),
    topologies=SEVERAL,
).all_nodes
def dgx_os_same(s: Situation) -> Iterator[Said]:
    """Nodes of other makers may have no /etc/dgx-release: they are not compared."""
    releases = {name: known(facts.dgx_release, None) for name, facts in s.facts.items()}
    versions = {name: version for name, found in releases.items() if found and (version := found.ota or found.build)}
    yield from parity("DGX OS", versions, Cures(UPGRADE))
