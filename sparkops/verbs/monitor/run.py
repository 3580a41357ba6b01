"""The monitor verbs: texts for Prometheus and Grafana."""

from collections.abc import Iterator
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
        return session.answer({"targets": [ours, *(row for one in here for row in _targets(one))]})


def _targets(stored: Stored) -> Iterator[dict[str, Any]]:
    """vLLM's own metrics, which need no key, and LiteLLM's where the inventory asks for them (`proxy_metrics`)."""
    proxies = {"job": "litellm", "__metrics_path__": "/metrics/"} if stored.data.get("proxy_metrics") is True else None
    for member in stored.members:
        labels = proxies if member.role == "proxy" else {"job": "vllm"}
        if labels and member.port is not None:
            about = {"deployment": stored.deployment, "node": member.name}
            yield {"targets": [host_port(member.address, member.port)], "labels": {**labels, **about}}
