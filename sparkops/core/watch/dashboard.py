"""A dashboard for Grafana over the metrics of `watch`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sparkops.core.energy import LEFT_OUT

COLUMNS, HEIGHT = 24, 8
SCHEMA = 39
"""The `schemaVersion` of Grafana 10 and newer."""

SOURCE = {"type": "prometheus", "uid": "${source}"}


@dataclass(frozen=True)
class Panel:
    """`queries` are PromQL with the legend of each; `unit` is Grafana's name of it."""

    title: str
    unit: str
    queries: Sequence[tuple[str, str]]
    kind: str = "timeseries"
    most: float | None = None
    about: str = ""


def _rate(counter: str, by: str) -> tuple[str, str]:
    return f"sum by ({by}) (rate({counter}[$__rate_interval]))", f"{{{{{by}}}}}"


PANELS: Sequence[Panel] = (
    Panel("What is wrong", "none", (("sparkops_alert", "{{alert}} {{node}} {{deployment}}"),), "table"),
    Panel("Deployments", "none", (("sparkops_deployment_state == 1", "{{deployment}} {{state}}"),), "table"),
    Panel("Tokens out per second", "short",
          (_rate("sparkops_engine_generated_tokens_total", "deployment"),)),
    Panel("Tokens in per second", "short",
          (_rate("sparkops_engine_prompt_tokens_total", "deployment"),)),
    Panel("Requests", "short", (("sum by (deployment) (sparkops_engine_requests_running)", "{{deployment}} running"),
                                ("sum by (deployment) (sparkops_engine_requests_waiting)", "{{deployment}} waiting"))),
    Panel("KV cache in use", "percentunit", (("sparkops_engine_kv_cache_usage_ratio", "{{deployment}} {{node}}"),),
          most=1.0),
    Panel("Boot", "percentunit", (("sparkops_rank_boot_ratio", "{{deployment}} {{role}} {{node}}"),), most=1.0),
    Panel("Energy per generated token", "joule", (("sparkops_deployment_joules_per_token", "{{deployment}}"),),
          about=LEFT_OUT),
    Panel("Memory available", "bytes", (("sparkops_node_memory_available_bytes", "{{node}}"),)),
    Panel("Memory by holder", "bytes", (("sparkops_node_memory_held_bytes", "{{node}} {{owner}}"),)),
    Panel("Page cache", "bytes", (("sparkops_node_page_cache_bytes", "{{node}}"),)),
    Panel("Waiting for memory", "percentunit",
          (('sparkops_node_pressure_ratio{resource="memory"}', "{{node}}"),), most=1.0),
    Panel("GPU load", "percentunit", (("sparkops_node_gpu_utilization_ratio", "{{node}}"),), most=1.0),
    Panel("GPU clock", "hertz", (("sparkops_node_gpu_clock_hertz", "{{node}}"),)),
    Panel("GPU power", "watt", (("sparkops_node_gpu_power_watts", "{{node}}"),)),
    Panel("GPU temperature", "celsius", (("sparkops_node_gpu_temperature_celsius", "{{node}}"),)),
    Panel("Links, received", "Bps", (_rate("sparkops_link_received_bytes_total", "node"),)),
    Panel("Links, sent", "Bps", (_rate("sparkops_link_sent_bytes_total", "node"),)),
)  # fmt: skip


def document() -> dict[str, Any]:
    """The dashboard as Grafana imports it; one chooses the Prometheus at its top."""
    return {
        "title": "sparkops",
        "uid": "sparkops",
        "tags": ["sparkops"],
        "schemaVersion": SCHEMA,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
        },
        "panels": list(_panels()),
    }


def _panels() -> Iterator[dict[str, Any]]:
    for number, panel in enumerate(PANELS):
        x, y = number % 2 * COLUMNS // 2, number // 2 * HEIGHT
        table = panel.kind == "table"
        yield {
            "id": number + 1,
            "type": panel.kind,
            "title": panel.title,
            "description": panel.about,
            "datasource": SOURCE,
            "gridPos": {"x": x, "y": y, "w": COLUMNS // 2, "h": HEIGHT},
            "fieldConfig": {"defaults": _axis(panel), "overrides": []},
            "options": {},
            "targets": [
                {"refId": "ABC"[at], "datasource": SOURCE, "expr": expr, "legendFormat": legend,
                 "instant": table, "range": not table, "format": "table" if table else "time_series"}
                for at, (expr, legend) in enumerate(panel.queries)
            ],
        }  # fmt: skip


def _axis(panel: Panel) -> dict[str, Any]:
    return {"unit": panel.unit, "min": 0} | ({"max": panel.most} if panel.most is not None else {})
