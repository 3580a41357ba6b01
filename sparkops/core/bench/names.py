"""The names of the metrics, in tables, charts and sentences: those of vLLM and llama-benchy."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MetricName:
    """`short` for heads of tables, `long` for titles."""

    short: str
    unit: str
    long: str

    @property
    def less_is_better(self) -> bool:
        return self.unit == "ms"


NAMES: Mapping[str, MetricName] = {
    "decode": MetricName("decode", "tokens/s", "Decode, all requests together"),
    "prefill": MetricName("prefill", "tokens/s", "Prefill, all requests together"),
    "peak": MetricName("peak", "tokens/s", "Decode peak: the best second, all requests together"),
    "ttfr": MetricName("TTFR", "ms", "TTFR: time to the first response"),
    "ttft": MetricName("TTFT", "ms", "TTFT: time to the first token"),
    "itl": MetricName("ITL", "ms", "ITL: time between two tokens"),
    "e2e": MetricName("E2E", "ms", "E2E: time to the last token"),
    "total": MetricName("total", "tokens/s", "Total: prompts and answers together"),
    "decode-per-request": MetricName("decode/request", "tokens/s", "Decode, each request"),
}
COMPARED = tuple(name for name in NAMES if name != "decode-per-request")
"""Metrics of a comparison. `decode-per-request` is left out: it is 1000 / ITL."""

TABLES = (("prefill", "decode", "peak", "decode-per-request"), ("ttfr", "ttft", "itl", "e2e"))
"""The metrics of one run, in two tables of one unit each, so that they fit 80 columns."""


def title(metric: str) -> str:
    """Long name with unit; a metric of a newer sparkops as it is."""
    known = NAMES.get(metric)
    return f"{known.long} ({known.unit})" if known else metric
