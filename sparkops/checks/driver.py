"""Checks of the NVIDIA driver: it answers, it is of the branch that works here, loaded is installed, all are equal."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sparkops.checks.check import REBOOT, Check, Here, Said, apart, asked, fail, good, read, some, warn
from sparkops.core.facts import Facts, Gpu, GpuLoad, Unread, known
from sparkops.core.facts.raw import NO_ANSWER
from sparkops.core.facts.reading import grouped
from sparkops.core.situation import Situation
from sparkops.core.topology import SEVERAL

BRANCH = 580
NEWEST = (580, 178, 4)
"""The newest known version; a newer one is a warning."""

BAD = {"580.159.03": "owners report cudaErrorNotPermitted with this version"}
UPGRADE = "sudo apt full-upgrade && sudo reboot"
FINISH = "on the node: sudo dpkg --configure -a && sudo apt full-upgrade; then, when no model serves: sudo reboot"


@Check(
    id="driver",
    title="The NVIDIA driver answers",
    why="If the driver hangs, every process that opens the GPU hangs too, and its container cannot be killed.",
    source="nvidia-smi(1), return value; DGX Spark owners' reports of hangs",
    hint="look for errors, on the node: sudo dmesg | grep -iE 'nvrm|xid'; then: sudo reboot",
    severity="fail",
    reads=("nvidia-smi",),
    deploys=True,
    watch=lambda facts: _answers(facts.gpu_load),
).each_node
def loads(here: Here) -> Iterator[Said]:
    yield from _answers(here.facts.nvidia_smi)


def _answers(told: Gpu | GpuLoad | Unread) -> Iterator[Said]:
    gpu: Gpu | GpuLoad | Unread = asked(told)
    if isinstance(gpu, Gpu):
        yield good(evidence=f"{gpu.name}, driver {gpu.driver}")
    elif isinstance(gpu, GpuLoad):
        return
    elif NO_ANSWER in gpu.reason:
        yield fail(
            f"nvidia-smi hangs: {gpu.reason}", "on the node: sudo reboot; if that hangs too, power the node off and on"
        )
    elif "version mismatch" in gpu.reason:
        yield fail(f"the driver was updated without a reboot: {gpu.reason}", REBOOT)
    elif "not found" in gpu.reason or "not installed" in gpu.reason:
        yield fail("nvidia-smi is not installed", "on the node: sudo apt install nvidia-driver-580-open && sudo reboot")
    else:
        yield fail(f"the GPU does not answer: {gpu.reason.removeprefix('unexpected output: ')}")


@Check(
    id="driver-branch",
    title="The driver belongs to branch 580",
    why="DGX OS 7 supports branch 580 only. With branches 590 and 595, CUDA graphs fail.",
    source="DoctorMasterNewb/sparkbase, wiki/platform-gb10.md; DGX OS 7 release notes",
    hint="on the node: sudo apt install nvidia-driver-580-open && sudo reboot",
    reads=("nvidia-smi", "driver"),
).each_node
def branch(here: Here) -> Iterator[Said]:
    version = version_of(here.facts) or read(here.facts.nvidia_smi).driver
    if version in BAD:
        yield warn(f"driver {version}: {BAD[version]}", "on the node: sudo apt full-upgrade && sudo reboot")
    elif numbers(version)[:1] != (BRANCH,):
        yield warn(f"driver {version} does not belong to branch {BRANCH}, the only branch that DGX OS 7 supports")
    elif numbers(version) > NEWEST:
        yield warn(
            f"driver {version} is newer than the drivers known to sparkops",
            "nothing to do if the model serves without errors; the newest driver known to sparkops is 580.178.04",
        )
    else:
        yield good(evidence=version)


def version_of(facts: Facts) -> str | None:
    """The driver's version from nvidia-smi, else that of the loaded module; None if neither could be read."""
    if isinstance(facts.nvidia_smi, Gpu):
        return facts.nvidia_smi.driver
    module = known(facts.driver, None)
    return module.loaded if module else None


@Check(
    id="driver-loaded",
    title="The loaded driver has the installed version",
    why="After an update without a reboot, nvidia-smi says `Driver/library version mismatch` and new containers fail.",
    source="nvidia-smi's message: Failed to initialize NVML: Driver/library version mismatch",
    hint=REBOOT,
    severity="fail",
    reads=("driver", "packages"),
).each_node
def loaded_is_installed(here: Here) -> Iterator[Said]:
    loaded = read(here.facts.driver).loaded
    packages = {
        name: one for name, one in read(here.facts.packages).items() if re.fullmatch(r"nvidia-driver-\d+-open", name)
    }
    installed = {name: one.version for name, one in packages.items() if one.state[1:2] == "i"}
    torn = {name: one.version for name, one in packages.items() if one.state[1:2] not in ("n", "c", "i")}
    if loaded is None:
        yield fail(
            "the kernel module of the driver is not loaded",
            "on the node: sudo modprobe nvidia; if that fails, read sudo dmesg, then: sudo reboot",
        )
    elif installed and not _among(loaded, installed):
        yield fail(f"driver {loaded} is loaded, but {some(installed.values())} is installed", evidence=_told(installed))
    elif torn and not installed and not _among(loaded, torn):
        yield warn(f"driver {loaded} is loaded, but {some(torn.values())} is half installed", FINISH, _told(torn))
    else:
        yield good(evidence=f"loaded {loaded}, installed {', '.join(installed.values()) or 'without a package'}")


def _among(loaded: str, packages: Mapping[str, str]) -> bool:
    return any(numbers(version)[:3] == numbers(loaded)[:3] for version in packages.values())


def _told(packages: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in packages.items())


@Check(
    id="driver-same",
    title="All nodes have the same driver",
    why="If the nodes of a cluster have different driver branches, NCCL hangs.",
    source="other preflight tools, such as joeynyc/spark-doctor and hasso5703/dgx-spark-qwen38",
    hint=f"on the nodes with the older version: {UPGRADE}",
    severity="fail",
    reads=("nvidia-smi", "driver"),
    topologies=SEVERAL,
    deploys=True,
).all_nodes
def driver_same(s: Situation) -> Iterator[Said]:
    versions = {name: version for name, facts in s.facts.items() if (version := version_of(facts))}
    bad = {version for version in versions.values() if version in BAD or numbers(version)[:1] != (BRANCH,)}
    cures = Cures(UPGRADE, "see the check driver-branch", frozenset(bad))
    yield from parity("the driver", versions, cures, severe=s.placement.topology.kind == "cluster")


@dataclass(frozen=True)
class Cures:
    """What to do on nodes with an older version, and on those with a version that has a known problem."""

    update: str
    replace: str = ""
    bad: frozenset[str] = frozenset()


def parity(what: str, values: Mapping[str, str], cures: Cures, severe: bool = False) -> Iterator[Said]:
    """Warn if the values differ, naming the nodes to change; with `severe`, fail if their first numbers differ."""
    groups = grouped((value, name) for name, value in values.items())
    if len(groups) < 2:
        return
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    told = "; ".join(f"{value} on {some(names)}" for value, names in ordered)
    branches = {value.split(".")[0] for value in groups}
    newest = max((value for value in groups if value not in cures.bad), key=numbers, default="")
    older = [name for value, names in groups.items() if value not in (newest, *cures.bad) for name in names]
    wrong = [name for value in sorted(cures.bad) for name in groups.get(value, ())]
    steps = [f"on {some(names)}: {cure}" for names, cure in ((older, cures.update), (wrong, cures.replace)) if names]
    say = fail if severe and len(branches) > 1 else warn
    yield say(f"{what} differs: {told}", "; ".join(steps), apart(groups), (*older, *wrong))


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: `580.126.09-0ubuntu1` is (580, 126, 9)."""
    found = re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in found[1].split(".")) if found else ()
