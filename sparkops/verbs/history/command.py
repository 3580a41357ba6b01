"""The verb that tells what runs left on the nodes."""

from typing import Any

import click

from sparkops.cli.completion import NODE
from sparkops.cli.shape import VerbCommand, example
from sparkops.cli.where import on_nodes
from sparkops.verbs.history.options import HistoryOptions


@example("""
    sparkops history
    sparkops history spark1 --tail 100
""")
@click.command(cls=VerbCommand)
@click.argument("node", type=NODE, required=False)
@click.option("--tail", type=click.IntRange(1), default=20, metavar="N", help="Show the last N runs.")
@on_nodes
def history(**given: Any) -> HistoryOptions:
    """Show who ran what on the nodes.

    Each command that locks nodes notes its begin and its end on them, with the time in UTC. A run without an end was
    cut off, for example by a power loss of the machine on which it ran. What the endpoint of a fleet starts and stops
    on demand is shown, too.
    """
    return HistoryOptions(**given)
