"""The engine's counters, as `/metrics` shows them."""

import threading
import time

LABELS = 'engine="0",model_name="{model}"'
GAUGES = {
    "vllm:num_requests_running": "Number of requests in model execution batches.",
    "vllm:num_requests_waiting": "Number of requests waiting to be processed.",
    "vllm:kv_cache_usage_perc": "KV-cache usage. 1 means 100 percent usage.",
}
COUNTERS = {
    "vllm:prompt_tokens_total": "Number of prefill tokens processed.",
    "vllm:generation_tokens_total": "Number of generation tokens processed.",
    "vllm:prefix_cache_queries_total": "Prefix cache queries, in terms of number of queried tokens.",
    "vllm:prefix_cache_hits_total": "Prefix cache hits, in terms of number of cached tokens.",
    "vllm:num_preemptions_total": "Cumulative number of preemption from the engine.",
}
HISTOGRAMS = ("vllm:time_to_first_token_seconds", "vllm:e2e_request_latency_seconds")


class Metrics:
    def __init__(self, model: str) -> None:
        self.labels = LABELS.format(model=model)
        self.lock = threading.Lock()
        self.values: dict[str, float] = dict.fromkeys([*GAUGES, *COUNTERS], 0.0)
        self.finished: dict[str, float] = dict.fromkeys(("stop", "length", "abort", "error"), 0.0)
        self.seconds: dict[str, list[float]] = {name: [0.0, 0.0] for name in HISTOGRAMS}
        self.started = time.time()

    def add(self, name: str, amount: float) -> None:
        with self.lock:
            self.values[name] += amount

    def done(self, reason: str, first: float, whole: float) -> None:
        with self.lock:
            self.finished[reason] += 1
            for name, taken in zip(HISTOGRAMS, (first, whole), strict=True):
                self.seconds[name][0] += taken
                self.seconds[name][1] += 1

    @property
    def running(self) -> int:
        return int(self.values["vllm:num_requests_running"])

    def text(self) -> str:
        """As vLLM 0.32 words it; `iteration_tokens_total` grows by the tokens of each step, read or written."""
        lines = ["# TYPE process_start_time_seconds gauge", f"process_start_time_seconds {self.started}"]
        with self.lock:
            for kind, table in (("gauge", GAUGES), ("counter", COUNTERS)):
                for name, title in table.items():
                    lines += [
                        f"# HELP {name} {title}",
                        f"# TYPE {name} {kind}",
                        f"{name}{{{self.labels}}} {self.values[name]}",
                    ]
            lines.append("# TYPE vllm:request_success_total counter")
            for reason, count in self.finished.items():
                lines.append(f'vllm:request_success_total{{{self.labels},finished_reason="{reason}"}} {count}')
            steps = self.values["vllm:prompt_tokens_total"] + self.values["vllm:generation_tokens_total"]
            lines.append(f"vllm:iteration_tokens_total_sum{{{self.labels}}} {steps}")
            for name, (total, count) in self.seconds.items():
                lines.append(f"# TYPE {name} histogram")
                lines += [
                    f'{name}_bucket{{{self.labels},le="+Inf"}} {count}',
                    f"{name}_count{{{self.labels}}} {count}",
                    f"{name}_sum{{{self.labels}}} {total}",
                ]
        return "\n".join(lines) + "\n"
