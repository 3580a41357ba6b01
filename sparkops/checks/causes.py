"""What causes what: a finding that follows from another has no remedy of its own. Harmful remedies are withheld."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sparkops.checks.access import unanswered
from sparkops.checks.check import Here
from sparkops.checks.driver import numbers
from sparkops.checks.gpu import foreign, stranger_containers
from sparkops.checks.kernel import problem
from sparkops.checks.machine import newer_kernel
from sparkops.checks.memory_fits import cache_in_the_way, strangers_suffice
from sparkops.core.facts import Facts, Unread, known
from sparkops.core.findings import Finding
from sparkops.core.situation import Situation


def _driver_updated(here: Here) -> bool:
    gpu = here.facts.nvidia_smi
    return isinstance(gpu, Unread) and "version mismatch" in gpu.reason


def _kernel_waits(here: Here) -> bool:
    kernel = known(here.facts.uname, None)
    return kernel is not None and bool(newer_kernel(kernel.release, known(here.facts.packages, {})))


def _only_gpu_silent(here: Here) -> bool:
    return {*unanswered(here.facts)} <= {"nvidia_smi", "gpu_load", "gpu_processes"}


def _in_strange_containers(here: Here) -> bool:
    return {one.container for one in foreign(here)} <= {one.id for one in stranger_containers(here)}


def _always(_here: Here) -> bool:
    return True


@dataclass(frozen=True)
class Cause:
    """A finding of `check` explains those of `explains` on the nodes where `when` is true.

    A finding about several nodes follows only if each of these nodes has the cause.
    """

    check: str
    explains: tuple[str, ...]
    when: Callable[[Here], bool] = _always


CAUSES = (
    Cause("sudo", ("docker-usable", "drop-permitted")),
    Cause("reboot-pending", ("driver", "driver-loaded"), _driver_updated),
    Cause("reboot-pending", ("kernel-same",), _kernel_waits),
    Cause("reboot-pending", ("uptime",)),
    Cause("driver", ("driver-loaded",), _driver_updated),
    Cause("driver", ("answers",), _only_gpu_silent),
    Cause("driver-branch", ("driver-same",)),
    Cause("kernel", ("kernel-kho", "kernel-same", "memory-total", "reboot-pending")),
    Cause("kernel-kho", ("memory-total",)),
    Cause("dgx-os-same", ("kernel-same", "driver-same", "cx7-firmware")),
    Cause("clock-synchronized", ("clock-skew",)),
    Cause("gpu-strangers", ("gpu-free",), _in_strange_containers),
    Cause("page-cache", ("memory-fits",), cache_in_the_way),
    Cause("drop-permitted", ("memory-fits",), cache_in_the_way),
    Cause("gpu-free", ("memory-fits",), strangers_suffice),
    Cause("cx7-usable", ("cx7-rdma",)),
    Cause("cx7-one-owner", ("cx7-pings",)),
    Cause("cx7-lan", ("cx7-pings",)),
)
"""The first row that applies to a finding decides. Each cause stands before the rows of what it explains."""


def explained(s: Situation, found: Sequence[Finding]) -> list[Finding]:
    """The findings; those that follow from another one name it, and a cause says how many findings its remedy ends."""
    held = [one for one in found if one.status in ("fail", "warn")]
    told = [replace(one, follows=_root(s, one, held)) for one in found]
    return [_in_words(s, one, told) for one in told]


def _root(s: Situation, finding: Finding, held: Sequence[Finding]) -> str:
    """The check that found the first cause of a finding; empty if it follows from no other."""
    if finding.status not in ("fail", "warn"):
        return ""
    where = {*_nodes(s, finding)}
    for row in (row for row in CAUSES if finding.id in row.explains):
        causes = [one for one in held if one.id == row.check and where & {*_nodes(s, one)}]
        if causes and where <= {name for one in causes for name in _nodes(s, one) if row.when(_here(s, name))}:
            return _root(s, causes[0], held) or row.check
    return ""


def _in_words(s: Situation, finding: Finding, found: Sequence[Finding]) -> Finding:
    if finding.follows:
        return replace(finding, hint=f"follows from {finding.follows}")
    where = {*_nodes(s, finding)}
    ended = [one for one in found if one.follows == finding.id and where & {*_nodes(s, one)}]
    if not ended or finding.status not in ("fail", "warn"):
        return finding
    return replace(finding, hint=f"{finding.hint} (cures {1 + len(ended)})")


def _nodes(s: Situation, finding: Finding) -> tuple[str, ...]:
    """The nodes that a finding is about."""
    return (finding.node,) if finding.node else finding.nodes or tuple(node.name for node in s.placement.nodes)


def _here(s: Situation, name: str) -> Here:
    return Here(s, next(node for node in s.placement.nodes if node.name == name), s.facts[name])


def without_harm(s: Situation, found: Iterable[Finding]) -> list[Finding]:
    """The findings with the reason instead of a remedy that would start a kernel with a known problem."""
    return [replace(one, hint=_harm(s, one) or one.hint) for one in found]


def _harm(s: Situation, finding: Finding) -> str:
    for name in _nodes(s, finding):
        facts = s.facts[name]
        kernel = known(facts.uname, None)
        if kernel is None or problem(kernel.release):
            continue
        worse = {node: bad for node, one in s.facts.items() if (bad := _running_bad(one, kernel.release))}
        if "full-upgrade" in finding.hint and worse:
            node, bad = next(iter(worse.items()))
            return (
                f"do not upgrade {name} yet: apt full-upgrade may install kernel {bad}, which {node} runs, and "
                f"{problem(bad)}; first follow the remedy of the check kernel on {node}"
            )
        if "reboot" in finding.hint and (bad := _installed_bad(facts, kernel.release)):
            first = (
                f"first remove kernel {bad}, which a reboot would start, on {name}: sudo apt remove linux-image-{bad}"
            )
            return f"{first}; then {finding.hint}"
    return ""


def _running_bad(facts: Facts, than: str) -> str:
    """The kernel that runs, if it is newer and has a known problem."""
    kernel = known(facts.uname, None)
    return kernel.release if kernel and problem(kernel.release) and _newer(kernel.release, than) else ""


def _installed_bad(facts: Facts, than: str) -> str:
    """The newest installed kernel, if it is newer and has a known problem."""
    names = [name for name, one in known(facts.packages, {}).items() if one.installed]
    kernels = [name.removeprefix("linux-image-") for name in names if name.startswith("linux-image-")]
    newest = max((one for one in kernels if _newer(one, than)), key=_order, default="")
    return newest if newest and problem(newest) else ""


def _newer(release: str, than: str) -> bool:
    return _order(release) > _order(than)


def _order(release: str) -> tuple[int, ...]:
    """`6.17.0-1014-nvidia` as (6, 17, 0, 1014)."""
    version, _, build = release.partition("-")
    return (*numbers(version), *numbers(build))
