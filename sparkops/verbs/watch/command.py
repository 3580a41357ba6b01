"""The verb that shows nodes and deployments as they change."""

from typing import Any

import click

from sparkops.cli.shape import VerbCommand, example, line
from sparkops.cli.shared_options import seconds
from sparkops.cli.where import on_nodes
from sparkops.verbs.watch.options import WatchOptions

FASTEST, SLOWEST = 1.0, 60.0


@example("""
    sparkops watch
    sparkops watch --once
""")
@click.command(cls=VerbCommand)
@seconds("--every", "2s", "How often each node tells what it does.")
@click.option("--once", is_flag=True, help="Show it once and end.")
@on_nodes
@click.pass_context
def watch(context: click.Context, /, **given: Any) -> WatchOptions:
    """Watch nodes and deployments as they change.

    Shows memory, GPU, links, boots, tokens, and what is wrong. Nothing is installed: a small script on each node prints
    what changes over the connection of this command, and ends with it. Without a terminal, prints a line when something
    goes wrong and when it is over.
    """
    if line(context).flags.get("json") and not given["once"]:
        raise click.UsageError("--json prints one document, so it needs --once", context)
    if not FASTEST <= given["every"] <= SLOWEST:
        raise click.BadParameter(f"from {FASTEST:g}s to {SLOWEST:g}s", context, param_hint="'--every'")
    return WatchOptions(**given)
