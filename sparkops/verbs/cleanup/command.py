"""The verb that leaves nodes as they were."""

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
@click.option("--yes", is_flag=True, help="Do not ask before removing.")
@BECOME
@click.pass_context
def cleanup(context: click.Context, /, yes: bool, ask_become_pass: bool) -> Invocation:
    """Show what sparkops left on the nodes and remove it.

    It removes stopped containers, keys, configuration, logs, jobs, the crontab entry, the sudoers rule, and the public
    key that `init` installed. It keeps models, images and engines' caches, and refuses while a deployment runs.
    """
    return Invocation("cleanup", CleanupOptions(where(context, ask_become_pass), yes))
