"""The verbs of background jobs: jobs, jobs logs, jobs wait, jobs cancel."""

from typing import Any

import click

from sparkops.cli.shape import VerbGroup, example
from sparkops.cli.shared_options import seconds
from sparkops.cli.where import on_nodes
from sparkops.core.target import NodesOptions
from sparkops.verbs.jobs.options import JobOptions

ID = click.argument("id", metavar="ID")


@example("sparkops jobs")
@click.group(cls=VerbGroup, invoke_without_command=True)
@on_nodes
def jobs(**given: Any) -> NodesOptions:
    """List background jobs: builds, downloads, copies."""
    return NodesOptions(**given)


@example("sparkops jobs logs build-vllm-node-mxfp4-3f2a9c01")
@jobs.command()
@ID
@click.option("--tail", type=click.IntRange(1), default=200, metavar="N", help="Print the last N lines.")
@on_nodes
def logs(**given: Any) -> JobOptions:
    """Print the output of a job; `sparkops jobs` lists the IDs."""
    return JobOptions(**given)


@example("sparkops jobs wait build-vllm-node-mxfp4-3f2a9c01")
@jobs.command()
@ID
@seconds("--deadline", "24h", "Stop waiting after this time.")
@on_nodes
def wait(**given: Any) -> JobOptions:
    """Wait until a job ends; exit 5 if it failed. Ctrl-C does not end the job."""
    return JobOptions(**given)


@example("sparkops jobs cancel build-vllm-node-mxfp4-3f2a9c01")
@jobs.command()
@ID
@on_nodes
def cancel(**given: Any) -> JobOptions:
    """End a job and all its processes."""
    return JobOptions(**given)
