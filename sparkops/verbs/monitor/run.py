"""The monitor verbs: texts for Prometheus and Grafana."""

from typing import Any

from sparkops.core.endpoints import host_port
from sparkops.core.facts import HOW_IT_RUNS
from sparkops.core.stored import Stored
from sparkops.core.target import NameOptions
from sparkops.core.watch import dashboard as for_grafana
from sparkops.core.watch import rules as for_prometheus
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.report.report import Report
from sparkops.session.find_deployment import current
from sparkops.session.open import opened, selected
from sparkops.verbs.monitor.options import TargetsOptions


def rules(options: NameOptions, report: Ending) -> Answer:
    return Answer({"rules": for_prometheus.document()})


def dashboard(options: NameOptions, report: Ending) -> Answer:
    return Answer({"dashboard": for_grafana.document()})


def targets(options: TargetsOptions, report: Report) -> Answer:
    """What to ask, for `file_sd_configs`."""
    with opened(selected(options.where, report), report) as session:
        facts = session.what_runs(*HOW_IT_RUNS)
        here = [one.stored for one in current(facts, session.names) if one.runs]
        ours = {"targets": [host_port(*options.metrics)], "labels": {"job": "sparkops"}}
        return session.answer({"targets": [ours, *(row for one in here for row in _engines(one))]})


def _engines(stored: Stored) -> list[dict[str, Any]]:
    """vLLM's own metrics, which need no key."""
    return [
        {"targets": [host_port(member.address, member.port)],
         "labels": {"job": "vllm", "deployment": stored.deployment, "node": member.name}}
        for member in stored.engines
        if member.port is not None
    ]  # fmt: skip
