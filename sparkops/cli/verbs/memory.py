"""The verb that tells where the memory is."""

from __future__ import annotations

import click

from sparkops.asks.caches import MemoryOptions
from sparkops.cli.shape import Ask, Command, duration, example, line
from sparkops.cli.verbs.serve import BECOME
from sparkops.cli.where import where


@example("""
    sparkops memory
    sparkops memory --watch --every 2s
""")
@click.command(cls=Command)
@click.option("--watch", is_flag=True, help="Look again and again, until interrupted.")
@click.option(
    "--every", callback=duration, metavar="TIME", default="5s", show_default=True, help="How often, with --watch."
)
@BECOME
@click.pass_context
def memory(context: click.Context, /, watch: bool, every: float, ask_become_pass: bool) -> Ask:
    """Tell where each node's memory is, and how long it will last.

    Growth comes from the log of `sparkops cache schedule`, so it is known some hours after that was set.
    """
    if watch and line(context).flag("json"):
        raise click.UsageError("--watch is for people; --json prints one document", context)
    return Ask("memory", MemoryOptions(where(context, ask_become_pass), every if watch else None), logged=True)
