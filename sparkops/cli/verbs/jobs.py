"""The verbs over detached work: jobs, jobs logs, jobs wait, jobs cancel."""

from __future__ import annotations

import click

from sparkops.asks.jobs import JobOptions, JobsOptions
from sparkops.cli.shape import Ask, Group, duration, example
from sparkops.cli.verbs.serve import BECOME
from sparkops.cli.where import where

ID = click.argument("id", metavar="ID")


@example("sparkops jobs")
@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def jobs(context: click.Context, /) -> Ask | None:
    """List the work that goes on on the nodes by itself: builds, downloads, copies."""
    return None if context.invoked_subcommand else Ask("jobs", JobsOptions(where(context)))


@example("sparkops jobs logs build-vllm-node-mxfp4-3f2a9c01")
@jobs.command()
@ID
@click.option("--tail", type=click.IntRange(1), default=200, show_default=True, metavar="N", help="So many lines.")
@click.pass_context
def logs(context: click.Context, /, id: str, tail: int) -> Ask:
    """Print what a job has said."""
    return Ask("jobs logs", JobOptions(where(context), id, tail))


@example("sparkops jobs wait build-vllm-node-mxfp4-3f2a9c01")
@jobs.command()
@ID
@click.option("--deadline", callback=duration, metavar="TIME", default="24h", help="Wait no longer than this.")
@click.pass_context
def wait(context: click.Context, /, id: str, deadline: float) -> Ask:
    """Wait until a job has ended; exit 5 when it failed. Ctrl-C leaves it alone."""
    return Ask("jobs wait", JobOptions(where(context), id, deadline=deadline))


@example("sparkops jobs cancel build-vllm-node-mxfp4-3f2a9c01")
@jobs.command()
@ID
@BECOME
@click.pass_context
def cancel(context: click.Context, /, id: str, ask_become_pass: bool) -> Ask:
    """End a job and all that it started."""
    return Ask("jobs cancel", JobOptions(where(context, ask_become_pass), id))
