"""llama-benchy for simulated nodes: it asks their endpoints, and a point takes no real time."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from sparkops.remote import Cancel
from sparkops.session.llama_benchy import BenchyEnded, BenchyOutcome, Look, Told, Words
from sparkops.testing.network import SimulatedNetwork

SECONDS = 30.0
"""Virtual seconds for one point."""
METRICS = ("pp_throughput", "tg_throughput", "tg_req_throughput", "peak_throughput", "ttfr", "e2e_ttft")


def _nobody(_at: float, _end: Cancel) -> None:
    return


class SimulatedBenchy:
    """`meanwhile` happens in the middle of a point, by its number from 1 over all runs; `asked` has their options."""

    def __init__(self, network: SimulatedNetwork) -> None:
        self.network = network
        self.here = True
        self.meanwhile: dict[int, Callable[[], object]] = {}
        self.asked: list[Mapping[str, str]] = []
        self._look: Look = _nobody

    def installed(self) -> bool:
        return self.here

    def measure(self, words: Words, key: str, book: str | None, told: Told) -> BenchyEnded:
        options = dict(zip(words, (*words[1:], ""), strict=True))
        self.asked.append({name: value for name, value in options.items() if name.startswith("--")})
        outcome = BenchyOutcome(told)
        outcome.take({"type": "text", "text": f"file {book}" if book else "sparkops-1"})
        count, answer = int(options["--concurrency"]), int(options["--tg"])
        requests = [f"request {number}" for number in range(count * int(options["--runs"]))]
        for request in requests:
            outcome.take({"type": "request_start", "request_id": request, "response_size": answer})
        self.network.world.pause(SECONDS, self.network.world.cancel())
        self._look(SECONDS * len(self.asked), self.network.world.cancel())
        self.meanwhile.get(len(self.asked), lambda: None)()
        said = self._refused(options["--base-url"], key)
        for request in requests:
            counts = {"total_tokens": 0 if said else answer, "prompt_tokens": int(options["--pp"]), "error": said}
            outcome.take({"type": "request_end", "request_id": request, **counts})
        if not said:
            outcome.take({"type": "result", "document": _document(options)})
        return outcome.ended(1 if said else 0, said)

    @contextmanager
    def beside(self, look: Look) -> Iterator[None]:
        """Calls `look` once in the middle of every point."""
        self._look = look
        try:
            yield
        finally:
            self._look = _nobody

    def _refused(self, url: str, key: str) -> str:
        parts = urlsplit(url)
        try:
            self.network.get(f"{url}/models", key)
        except OSError as error:
            said = str(error)
            return said if said.startswith("HTTP") else f"Cannot connect to host {parts.netloc} ssl:default [{said}]"
        return ""


def _document(options: Mapping[str, str]) -> Mapping[str, Any]:
    """The result as llama-benchy 0.4.0 writes it; throughput grows with concurrency."""
    count, runs = int(options["--concurrency"]), int(options["--runs"])
    sizes = {"prompt_size": "--pp", "response_size": "--tg", "context_size": "--depth", "concurrency": "--concurrency"}
    values = [50.0 * count] * runs
    metrics = {name: {"mean": values[0], "std": 0.0, "values": list(values)} for name in METRICS}
    point = {name: int(options[flag]) for name, flag in sizes.items()}
    return {"version": "0.4.0", "model": options["--model"], "benchmarks": [point | metrics]}
