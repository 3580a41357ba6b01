"""The verbs of the page cache: drop, schedule, unschedule, status, permit."""

import click

from sparkops.cli.shape import Invocation, VerbGroup, duration, example
from sparkops.cli.shared_options import BECOME
from sparkops.cli.where import where
from sparkops.core.schedule import Schedule, times, when
from sparkops.verbs.cache.options import DropOptions, PermitOptions, ScheduleOptions, ScheduleStatusOptions

COLUMNS_HINT = "MemFree is what CUDA sees; MemAvailable also counts the page cache."


@example("""
    sparkops cache drop
    sparkops cache schedule --every 30m
    sparkops cache status
""")
@click.group(cls=VerbGroup)
def cache() -> None:
    """Drop page caches, now or on a schedule."""


@example("""
    sparkops cache drop --limit spark1
    */30 * * * * sparkops -i ~/spark.yml cache drop --quiet     # in your own crontab
""")
@cache.command()
@click.option("--quiet", is_flag=True, help="Print only failures, so that cron mails nothing else.")
@BECOME
@click.pass_context
def drop(context: click.Context, /, quiet: bool, ask_become_pass: bool) -> Invocation:
    """Drop the page caches (sync, then drop_caches=3). Safe beside a running server.

    Without the right to do so (`sparkops cache permit` grants it) this drops the pages of model files only.
    Exit 0: dropped on all nodes; 4: a node could not be reached; 5: a node could drop nothing.
    """
    return Invocation("cache drop", DropOptions(where(context, ask_become_pass), quiet))


@example("""
    sparkops cache schedule --every 30m
    sparkops cache schedule --every 10m --when "MemFree < 20GiB"
""")
@cache.command()
@click.option(
    "--every",
    callback=duration,
    metavar="TIME",
    required=True,
    help=("How often: a divisor of an hour or a day, as 30m."),
)
@click.option(
    "--when", "condition", metavar="EXPR", help=(f'Only if, for example, "MemAvailable < 10GiB". {COLUMNS_HINT}')
)
@click.pass_context
def schedule(context: click.Context, /, every: float, condition: str | None) -> Invocation:
    """Drop page caches by cron on each node: adds one line to the login's crontab."""
    times(every)
    wanted = Schedule(round(every), when(condition) if condition else None)
    return Invocation("cache schedule", ScheduleOptions(where(context), wanted))


@example("sparkops cache unschedule")
@cache.command()
@click.pass_context
def unschedule(context: click.Context, /) -> Invocation:
    """Remove the line of `cache schedule` from each node's crontab."""
    return Invocation("cache unschedule", ScheduleOptions(where(context), None))


@example("sparkops cache status --json")
@cache.command()
@click.pass_context
def status(context: click.Context, /) -> Invocation:
    """Show the schedule on each node and its last run.

    Exit 0: it works, or no node has one; 5: it differs or does not run; 4: a node could not be reached.
    """
    return Invocation("cache status", ScheduleStatusOptions(where(context)))


@example("sparkops cache permit --ask-become-pass")
@cache.command()
@click.option("--yes", is_flag=True, help="Do not ask before writing the rule.")
@BECOME
@click.pass_context
def permit(context: click.Context, /, yes: bool, ask_become_pass: bool) -> Invocation:
    """Let the login drop the page cache: installs one sudoers rule, shown first."""
    return Invocation("cache permit", PermitOptions(where(context, ask_become_pass), yes))
