"""The verb that leaves nodes as they were."""

from __future__ import annotations

import click

from sparkops.cli.shape import Invocation, VerbCommand, example
from sparkops.cli.shared_options import BECOME
from sparkops.cli.where import where
from sparkops.verbs.cleanup.options import CleanupOptions


@example("""
    sparkops cleanup
    sparkops cleanup --yes --limit spark1
""")
@click.command(cls=VerbCommand)
@click.option("--yes", is_flag=True, help="Remove it without asking.")
@BECOME
@click.pass_context
def cleanup(context: click.Context, /, yes: bool, ask_become_pass: bool) -> Invocation:
    """Show what sparkops left on the nodes and remove it.

    Stopped containers, keys, configuration, logs, jobs, the crontab entry, the sudoers line, the public key that `init`
    installed. Models, images and what engines cached stay. Refused while a deployment runs there.
    """
    return Invocation("cleanup", CleanupOptions(where(context, ask_become_pass), yes))
