"""Checks of the machine itself: its kind, its identity, its clock and its updates."""

import re
from collections.abc import Iterator, Mapping

from sparkops.checks.check import REBOOT, CannotTell, Check, Here, Said, fail, good, read, some, warn
from sparkops.checks.kernel import KHO_KERNELS
from sparkops.core.facts import Facts, Package, Reboot, Unread, known
from sparkops.core.facts.reading import grouped
from sparkops.core.situation import Situation

LONGEST_UP = 30 * 86_400
MOST_SKEW = 2.0
SET_CLOCK = "sudo timedatectl set-ntp true && sudo systemctl restart systemd-timesyncd"
_KERNEL = re.compile(r"(\d+\.\d+\.\d+-\d+)-(\S+)")
CURE = (
    "on all but one of the nodes: sudo rm /etc/machine-id /var/lib/dbus/machine-id /etc/ssh/ssh_host_*; sudo "
    "systemd-machine-id-setup; sudo ssh-keygen -A; then on your machine: `sparkops trust`"
)


@Check(
    id="gb10",
    title="The node is a GB10",
    why=(
        "sparkops looks for several signs (aarch64, nvidia-smi, 20 CPUs of two kinds, DMI), because OEM images lack "
        "some, and a broken driver hides others. Jetson, Thor and GH200 are not GB10."
    ),
    source="outputs of DGX Spark, ASUS GX10, Dell, MSI and HP machines; thatcooperguy/NVCheckup, its tests",
    hint="remove the node from the inventory, or exclude it with --limit",
    severity="fail",
    reads=("uname", "nvidia-smi", "lscpu", "dmi", "dgx-release", "markers"),
    deploys=True,
).each_node
def gb10(here: Here) -> Iterator[Said]:
    facts = here.facts
    if facts.identity.gb10:
        yield good(evidence=facts.identity.reason)
    elif all(isinstance(one, Unread) for one in (facts.nvidia_smi, facts.lscpu, facts.dmi)) and "processor" not in (
        facts.identity.reason
    ):
        read(facts.lscpu)
    else:
        yield fail(f"not a GB10: {facts.identity.reason}")


@Check(
    id="machines-differ",
    title="Every node has its own machine-id and SSH host keys",
    why=(
        "Some makers copied one disk, with machine-id and SSH host keys, to many machines. DHCP may then give two "
        "nodes one address, and SSH cannot tell the nodes apart."
    ),
    source="CVE-2026-24218 (MSI and ASUS shipped machines with equal SSH host keys)",
    hint=CURE,
    reads=("machine-id", "hostkeys"),
    deploys=True,
).all_nodes
def machines_differ(s: Situation) -> Iterator[Said]:
    """A warning only: cloned machines work until something identifies them by these."""
    for what, marks in (("machine-id", _machine_id), ("SSH host key", _host_keys)):
        owners = grouped((mark, name) for name, facts in s.facts.items() for mark in marks(facts))
        groups = {tuple(names): mark for mark, names in owners.items() if len(names) > 1}
        for names, mark in groups.items():
            yield warn(
                f"{some(names)} have the same {what}: they were cloned", evidence=f"{what} {mark}: {', '.join(names)}"
            )


def _machine_id(facts: Facts) -> list[str]:
    return [found] if (found := known(facts.machine_id, "")) not in ("", "uninitialized") else []


def _host_keys(facts: Facts) -> list[str]:
    return [key.fingerprint for key in known(facts.hostkeys, ())]


@Check(
    id="clock-skew",
    title="The nodes' clocks agree within 2 s",
    why="If clocks differ, you cannot compare the logs of the nodes, and TLS certificates and tokens may be rejected.",
    source="other preflight tools, such as joeynyc/spark-doctor and hasso5703/dgx-spark-qwen38",
    hint=f"on the node: {SET_CLOCK}",
    reads=("clock",),
).all_nodes
def clocks(s: Situation) -> Iterator[Said]:
    """Compare with this machine's clock; a difference that a slow answer may explain does not count."""
    for name, (least, most) in offsets(s).items():
        off = least if least > 0 else most if most < 0 else 0.0
        if abs(off) > MOST_SKEW:
            word = "ahead of" if off > 0 else "behind"
            yield warn(
                f"{name}'s clock is {_seconds(abs(off))} {word} your machine's clock",
                f"on {name}: {SET_CLOCK}",
                nodes=(name,),
            )


def offsets(s: Situation) -> dict[str, tuple[float, float]]:
    """Each node's clock minus ours in seconds, as (least, most): the time of reading is known only within bounds."""
    found = {}
    for name, span in s.spans.items():
        facts = s.facts[name]
        clock = known(facts.clock, None)
        if clock is not None:
            took = min(facts.took_seconds or 0.0, span.received - span.sent)
            found[name] = (clock.seconds + took - span.received, clock.seconds - span.sent)
    return found


def _seconds(off: float) -> str:
    return f"{off:.0f} s" if off < 120 else f"{off / 60:.0f} min" if off < 7200 else f"{off / 3600:.0f} h"


@Check(
    id="clock-synchronized",
    title="The clock is synchronized",
    why="Without a time server, clocks drift apart by seconds each day.",
    source="systemd-timesyncd: /run/systemd/timesync/synchronized",
    hint="on the node: sudo timedatectl set-ntp true",
    reads=("clock",),
).each_node
def synchronized(here: Here) -> Iterator[Said]:
    clock = read(here.facts.clock)
    if clock.synchronized is None:
        raise CannotTell("systemd-timesyncd does not set the clock, so sparkops cannot tell whether it is right")
    if not clock.synchronized:
        yield warn("the clock is not synchronized with a time server")


@Check(
    id="uptime",
    title="The last boot is less than 30 days ago",
    why="GPU memory fragments and leaks over time. Owners recommend a reboot before you start a large model.",
    source="DoctorMasterNewb/sparkbase, wiki/platform-gb10.md; joeynyc/spark-doctor and similar tools (30 days)",
    hint=REBOOT,
    reads=("boot",),
).each_node
def uptime(here: Here) -> Iterator[Said]:
    seconds = read(here.facts.boot).uptime_seconds
    if seconds is not None and seconds > LONGEST_UP:
        yield warn(f"the last boot was {seconds / 86_400:.0f} days ago")


@Check(
    id="reboot-pending",
    title="No reboot is pending",
    why="After an update of the driver or the kernel, the old version stays loaded until the reboot.",
    source="Ubuntu: /var/run/reboot-required",
    hint=REBOOT,
    reads=("reboot-required", "uname", "packages"),
).each_node
def reboot(here: Here) -> Iterator[Said]:
    found: Reboot = read(here.facts.reboot_required)
    if found.required:
        yield warn("a reboot is pending", evidence=", ".join(found.packages))
    kernel, packages = known(here.facts.uname, None), known(here.facts.packages, {})
    if kernel is not None and (newer := newer_kernel(kernel.release, packages)):
        yield warn(f"kernel {newer} is installed, but kernel {kernel.release} is running")


def newer_kernel(running: str, packages: Mapping[str, Package]) -> str:
    """The newest installed kernel of the running flavour, if newer and not known to be bad; else empty."""
    now = _KERNEL.fullmatch(running)
    if now is None:
        return ""
    there = (_KERNEL.fullmatch(name.removeprefix("linux-image-")) for name, one in packages.items() if one.installed)
    fit = [found for found in there if found and found[2] == now[2] and found[1] not in KHO_KERNELS]
    newest = max(fit, key=_order, default=now)
    return newest[0] if _order(newest) > _order(now) else ""


def _order(release: re.Match[str]) -> list[int]:
    return [int(part) for part in re.split(r"[.-]", release[1])]


@Check(
    id="updates-whole",
    title="No update is half installed",
    why="`apt upgrade` instead of `apt full-upgrade` leaves kernel and driver in versions that do not match.",
    source="the update check of DGX OS: nvidia-spark-ota-check torn-score",
    hint="on the node: sudo dpkg --configure -a && sudo apt full-upgrade",
    reads=("packages",),
).each_node
def updates(here: Here) -> Iterator[Said]:
    """dpkg's state: the first letter is what is wanted, the second what is installed."""
    packages = read(here.facts.packages)
    torn = {
        name: one
        for name, one in packages.items()
        if one.state[1:2] in ("U", "F", "H", "W", "t") or "R" in one.state[2:]
    }
    if torn:
        told = ", ".join(f"{name} {one.version} ({one.state})" for name, one in torn.items())
        yield warn(f"these packages are half installed: {some(torn)}", evidence=told)


@Check(
    id="desktop",
    title="The node boots without a desktop",
    why="CPU and GPU share one memory. GNOME with a browser uses up to 10 GiB of it.",
    source="forums.developer.nvidia.com and guides of owners: boot to multi-user.target",
    hint="on the node: sudo systemctl set-default multi-user.target && sudo reboot",
    reads=("default-target",),
).each_node
def desktop(here: Here) -> Iterator[Said]:
    if read(here.facts.default_target) == "graphical.target":
        yield warn("the desktop starts at boot and uses up to 10 GiB of the memory that CPU and GPU share")
