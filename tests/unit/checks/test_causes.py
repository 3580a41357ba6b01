"""What follows from what, remedies that are withheld, and advice on memory that the model fits into."""

import re
from collections.abc import Callable
from typing import Any

from sparkops.checks import CHECKS, findings
from sparkops.checks.causes import CAUSES
from sparkops.checks.judging import judged
from sparkops.core.facts import Memory
from sparkops.core.findings import Finding
from sparkops.core.growth import TROUBLE_KIB
from sparkops.core.memory_estimate import estimate
from sparkops.core.situation import Situation

KERNEL = "6.17.0-1014-nvidia"
FREEZES = "7.0.0-1019-nvidia"
OLD = "6.14.0-1015-nvidia"
REBOOT = "on the node, when no model serves: sudo reboot"

Situated = Callable[..., Situation]


def node(**lines: dict[str, str]) -> dict[str, Any]:
    """The healthy capture with changed lines, by probe."""
    return {"capture": "healthy-fe", "lines": lines}


def running(kernel: str) -> dict[str, Any]:
    return node(uname={KERNEL: kernel})


def held(s: Situation) -> dict[str, Finding]:
    """The findings that weigh, in their order, without what every stock machine has."""
    stock = ("desktop", "drop-permitted", "earlyoom", "linger", "locale")
    found = judged(s, s.placement.nodes, CHECKS)
    return {one.id: one for one in found if one.status in ("warn", "fail") and one.id not in stock}


def test_every_cause_is_a_check_and_none_follows_from_itself() -> None:
    ids = {check.id for check in CHECKS}
    assert {name for row in CAUSES for name in (row.check, *row.explains)} <= ids
    effects = {check: {name for row in CAUSES if row.check == check for name in row.explains} for check in ids}
    for start in ids:
        seen, left = set[str](), set(effects[start])
        while left:
            seen |= left
            left = {name for one in left for name in effects[one]} - seen
        assert start not in seen


def test_a_kernel_with_a_known_problem_is_the_cause_and_nobody_is_told_to_install_it(situated: Situated) -> None:
    two = held(situated({"a": running(KERNEL), "b": running(FREEZES)}, "cluster"))
    assert {name: one.follows for name, one in two.items()} == {
        "kernel": "", "kernel-kho": "kernel", "kernel-same": "kernel",
    }  # fmt: skip
    assert next(iter(two.values())).hint.endswith("(cures 3 findings)")

    three = held(situated({"a": running(KERNEL), "b": running(FREEZES), "c": running(OLD)}, "cluster"))
    same = three["kernel-same"]
    assert (same.follows, same.nodes) == ("", ("c", "b"))
    assert same.hint == (
        f"do not upgrade c yet: apt full-upgrade may install kernel {FREEZES}, which b runs, and it freezes under load "
        "with driver 580.178.04, and kexec handover reserves 9 GiB of memory; first follow the remedy of the check "
        "kernel on b"
    )


def test_a_reboot_that_would_start_a_kernel_with_a_known_problem_is_preceded_by_its_removal(situated: Situated) -> None:
    package = f"ii  linux-image-{FREEZES}  7.0.0-1019.19 arm64 Signed kernel image"
    packages = {"dpkg-query: no": f"{package}\ndpkg-query: no"}
    found = held(situated({"a": node(packages=packages, boot={"uptime=86423.51": "uptime=2764800.00"})}))
    first = f"first remove kernel {FREEZES}, which a reboot would start, on a: sudo apt remove linux-image-{FREEZES}"
    assert {name: one.hint for name, one in found.items()} == {"uptime": f"{first}; then {REBOOT}"}


def test_no_share_is_advised_that_the_model_does_not_fit_into_or_that_is_not_free(situated: Situated) -> None:
    advised, withheld = 0, 0
    for free in range(10_000_000, 110_000_000, 5_000_000):
        known = situated({"a": node(meminfo={"121634816": f" {free}", "124780544": f" {free}"})})
        found = estimate(known.effective, known.placement.shape)
        memory = known.facts["a"].meminfo
        assert found.weights is not None
        assert isinstance(memory, Memory)
        (fits,) = (one for one in findings(known, frozenset()) if one.id == "memory-fits")
        if share := re.search(r"--set args\.gpu-memory-utilization=(\S+)$", fits.hint):
            assert (found.weights + found.overhead) / found.total < float(share[1])
            assert float(share[1]) * memory.total_kib + TROUBLE_KIB <= memory.free_after_drop_kib
            advised += 1
        else:
            assert "weights, overhead and one request need" in fits.message
            withheld += 1
    assert (advised, withheld) == (6, 14)
