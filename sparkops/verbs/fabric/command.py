"""The verb that shows the fabric."""

import click

from sparkops.cli.shape import VerbCommand, example
from sparkops.cli.where import target
from sparkops.core.target import NodesOptions


@example("""
    sparkops fabric
    sparkops fabric --limit spark1,spark2 --json
""")
@click.command(cls=VerbCommand)
def fabric() -> NodesOptions:
    """Show the QSFP cables, and what is wrong with them.

    Each port asks who is at the other end of its cable, so a wrong cable is found whatever the addresses are. Exit 0:
    nothing is wrong; 3: a cable, an address or a link is wrong; 4: a node could not be reached.
    """
    return NodesOptions(target())
