"""What an engine says of itself: the health and the counters of its API, or how far its boot is.

The names of the counters are those of vLLM 0.32 (`/metrics`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkops.core.enginelog import BootPhase, progress

_LINE = re.compile(r"vllm:(\w+)(?:\{([^\n]*)\})? (\S+)")
MOST = 1e15
"""No honest counter is larger."""

KV_USE = "kv_cache_usage_perc"
"""A share from 0 to 1, of several engines behind one API that of the fullest. The others are summed."""

READY = 100
"""Percent of a boot."""

_WITHOUT_ANSWER = {"7": "refused", "28": "silent"}
_FINISHED = re.compile(r'finished_reason="(error|abort)"')


@dataclass(frozen=True)
class Engine:
    """`health` is an HTTP status, or refused, silent (no answer in time), broken. `counters` are over all engines
    behind one API; failed requests are among those that succeeded, and apart as `failed_requests`.

    `log` are the last lines of the container, and `phase` what they say, while the API does not answer.
    """

    health: str = "broken"
    counters: Mapping[str, float] = field(default_factory=dict)
    phase: BootPhase | None = None
    log: tuple[str, ...] = ()

    @property
    def answers(self) -> bool:
        return self.health == "200"

    @property
    def boots(self) -> bool:
        """Whether its log says so."""
        return self.phase is not None and self.phase.percent < READY

    @property
    def running(self) -> int:
        return int(self.counters.get("num_requests_running", 0))

    @property
    def work(self) -> tuple[float, ...]:
        """Counters that grow with each step of the engine, so that equal ones show an engine that does nothing."""
        names = ("iteration_tokens_total_sum", "generation_tokens_total", "prompt_tokens_total")
        return tuple(self.counters.get(name, 0.0) for name in names)


def engine(text: str) -> Engine:
    """The answer of `engines` in `node/facts_engines.sh` about one container."""
    told, _, log = f"\n{text}\n".partition("\nlog\n")
    lines = tuple(log.splitlines())
    return Engine(_health(told), _counters(told), progress(lines) if lines else None, lines)


def _health(text: str) -> str:
    """Of curl's `http STATUS EXITCODE` about the first address."""
    found = re.search(r"^http (\d{3}) (\d+)$", text, re.M)
    if found is None:
        return "broken"
    return found[1] if found[1] != "000" else _WITHOUT_ANSWER.get(found[2], "broken")


def _counters(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, labels, value in _LINE.findall(text):
        try:
            number = float(value)
        except ValueError:
            continue
        if not abs(number) <= MOST:
            continue
        before = found.get(name, 0.0)
        found[name] = max(before, number) if name == KV_USE else before + number
        if name == "request_success_total" and _FINISHED.search(labels):
            found["failed_requests"] = found.get("failed_requests", 0.0) + number
    return found
