"""What causes what: a finding that follows from another has no remedy of its own. Harmful remedies are withheld."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkops.checks.access import unanswered
from sparkops.checks.check import Here
from sparkops.checks.driver import numbers
from sparkops.checks.gpu import foreign, stranger_containers
from sparkops.checks.kernel import problem
from sparkops.checks.machine import newer_kernel
from sparkops.checks.memory_fits import cache_in_the_way, share_too_small, strangers_suffice
from sparkops.core.facts import Facts, Unread, known
from sparkops.core.findings import Finding
from sparkops.core.inventory import Node
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


def _whose_unknown(here: Here) -> bool:
    """Whether the GPU is used in containers that may be those of sparkops: Docker does not say."""
    return isinstance(here.facts.docker_ps, Unread) and any(one.container for one in foreign(here))


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
    Cause("docker-usable", ("gpu-free", "memory-fits"), _whose_unknown),
    Cause("docker-usable", ("ports-free",)),
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
    Cause("model-memory", ("memory-fits",), share_too_small),
    Cause("page-cache", ("memory-fits",), cache_in_the_way),
    Cause("drop-permitted", ("memory-fits",), cache_in_the_way),
    Cause("gpu-free", ("memory-fits",), strangers_suffice),
    Cause("cx7-one-owner", ("cx7-cabling", "cx7-pings", "cx7-one-network", "cx7-subnets", "fabric-split")),
    Cause("cx7-cabling", ("cx7-one-network", "cx7-pings", "fabric-split")),
    Cause("cx7-usable", ("cx7-rdma",)),
    Cause("cx7-speed", ("cx7-bandwidth",)),
    Cause("cx7-one-network", ("cx7-pings", "fabric-split")),
    Cause("cx7-lan", ("cx7-pings",)),
)
"""The first row that applies to a finding decides. Each cause stands before the rows of what it explains."""


def explained(s: Situation, nodes: Iterable[Node], found: Sequence[Finding]) -> list[Finding]:
    """The findings; those that follow from another one name it, and a cause says how many findings its remedy ends."""
    held = [one for one in found if one.status in ("fail", "warn")]
    places = {node.name: Here(s, node, s.facts[node.name]) for node in nodes}
    roots = {id(one): _root(s, places, one, held) for one in held}
    ended = [(roots[id(one)], {*_nodes(s, one)}) for one in held if roots[id(one)]]
    return [_in_words(s, one, roots[id(one)], ended) if id(one) in roots else one for one in found]


def _root(s: Situation, places: Mapping[str, Here], finding: Finding, held: Sequence[Finding]) -> str:
    """The check that found the first cause of a finding; empty if it follows from no other."""
    where = {*_nodes(s, finding)}
    for row in (row for row in CAUSES if finding.id in row.explains):
        causes = [one for one in held if one.id == row.check and where & {*_nodes(s, one)}]
        caused = {name for one in causes for name in _nodes(s, one) if name in places and row.when(places[name])}
        if causes and where <= caused:
            return _root(s, places, causes[0], held) or row.check
    return ""


def _in_words(s: Situation, finding: Finding, root: str, ended: Iterable[tuple[str, set[str]]]) -> Finding:
    """`ended` has the cause and the nodes of each finding that follows from another."""
    if root:
        return replace(finding, follows=root, hint=f"follows from {root}")
    count = sum(cause == finding.id and not nodes.isdisjoint(_nodes(s, finding)) for cause, nodes in ended)
    return replace(finding, hint=f"{finding.hint} (cures {1 + count} findings)") if count else finding


def _nodes(s: Situation, finding: Finding) -> tuple[str, ...]:
    """The nodes that a finding is about."""
    return (finding.node,) if finding.node else finding.nodes or tuple(node.name for node in s.placement.nodes)


def without_harm(s: Situation, found: Iterable[Finding]) -> list[Finding]:
    """The findings with the reason instead of a remedy that would start a kernel with a known problem."""
    return [one if one.follows else replace(one, hint=_harm(s, one) or one.hint) for one in found]


def _harm(s: Situation, finding: Finding) -> str:
    if "full-upgrade" not in finding.hint and "reboot" not in finding.hint:
        return ""
    for name in _nodes(s, finding):
        facts = s.facts[name]
        kernel = known(facts.uname, None)
        if kernel is None or problem(kernel.release):
            continue
        if "full-upgrade" in finding.hint and (worse := _running_bad(s, kernel.release)):
            node, bad = worse
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


def _running_bad(s: Situation, than: str) -> tuple[str, str] | None:
    """The first node that runs a newer kernel with a known problem, and that kernel."""
    running = ((node, kernel.release) for node, facts in s.facts.items() if (kernel := known(facts.uname, None)))
    return next(((node, one) for node, one in running if problem(one) and _order(one) > _order(than)), None)


def _installed_bad(facts: Facts, than: str) -> str:
    """The newest installed kernel, if it is newer and has a known problem."""
    names = [name for name, one in known(facts.packages, {}).items() if one.installed]
    kernels = [name.removeprefix("linux-image-") for name in names if name.startswith("linux-image-")]
    newest = max(kernels, key=_order, default=than)
    return newest if _order(newest) > _order(than) and problem(newest) else ""


def _order(release: str) -> tuple[int, ...]:
    """`6.17.0-1014-nvidia` as (6, 17, 0, 1014)."""
    return numbers(release.replace("-", "."))
