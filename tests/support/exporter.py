"""What Prometheus gets of a picture."""

from prometheus_client import CollectorRegistry, generate_latest

from sparkops.core.watch.picture import Picture
from sparkops.verbs.watch.exporter import Exporter


def answer(shown: Picture) -> str:
    one, registry = Exporter(), CollectorRegistry(auto_describe=False)
    registry.register(one)
    one.hear(shown)
    return generate_latest(registry).decode()
