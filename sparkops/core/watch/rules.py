"""Alert rules for Prometheus: each names alerts of `watch`, which judges, so that both say the same of a node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

GROUP = "sparkops"
NODE, DEPLOYMENT = "{{ $labels.node }}", "{{ $labels.deployment }}"


@dataclass(frozen=True)
class AlertRule:
    """`alerts` are IDs of alerts; `text` and `next` may have Prometheus' own placeholders. `watch` gives each alert
    its severity, and waits for what may pass by itself, so that a rule fires at once, but for what `lasts` says. `only`
    are further labels, `unless` is PromQL for what is no alarm.
    """

    name: str
    alerts: Sequence[str]
    text: str
    next: str
    lasts: str = "0s"
    only: str = ""
    unless: str = ""

    @property
    def expr(self) -> str:
        """PromQL."""
        matches = f'="{self.alerts[0]}"' if len(self.alerts) == 1 else f'=~"{"|".join(self.alerts)}"'
        return f"sparkops_alert{{alert{matches}{self.only}}} == 1{self.unless}"

    @property
    def document(self) -> dict[str, Any]:
        return {
            "alert": self.name,
            "expr": self.expr,
            "for": self.lasts,
            "annotations": {"summary": self.text, "description": self.next},
        }


NAMED: Sequence[AlertRule] = (
    AlertRule("SparkopsEngineWedged", ("engine-wedged",),
              f"{DEPLOYMENT} on {NODE} is healthy but wedged: requests run, and no token comes",
              f"restart it: `sparkops restart {DEPLOYMENT}`", only=',severity="critical"'),
    AlertRule("SparkopsRankLost", ("rank-lost",), f"a rank of {DEPLOYMENT} on {NODE} is lost behind a green health",
              f"restart it: `sparkops restart {DEPLOYMENT}`"),
    AlertRule("SparkopsDeploymentFailed", ("deployment-failed",), f"{DEPLOYMENT} does not serve",
              f"see why: `sparkops status {DEPLOYMENT}`"),
    AlertRule("SparkopsEngineSilent", ("engine-silent",), f"the API of {DEPLOYMENT} on {NODE} does not answer",
              f"see why: `sparkops status {DEPLOYMENT}`"),
    AlertRule("SparkopsRestartLoop", ("restart-loop",), f"a container on {NODE} restarts again and again",
              f"its log says why: `sparkops logs --limit {NODE}`"),
    AlertRule("SparkopsLinkDown", ("link-down",), f"{NODE} has no active CX7 link, which its cluster needs",
              "see why: `sparkops fabric`"),
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
              f"find out why: `sparkops preflight --limit {NODE} --only ssh,host-key`", lasts="30s"),
)  # fmt: skip
"""In the order of the file."""

_IDS = "|".join(name for rule in NAMED for name in rule.alerts)
OTHERS = AlertRule(
    "SparkopsProblem", (), "{{ $labels.alert }}", "`sparkops watch` shows what it is and what to do", lasts="1m"
).document | {"expr": f'sparkops_alert{{alert!~"{_IDS}"}} == 1'}
NOBODY = AlertRule(
    "SparkopsWatchDown", (), "nobody watches the nodes", "start `sparkops watch --metrics 9466` again", lasts="1m"
).document | {"expr": "absent(sparkops_node_up)", "labels": {"severity": "critical"}}


def document() -> dict[str, Any]:
    """The file of rules that Prometheus reads."""
    return {"groups": [{"name": GROUP, "rules": [*(rule.document for rule in NAMED), OTHERS, NOBODY]}]}
