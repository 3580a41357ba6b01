"""The metrics of `watch`, for a Prometheus that asks."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.deployment_metrics import DEPLOYMENT_METRICS
from sparkops.core.watch.node_metrics import NODE_METRICS
from sparkops.core.watch.picture import Picture
from sparkops.errors import UsageError

KINDS = {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily}


class Exporter(Collector):
    """Answers with the newest picture."""

    looks = True

    def __init__(self) -> None:
        self._shown = Picture()

    def hear(self, shown: Picture) -> None:
        self._shown = shown

    def trouble(self) -> Iterator[Alert]:
        yield from ()

    def collect(self) -> Iterator[Metric]:
        shown = self._shown  # one and the same for all metrics of an answer
        for metric in (*NODE_METRICS, *DEPLOYMENT_METRICS):
            family = KINDS[metric.kind](metric.name, metric.text, labels=metric.labels)
            for labels, value in metric.found(shown):
                family.add_metric(labels, value)
            yield family


@contextmanager
def exporter(host: str, port: int) -> Iterator[Exporter]:
    """Listens at this address until the end."""
    made, registry = Exporter(), CollectorRegistry(auto_describe=False)
    registry.register(made)
    try:
        server, thread = start_http_server(port, host, registry)
    except (OSError, UnicodeError) as error:  # the latter of a name that cannot be one
        told = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"cannot listen at {host}, port {port}: {told}",
            hint="give another address; another `sparkops watch` may use this one",
        ) from None
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
