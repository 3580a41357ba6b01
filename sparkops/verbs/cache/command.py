"""The verbs of the page cache: drop, schedule, unschedule, status, permit."""

from typing import Any

import click

from sparkops.cli.shape import VerbGroup, duration, example
from sparkops.cli.where import WAIT, on_nodes, target
from sparkops.core.schedule import Schedule, times, when
from sparkops.core.target import ConfirmOptions, NodesOptions, Target
from sparkops.verbs.cache.options import DropOptions, ScheduleOptions

COLUMNS_HINT = "CUDA sees only MemFree as free; MemAvailable also counts the page cache."


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
@on_nodes
def drop(**given: Any) -> DropOptions:
    """Drop the page caches (sync, then drop_caches=3). This is safe while a model serves.

    If the login user has no right to do this (see `sparkops cache permit`), only the pages of model files are dropped.
    Exit 0: dropped on all nodes; 4: a node could not be reached; 5: on at least one node, nothing was dropped.
    """
    return DropOptions(**given)


@example("""
    sparkops cache schedule --every 30m
    sparkops cache schedule --every 10m --when "MemFree < 20GiB"
""")
@cache.command()
@click.option(
    "--every", callback=duration, metavar="TIME", required=True, help="Time between drops, such as 10m, 30m or 6h."
)
@click.option(
    "--when", "condition", metavar="EXPR", help=f'Drop only if this is true, as "MemFree < 10GiB". {COLUMNS_HINT}'
)
@WAIT
def schedule(every: float, condition: str | None) -> ScheduleOptions:
    """Let cron drop the page cache on each node: add one line to the login user's crontab."""
    times(every)
    wanted = Schedule(round(every), when(condition) if condition else None)
    return ScheduleOptions(target(), wanted)


@example("sparkops cache unschedule")
@cache.command()
@WAIT
@on_nodes
def unschedule(where: Target) -> ScheduleOptions:
    """Remove the line that `cache schedule` added to each node's crontab."""
    return ScheduleOptions(where, None)


@example("sparkops cache status --json")
@cache.command()
@on_nodes
def status(**given: Any) -> NodesOptions:
    """Show the schedule on each node and its last run.

    Exit 0: it works, or no node has a schedule; 5: it does not work, or the nodes have different schedules; 4: a node
    could not be reached.
    """
    return NodesOptions(**given)


@example("sparkops cache permit --ask-become-pass")
@cache.command()
@click.option("--yes", is_flag=True, help="Do not ask before writing the rule.")
@WAIT
@on_nodes
def permit(**given: Any) -> ConfirmOptions:
    """Allow the login user to drop the page cache: show a sudoers rule, ask, and install it."""
    return ConfirmOptions(**given)
