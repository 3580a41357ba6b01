"""The verbs over detached work: jobs, jobs logs, jobs wait, jobs cancel."""

import click

from sparkops.cli.shape import Invocation, VerbGroup, duration, example
from sparkops.cli.shared_options import BECOME
from sparkops.cli.where import where
from sparkops.verbs.jobs.options import JobOptions, JobsOptions

ID = click.argument("id", metavar="ID")


@example("sparkops jobs")
@click.group(cls=VerbGroup, invoke_without_command=True)
@click.pass_context
def jobs(context: click.Context, /) -> Invocation | None:
    """List background jobs: builds, downloads, copies."""
    return None if context.invoked_subcommand else Invocation("jobs", JobsOptions(where(context)))


@example("sparkops jobs logs build-vllm-node-mxfp4-3f2a9c01")
@jobs.command()
@ID
@click.option(
    "--tail", type=click.IntRange(1), default=200, show_default=True, metavar="N", help="How many last lines."
)
@click.pass_context
def logs(context: click.Context, /, id: str, tail: int) -> Invocation:
    """Print the output of a job."""
    return Invocation("jobs logs", JobOptions(where(context), id, tail))


@example("sparkops jobs wait build-vllm-node-mxfp4-3f2a9c01")
@jobs.command()
@ID
@click.option("--deadline", callback=duration, metavar="TIME", default="24h", help="Stop waiting after this time.")
@click.pass_context
def wait(context: click.Context, /, id: str, deadline: float) -> Invocation:
    """Wait until a job ends; exit 5 if it failed. Ctrl-C does not end the job."""
    return Invocation("jobs wait", JobOptions(where(context), id, deadline=deadline))


@example("sparkops jobs cancel build-vllm-node-mxfp4-3f2a9c01")
@jobs.command()
@ID
@BECOME
@click.pass_context
def cancel(context: click.Context, /, id: str, ask_become_pass: bool) -> Invocation:
    """End a job and all its processes."""
    return Invocation("jobs cancel", JobOptions(where(context, ask_become_pass), id))
