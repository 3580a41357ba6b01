"""Checks: pure judgements of what was read from nodes. `preflight` runs all, `deploy` those with `deploys`."""

from collections.abc import Iterable
from dataclasses import replace

from sparkops.checks import (
    access,
    bandwidth,
    cabling,
    disk,
    docker,
    driver,
    fabric,
    fabric_links,
    gpu,
    image,
    kernel,
    machine,
    memory,
    memory_fits,
    memory_size,
    model,
    network,
    ports,
    rdma,
    tested,
)
from sparkops.checks.check import LINKS, Check
from sparkops.checks.judging import judged
from sparkops.core.findings import Finding
from sparkops.core.schema import did_you_mean
from sparkops.core.situation import Situation
from sparkops.core.topology import CLUSTERS
from sparkops.errors import UsageError

AREAS = (
    access,
    machine,
    kernel,
    driver,
    gpu,
    memory_size,
    memory_fits,
    memory,
    docker,
    disk,
    image,
    model,
    tested,
    ports,
    cabling,
    fabric,
    fabric_links,
    rdma,
    bandwidth,
    network,
)
CHECKS = tuple(found for area in AREAS for found in vars(area).values() if isinstance(found, Check))
"""Every check, in the order of these modules and of the definitions in them."""

_OF_CLUSTERS = (check for check in CHECKS if check.topologies == CLUSTERS and {*LINKS} <= {*check.reads})
_ISLANDS = {cabling.connected.id: replace(cabling.connected, together=cabling.of_islands)}
FABRIC = tuple(_ISLANDS.get(check.id, check) for check in _OF_CLUSTERS if check is not cabling.split)
"""The checks of the CX7 fabric itself, whatever is deployed over it."""


def findings(s: Situation, allow: frozenset[str]) -> tuple[Finding, ...]:
    """Failures and warnings for a deploy; failures in `allow` are shown as allowed and do not refuse it."""
    found = judged(s, s.placement.nodes, (check for check in CHECKS if check.deploys))
    held = (finding for finding in found if finding.status in ("fail", "warn"))
    return tuple(replace(one, action="allowed") if one.status == "fail" and one.id in allow else one for one in held)


def chosen(only: Iterable[str], skip: Iterable[str]) -> tuple[Check, ...]:
    """The selected checks in their order; raises UsageError with the nearest id for an unknown one."""
    only, skip = tuple(only), tuple(skip)
    known = [check.id for check in CHECKS]
    for name in (*only, *skip):
        if name not in known:
            hint = "`sparkops preflight --list` shows all checks"
            raise UsageError(f"no such check: {name}{did_you_mean(name, known)}", hint=hint)
    return tuple(check for check in CHECKS if check.id not in skip and (not only or check.id in only))
