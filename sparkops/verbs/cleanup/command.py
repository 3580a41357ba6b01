"""The verb that leaves nodes as they were."""

from typing import Any

import click

from sparkops.cli.shape import VerbCommand, example
from sparkops.cli.where import WAIT, on_nodes
from sparkops.core.target import ConfirmOptions


@example("""
    sparkops cleanup
    sparkops cleanup --yes --limit spark1
""")
@click.command(cls=VerbCommand)
@click.option("--yes", is_flag=True, help="Do not ask before removing.")
@WAIT
@on_nodes
def cleanup(**given: Any) -> ConfirmOptions:
    """Show and remove what sparkops left on nodes.

    It removes stopped containers, API keys, configuration, logs, jobs, the crontab entry, the sudoers rule, and the SSH
    key that `init` installed. It keeps models, images and engines' caches. While a deployment or a job runs, it only
    shows what it would remove.
    """
    return ConfirmOptions(**given)
