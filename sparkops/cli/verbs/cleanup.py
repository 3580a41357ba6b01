"""The verb that leaves nodes as they were."""

from __future__ import annotations

import click

from sparkops.asks.caches import CleanupOptions
from sparkops.cli.shape import Ask, Command, example
from sparkops.cli.verbs.serve import BECOME
from sparkops.cli.where import where


@example("""
    sparkops cleanup
    sparkops cleanup --yes --limit spark1
""")
@click.command(cls=Command)
@click.option("--yes", is_flag=True, help="Remove it without asking.")
@BECOME
@click.pass_context
def cleanup(context: click.Context, /, yes: bool, ask_become_pass: bool) -> Ask:
    """Show what sparkops left on the nodes, and take it away.

    Stopped containers, keys, configuration, logs, jobs, the crontab entry, the sudoers line, the public key that `init`
    installed. Models, images and what engines cached stay. Refused while a deployment runs there.
    """
    return Ask("cleanup", CleanupOptions(where(context, ask_become_pass), yes))
