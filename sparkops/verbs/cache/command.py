"""The verbs of the page cache: drop, schedule, unschedule, status, permit."""

from __future__ import annotations

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
    */30 * * * * sparkops -i ~/spark.yml cache drop --quiet     # in the crontab of the machine that you sit at
""")
@cache.command()
@click.option("--quiet", is_flag=True, help="Print nothing while all goes well, so that cron mails only trouble.")
@BECOME
@click.pass_context
def drop(context: click.Context, /, quiet: bool, ask_become_pass: bool) -> Invocation:
    """Empty the page caches: sync, then echo 3. Safe beside a running server.

    By root, by `sudo -n tee` (`sparkops cache permit` writes the line), or without any right by letting the files of
    the models go. Exit 0: dropped everywhere; 4: a node could not be reached; 5: one could drop nothing.
    """
    return Invocation("cache drop", DropOptions(where(context, ask_become_pass), quiet))


@example("""
    sparkops cache schedule --every 30m
    sparkops cache schedule --every 10m --when "MemFree < 20GiB"
""")
@cache.command()
@click.option("--every", callback=duration, metavar="TIME", required=True, help="A period that cron can keep: 30m, 1h.")
@click.option("--when", "condition", metavar="EXPR", help=f'Only when, as "MemAvailable < 10GiB". {COLUMNS_HINT}')
@click.pass_context
def schedule(context: click.Context, /, every: float, condition: str | None) -> Invocation:
    """Have cron on each node do it: one entry in the login's crontab, whose other lines stay as they are."""
    times(every)
    wanted = Schedule(round(every), when(condition) if condition else None)
    return Invocation("cache schedule", ScheduleOptions(where(context), wanted))


@example("sparkops cache unschedule")
@cache.command()
@click.pass_context
def unschedule(context: click.Context, /) -> Invocation:
    """Take our entry out of each node's crontab."""
    return Invocation("cache unschedule", ScheduleOptions(where(context), None))


@example("sparkops cache status --json")
@cache.command()
@click.pass_context
def status(context: click.Context, /) -> Invocation:
    """Tell whether the schedule is installed, the same on all nodes, and what its last run did.

    Exit 0: it does its work, or is nowhere; 5: it differs, or does not run; 4: a node could not be reached.
    """
    return Invocation("cache status", ScheduleStatusOptions(where(context)))


@example("sparkops cache permit --ask-become-pass")
@cache.command()
@click.option("--yes", is_flag=True, help="Write the line that is shown without asking.")
@BECOME
@click.pass_context
def permit(context: click.Context, /, yes: bool, ask_become_pass: bool) -> Invocation:
    """Allow the login to empty the page cache: one sudoers line for one command, shown first."""
    return Invocation("cache permit", PermitOptions(where(context, ask_become_pass), yes))
