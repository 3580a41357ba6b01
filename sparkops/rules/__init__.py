"""The rules, in the order in which they run: once, after every override, so that none undoes one by accident."""

from dataclasses import replace

from sparkops.core.effective import Effective
from sparkops.core.findings import Finding
from sparkops.core.topology import Shape
from sparkops.rules import cluster, container, data_parallel, foreign, graphs, kernels, known, memory, model, network
from sparkops.rules.rule import Rule, apply, verdicts

SUBJECTS = (cluster, data_parallel, network, model, kernels, container, memory, graphs, known, foreign)
RULES = tuple(one for subject in SUBJECTS for one in vars(subject).values() if isinstance(one, Rule))


def judge(effective: Effective, shape: Shape, allow: frozenset[str]) -> tuple[Effective, tuple[Finding, ...]]:
    """The settings after all fixes, and all findings. A rule in `allow` changes nothing; its finding is "allowed"."""
    findings: list[Finding] = []
    for rule in RULES:
        why = f"{rule.why} ({rule.source})"
        for verdict in verdicts(rule, effective, shape):
            found = Finding(
                rule.id, verdict.action, verdict.message, why, verdict.hint, where=verdict.where, final=rule.final
            )
            if rule.id in allow:
                findings.append(replace(found, action="allowed"))
            else:
                effective = apply(effective, verdict.changes, f"rule {rule.id}")
                findings.append(replace(found, changes=verdict.changes))
    return effective, tuple(findings)
