"""The verbs for those who have Prometheus and Grafana: monitor rules, monitor dashboard, monitor targets."""

from typing import Any

import click

from sparkops.cli.shape import VerbGroup, example
from sparkops.cli.shared_options import ListenAddress
from sparkops.cli.where import on_nodes
from sparkops.core.target import NameOptions
from sparkops.verbs.monitor.options import TargetsOptions


@click.group(cls=VerbGroup)
def monitor() -> None:
    """Print what Prometheus and Grafana need for these nodes.

    `sparkops watch --metrics 9466` answers Prometheus. Alert rules and dashboard are about its metrics.
    """


@example("sparkops monitor rules > /etc/prometheus/sparkops.rules.yml")
@monitor.command(logged=False)
def rules() -> NameOptions:
    """Print the alert rules for Prometheus."""
    return NameOptions()


@example("sparkops monitor dashboard > sparkops.json")
@monitor.command(logged=False)
def dashboard() -> NameOptions:
    """Print a dashboard for Grafana 10 or newer."""
    return NameOptions()


@example("sparkops monitor targets > /etc/prometheus/sparkops.targets.json")
@monitor.command()
@click.option(
    "--metrics",
    type=ListenAddress(),
    default="127.0.0.1:9466",
    metavar="[HOST:]PORT",
    show_default=True,
    help="Where `sparkops watch --metrics 9466` answers.",
)
@on_nodes
def targets(**given: Any) -> TargetsOptions:
    """Print what Prometheus should scrape: `watch`, and each engine that runs.

    A list for `file_sd_configs`. Print it again after a deploy.
    """
    return TargetsOptions(**given)
