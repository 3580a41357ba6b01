"""Checks of the RDMA devices of all nodes together: their GID tables and their firmware."""

from collections.abc import Iterator

from sparkops.checks.check import CannotTell, FabricCheck, Said, apart, fail, good, some, warn
from sparkops.checks.driver import Cures, parity
from sparkops.checks.fabric_links import links
from sparkops.core.facts import Rdma
from sparkops.core.situation import Situation

FIRMWARE = "sudo fwupdmgr refresh && sudo fwupdmgr update && sudo reboot (do not use mlnx-fw-updater)"
BROKEN = frozenset({"28.47.1088"})
"""What mlnx-fw-updater installs."""

PINNED = "NCCL_IB_GID_INDEX"
UNSET = f"do not set {PINNED} in the recipe or in scripts: NCCL 2.21 and later find the entry without it"


@FabricCheck(
    id="cx7-gids",
    title="The RDMA devices have GID entries for the fabric addresses",
    why=(
        "RoCE v2 needs an entry for the IPv4 address in the device's GID table, usually at index 3. If the entry is "
        "missing, or if NCCL_IB_GID_INDEX selects another entry, connections hang until they time out."
    ),
    source="Blackwellboy/model-serving-minefield, trap 114; MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks #26",
    hint=("on the node, when no model serves, set the interface down and up again; then check: show_gids"),
    severity="fail",
).all_nodes
def gids(s: Situation) -> Iterator[Said]:
    """NCCL selects a GID by its index; scripts that set one expect 3."""
    pinned, owners = s.effective.env.get(PINNED, ""), dict[int, list[str]]()
    for node, interface, device, address in _tables(s):
        at = _index(device, address)
        if at is None:
            told = f"{device.name} of {node} has no RoCE v2 entry for {address}: connections over it time out"
            yield warn(told, f"on {node}, when no model serves: {_again(interface)}; then check: show_gids")
            continue
        owners.setdefault(at, []).append(f"{device.name} of {node}")
        if pinned not in ("", "-1", str(at)):
            yield fail(
                f"{device.name} of {node} has {address} at GID index {at}, but the recipe sets {PINNED}={pinned}", UNSET
            )
    told = apart({str(at): devices for at, devices in sorted(owners.items())})
    if len(owners) > 1:
        yield warn(
            "the fabric addresses have different indexes in the RDMA devices' GID tables", UNSET, f"index {told}"
        )
    elif told:
        yield good(evidence=f"index {told}")


def _index(device: Rdma, address: str) -> int | None:
    """Index of the RoCE v2 entry for this address, else of the first one for IPv4."""
    entries = [gid for gid in device.gids if gid.kind == "RoCE v2" and gid.ipv4]
    return next((gid.index for gid in sorted(entries, key=lambda gid: gid.ipv4 != address)), None)


def _again(interface: str) -> str:
    return f"sudo ip link set {interface} down && sudo ip link set {interface} up"


def _tables(s: Situation) -> list[tuple[str, str, Rdma, str]]:
    """(node, interface, device, address) of the devices in use whose GID types could be read."""
    used = [(node, one.name, one.rdma, one.address) for node, both in links(s).items() for one in both if one.up]
    found = [
        (node, interface, device, address)
        for node, interface, device, address in used
        if device is not None and device.active and address and any(gid.kind for gid in device.gids)
    ]
    if not found:
        raise CannotTell("the RDMA devices' GID tables could not be read")
    return found


@FabricCheck(
    id="cx7-firmware",
    title="The CX7 firmware is the same on all nodes",
    why=(
        "DGX OS updates contain the firmware. Different versions mean that a node missed an update. The tool "
        "mlnx-fw-updater has broken a CX7."
    ),
    source="DoctorMasterNewb/sparkbase, wiki: most nodes have 28.45.4028; 28.47.1088 from mlnx-fw-updater broke a NIC",
    hint=f"on the nodes with the older version: {FIRMWARE}",
).all_nodes
def firmware(s: Situation) -> Iterator[Said]:
    devices = {node: [one.rdma for one in both if one.rdma is not None] for node, both in links(s).items()}
    told = {node: ", ".join(sorted({one.firmware for one in found if one.firmware})) for node, found in devices.items()}
    versions = {node: version for node, version in told.items() if version}
    if not versions:
        raise CannotTell("the firmware's version could not be read")
    yield from parity("the CX7 firmware", versions, Cures(FIRMWARE, FIRMWARE, BROKEN))
    yield good(evidence=some(dict.fromkeys(versions.values())))
