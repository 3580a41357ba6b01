"""Alert rules for Prometheus: each names alerts of `watch`, which judges, so that both say the same of a node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

GROUP = "sparkops"
NODE, DEPLOYMENT = "{{ $labels.node }}", "{{ $labels.deployment }}"


@dataclass(frozen=True)
class AlertRule:
    """`alerts` are IDs of alerts; `text` and `next` may have Prometheus' own placeholders.

    `watch` waits for what may pass by itself, so that a rule fires at once, but for what `lasts` says. `unless` is
    PromQL for what is no alarm.
    """

    name: str
    alerts: Sequence[str]
    text: str
    next: str
    grave: bool = False
    lasts: str = "0s"
    unless: str = ""

    @property
    def expr(self) -> str:
        """PromQL."""
        matches = f'="{self.alerts[0]}"' if len(self.alerts) == 1 else f'=~"{"|".join(self.alerts)}"'
        return f"sparkops_alert{{alert{matches}}} == 1{self.unless}"


NAMED: Sequence[AlertRule] = (
    AlertRule("SparkopsEngineWedged", ("engine-wedged",),
              f"{DEPLOYMENT} on {NODE} is healthy but wedged: requests run, and no token comes",
              f"restart it: `sparkops restart {DEPLOYMENT}`", grave=True, lasts="30s"),
    AlertRule("SparkopsRankLost", ("rank-lost",), f"a rank of {DEPLOYMENT} on {NODE} is lost behind a green health",
              f"restart it: `sparkops restart {DEPLOYMENT}`", grave=True),
    AlertRule("SparkopsNotServing", ("engine-silent", "deployment-failed"), f"{DEPLOYMENT} does not serve",
              f"see why: `sparkops status {DEPLOYMENT}`", grave=True),
    AlertRule("SparkopsRestartLoop", ("restart-loop",), f"a container on {NODE} restarts again and again",
              f"its log says why: `sparkops logs --limit {NODE}`", grave=True),
    AlertRule("SparkopsLinkDown", ("link-down",), f"{NODE} has no active CX7 link, which its cluster needs",
              "see why: `sparkops fabric`", grave=True),
    AlertRule("SparkopsLinkSlow", ("link-slow",), f"a CX7 link of {NODE} is slower than it can be",
              "see why: `sparkops fabric`"),
    AlertRule("SparkopsMemoryRunsOut", ("memory-runs-out",), f"the memory of {NODE} lasts less than 6 h at this rate",
              "a new start of the engine frees it: `sparkops deploy --refresh`"),
    AlertRule("SparkopsPageCacheFull", ("page-cache",),
              f"the page cache of {NODE} leaves little memory to the GPU, and nothing drops it",
              "drop it every 30 minutes: `sparkops cache schedule --every 30m`", lasts="5m",
              unless=" unless on (node) sparkops_node_cache_schedule == 1"),
    AlertRule("SparkopsCacheScheduleDead", ("cache-schedule",), f"the scheduled cache drop of {NODE} does not run",
              f"see why: `sparkops cache status --limit {NODE}`"),
    AlertRule("SparkopsGpuSlow", ("gpu-clock",), f"the GPU of {NODE} runs below 1 GHz under load",
              "see why: `sparkops preflight --explain gpu-clock`", lasts="30s"),
    AlertRule("SparkopsFleetDrift", ("fleet-missing", "fleet-extra", "fleet-moves", "fleet-file"),
              "what runs differs from the fleet's file", "see how: `sparkops diff`", lasts="5m"),
    AlertRule("SparkopsNodeAway", ("node-away",), f"{NODE} tells nothing",
              f"find out why: `sparkops preflight --limit {NODE} --only ssh,host-key`", grave=True, lasts="30s"),
)  # fmt: skip
"""In the order of the file."""


@dataclass(frozen=True)
class OtherRule(AlertRule):
    """A rule with a PromQL of its own."""

    promql: str = ""

    @property
    def expr(self) -> str:
        return self.promql


_IDS = "|".join(name for rule in NAMED for name in rule.alerts)
RULES: Sequence[AlertRule] = (
    *NAMED,
    OtherRule("SparkopsProblem", (), "{{ $labels.alert }} on " + NODE, "`sparkops watch --once` says what it is",
              lasts="1m", promql=f'sparkops_alert{{alert!~"{_IDS}"}} == 1'),
    OtherRule("SparkopsWatchDown", (), "nobody watches the nodes", "start `sparkops watch --metrics 9466` again",
              grave=True, lasts="1m", promql="absent(sparkops_node_up)"),
)  # fmt: skip


def document() -> dict[str, Any]:
    """The file of rules that Prometheus reads."""
    return {"groups": [{"name": GROUP, "rules": [_rule(rule) for rule in RULES]}]}


def _rule(rule: AlertRule) -> dict[str, Any]:
    return {
        "alert": rule.name,
        "expr": rule.expr,
        "for": rule.lasts,
        "labels": {"severity": "critical" if rule.grave else "warning"},
        "annotations": {"summary": rule.text, "description": rule.next},
    }
