"""The rules, in the order in which they run: once, after every override, so that none undoes one by accident."""

from dataclasses import replace

from sparkops.core.findings import Finding
from sparkops.core.recipe import Effective
from sparkops.core.topology import Shape
from sparkops.rules import cluster, container, foreign, graphs, kernels, known, memory, model, network
from sparkops.rules.rule import Rule, Verdict, apply

RULES: tuple[Rule, ...] = (
    *cluster.RULES,
    *network.RULES,
    *model.RULES,
    *kernels.RULES,
    *container.RULES,
    *memory.RULES,
    *graphs.RULES,
    *known.RULES,
    *foreign.RULES,
)


def judge(effective: Effective, shape: Shape, allow: frozenset[str]) -> tuple[Effective, tuple[Finding, ...]]:
    """The settings after all fixes, and what every rule found. A rule in `allow` changes nothing and is named."""
    findings: list[Finding] = []
    for rule in RULES:
        verdict = rule.judge(effective, shape)
        if verdict is None:
            continue
        finding = _finding(rule, verdict)
        if rule.id in allow:
            findings.append(replace(finding, action="allowed", changes=()))
            continue
        effective = apply(effective, verdict.changes, f"rule {rule.id}")
        findings.append(finding)
    return effective, tuple(findings)


def _finding(rule: Rule, verdict: Verdict) -> Finding:
    return Finding(
        id=rule.id,
        action=verdict.action,
        message=verdict.message,
        why=f"{rule.why} ({rule.source})",
        hint=verdict.hint,
        changes=verdict.changes,
    )
