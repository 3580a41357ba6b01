"""From checks to findings: one a check and node, one a check over all nodes."""

from collections.abc import Iterable, Iterator

from sparkops.checks.causes import explained, without_harm
from sparkops.checks.check import CannotTell, Check, Here, Said, skip
from sparkops.core.facts import Facts
from sparkops.core.findings import ORDER, CheckStatus, Finding, first_causes
from sparkops.core.inventory import Node
from sparkops.core.situation import Situation
from sparkops.core.topology import forms_text

REACH = ("ssh", "host-key", "sudo")
"""Checks of the way to a node's facts; all others need these facts."""


def judged(s: Situation, nodes: Iterable[Node], checks: Iterable[Check]) -> tuple[Finding, ...]:
    """Every finding, in the order of `first_causes`; the cluster's (without a node) before those of nodes."""
    nodes = tuple(nodes)
    found = [finding for check in checks for finding in _check(s, nodes, check)]
    return tuple(first_causes(without_harm(s, explained(s, nodes, found))))


def watched(node: str, facts: Facts, checks: Iterable[Check]) -> Iterator[Finding]:
    """Failures and warnings about a node that need no plan."""
    found = (_verdict(check, node, _said(check.watch(facts))) for check in checks if check.watch is not None)
    return (finding for finding in found if finding.status in ("fail", "warn"))


def worst(findings: Iterable[Finding]) -> CheckStatus:
    """pass, warn or fail for all of them; what was skipped or fixed does not count."""
    statuses = {finding.status for finding in findings}
    return "fail" if "fail" in statuses else "warn" if "warn" in statuses else "pass"


def _check(s: Situation, nodes: tuple[Node, ...], check: Check) -> Iterator[Finding]:
    fits = not check.topologies or s.placement.topology.form in check.topologies
    apart = "" if fits else f"applies only to topology {forms_text(check.topologies)}"
    if check.together is not None:
        judged = s.copies if check.by_copy else (s,)
        said = [one for part in judged for one in _said(check.together(part))] if not apart else [skip(apart)]
        yield _verdict(check, None, said)
    if check.each is None:
        return
    for node in nodes:
        here = Here(s.around(node.name) if check.by_copy else s, node, s.facts[node.name])
        out = apart or _out(here, check)
        yield _verdict(check, node.name, [skip(out)] if out else _said(check.each(here)))


def _out(here: Here, check: Check) -> str:
    """Why the node is skipped: not reached, or not part of the plan; empty if it is judged."""
    if here.name in here.s.away and check.id not in REACH:
        return "not reached"
    return f"the plan ({here.s.placement.topology}) does not use this node" if check.placed and not here.members else ""


def _said(judge: Iterable[Said]) -> list[Said]:
    """What a judge yields. If it raises CannotTell: a skip with the reason, unless it found a problem before."""
    said: list[Said] = []
    try:
        for one in judge:
            said.append(one)
    except CannotTell as reason:
        if not any(one.status in ("fail", "warn") for one in said):
            return [skip(str(reason))]
    return said


def _verdict(check: Check, node: str | None, said: list[Said]) -> Finding:
    """One finding from the judge's results: the worst status, its messages first, then other warnings."""
    status: CheckStatus = min((one.status for one in said), key=ORDER.index, default="pass")
    shown = [one for one in said if one.status in (status, "fail", "warn")]
    shown.sort(key=lambda one: one.status != status)
    return Finding(
        id=check.id,
        action=status,
        message=_joined(one.message for one in shown),
        why=check.why,
        hint=_joined(one.hint for one in shown) or check.hint if status in ("fail", "warn") else "",
        evidence=_joined(one.evidence for one in said),
        node=node,
        final=check.final,
        nodes=tuple(dict.fromkeys(name for one in shown for name in one.nodes)),
    )


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))
